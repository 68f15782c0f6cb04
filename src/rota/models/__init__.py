"""What is trained: encoders, heads, and the two together."""

from rota.models._bilstm import PairBiLSTM
from rota.models._conv import SmallConv
from rota.models._default import encoder_for, tokenizer_name
from rota.models._features import Conditional, Encoder, Features, HeadStyle, Whose
from rota.models._frozen import FrozenRows, with_frozen_rows
from rota.models._heads import Head
from rota.models._lenet import LeNet
from rota.models._modes import evaluating
from rota.models._multitask import MultiTaskModel
from rota.models._pretrained import Pretrained, pretrained
from rota.models._save import build_model, load_model, save_model
from rota.models._text import TinyText
from rota.models._vectors import Embeddings, FrozenLayers
from rota.models.camtl import BEGINNINGS, CAMTL, Parts, camtl, make_parts

__all__ = [
    "BEGINNINGS",
    "CAMTL",
    "Conditional",
    "Embeddings",
    "Encoder",
    "Features",
    "FrozenLayers",
    "FrozenRows",
    "Head",
    "HeadStyle",
    "LeNet",
    "MultiTaskModel",
    "PairBiLSTM",
    "Parts",
    "Pretrained",
    "SmallConv",
    "TinyText",
    "Whose",
    "build_model",
    "camtl",
    "encoder_for",
    "evaluating",
    "load_model",
    "make_parts",
    "pretrained",
    "save_model",
    "tokenizer_name",
    "with_frozen_rows",
]
