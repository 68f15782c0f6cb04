"""Encoders and heads, and the two together; CA-MTL is made of them."""

from rota.models.core._bilstm import PairBiLSTM
from rota.models.core._conv import SmallConv
from rota.models.core._features import Conditional, Encoder, Features, HeadStyle, Whose
from rota.models.core._frozen import with_frozen_rows
from rota.models.core._heads import Head
from rota.models.core._lenet import LeNet
from rota.models.core._modes import evaluating
from rota.models.core._multitask import MultiTaskModel, check_name
from rota.models.core._pretrained import Pooling, Pretrained, pretrained, rebuilt, vocabulary_of
from rota.models.core._stack import hide_padding
from rota.models.core._stacked import Drop, StackedEncoder, stacked
from rota.models.core._text import TinyText
from rota.models.core._vectors import Embeddings, FrozenLayers

__all__ = [
    "Conditional",
    "Drop",
    "Embeddings",
    "Encoder",
    "Features",
    "FrozenLayers",
    "Head",
    "HeadStyle",
    "LeNet",
    "MultiTaskModel",
    "PairBiLSTM",
    "Pooling",
    "Pretrained",
    "SmallConv",
    "StackedEncoder",
    "TinyText",
    "Whose",
    "check_name",
    "evaluating",
    "hide_padding",
    "pretrained",
    "rebuilt",
    "stacked",
    "vocabulary_of",
    "with_frozen_rows",
]
