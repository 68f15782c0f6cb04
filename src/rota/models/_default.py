"""The encoder for tasks that bring none of their own."""

from __future__ import annotations

from collections.abc import Sequence

from rota.errors import RotaError
from rota.models._conv import SmallConv
from rota.models._features import Encoder
from rota.models._text import TinyText
from rota.tasks import Pictures, Task, Tokens


def encoder_for(tasks: Sequence[Task], dropout: float = 0.1) -> Encoder:
    """A small encoder that fits the inputs of these tasks."""
    found = {task.inputs: task.name for task in tasks}
    if len(found) > 1:
        named = "; ".join(f"'{name}' has {inputs}" for inputs, name in found.items())
        raise RotaError(f"Tasks of one model expect equal inputs. Found {named}. Train them in separate runs.")
    match next(iter(found)):
        case Pictures(side):
            return SmallConv(side, dropout=dropout)
        case Tokens(vocabulary, longest):
            return TinyText(vocabulary, longest, dropout=dropout)
        case other:
            raise RotaError(f"Expected tasks with pictures or tokens. Found {other}. Bring an encoder of your own.")
