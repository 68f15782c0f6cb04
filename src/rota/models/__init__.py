"""What is trained: encoders, heads, and the two together."""

from rota.models._bilstm import PairBiLSTM
from rota.models._conv import SmallConv
from rota.models._default import encoder_for, tokenizer_name
from rota.models._features import Encoder, Features, HeadStyle
from rota.models._heads import Head
from rota.models._lenet import LeNet
from rota.models._modes import evaluating
from rota.models._multitask import MultiTaskModel
from rota.models._pretrained import Pretrained, pretrained
from rota.models._save import build_model, load_model, save_model
from rota.models._text import TinyText
from rota.models._vectors import Embeddings, FrozenLayers

__all__ = [
    "Embeddings",
    "Encoder",
    "Features",
    "FrozenLayers",
    "Head",
    "HeadStyle",
    "LeNet",
    "MultiTaskModel",
    "PairBiLSTM",
    "Pretrained",
    "SmallConv",
    "TinyText",
    "build_model",
    "encoder_for",
    "evaluating",
    "load_model",
    "pretrained",
    "save_model",
    "tokenizer_name",
]
