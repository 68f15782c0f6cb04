"""Encoders and heads, and the two together; CA-MTL is made of them."""

from rota.models.core._amounts import Amount, Counted, count_parameters
from rota.models.core._bilstm import PairBiLSTM
from rota.models.core._conv import SmallConv
from rota.models.core._features import Conditional, Encoder, Features, HeadStyle, Whose
from rota.models.core._frozen import with_frozen_rows
from rota.models.core._fused_text_layers import FusedLayers, why_not_alike, why_not_fused
from rota.models.core._heads import Head
from rota.models.core._lenet import LeNet
from rota.models.core._loading import outline, pretrained, rebuilt, vocabulary_of
from rota.models.core._modes import able_to_go_back, evaluating
from rota.models.core._multitask import MultiTaskModel, check_name
from rota.models.core._pretrained import Pooling, Pretrained
from rota.models.core._seeded_dropout import Dropping, mixed, seeds_of
from rota.models.core._stack import hide_padding
from rota.models.core._stacked import Drop, StackedEncoder, stacked
from rota.models.core._stacked_text import StackedTexts, dropping_at
from rota.models.core._stacked_text_layers import Packing, StackedLayers, packing
from rota.models.core._text import TinyText
from rota.models.core._vectors import Embeddings, FrozenLayers

__all__ = [
    "Amount",
    "Conditional",
    "Counted",
    "Drop",
    "Dropping",
    "Embeddings",
    "Encoder",
    "Features",
    "FrozenLayers",
    "FusedLayers",
    "Head",
    "HeadStyle",
    "LeNet",
    "MultiTaskModel",
    "Packing",
    "PairBiLSTM",
    "Pooling",
    "Pretrained",
    "SmallConv",
    "StackedEncoder",
    "StackedLayers",
    "StackedTexts",
    "TinyText",
    "Whose",
    "able_to_go_back",
    "check_name",
    "count_parameters",
    "dropping_at",
    "evaluating",
    "hide_padding",
    "mixed",
    "outline",
    "packing",
    "pretrained",
    "rebuilt",
    "seeds_of",
    "stacked",
    "vocabulary_of",
    "why_not_alike",
    "why_not_fused",
    "with_frozen_rows",
]
