"""What is trained: encoders, heads, and the two together."""

from rota.models._conv import SmallConv
from rota.models._default import encoder_for
from rota.models._features import Encoder, Features
from rota.models._heads import Head
from rota.models._multitask import MultiTaskModel
from rota.models._text import TinyText

__all__ = ["Encoder", "Features", "Head", "MultiTaskModel", "SmallConv", "TinyText", "encoder_for"]
