"""What is trained: encoders, heads, and the two together."""

from rota.models._default import encoder_for, tokenizer_name
from rota.models._save import build_model, load_model, save_model
from rota.models.camtl import BEGINNINGS, CAMTL, Parts, camtl, make_parts
from rota.models.core import (
    Conditional,
    Embeddings,
    Encoder,
    Features,
    FrozenLayers,
    Head,
    HeadStyle,
    LeNet,
    MultiTaskModel,
    PairBiLSTM,
    Pretrained,
    SmallConv,
    TinyText,
    Whose,
    evaluating,
    pretrained,
    with_frozen_rows,
)

__all__ = [
    "BEGINNINGS",
    "CAMTL",
    "Conditional",
    "Embeddings",
    "Encoder",
    "Features",
    "FrozenLayers",
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
