"""The encoder of a name, or the one that fits the tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from rota.errors import RotaError
from rota.models._named_bilstm import named_bilstm
from rota.models.adapters import Adapted, Adapter
from rota.models.camtl import CAMTL, Parts, PartsFor
from rota.models.core import (
    Encoder,
    LeNet,
    Pooling,
    SmallConv,
    TinyText,
    pretrained,
)
from rota.pretrained import BILSTMS
from rota.tasks import Inputs, Pictures, Task, Texts, Tokens

SMALL_DROPOUT = 0.1


def encoder_for(
    tasks: Sequence[Task],
    model: str = "auto",
    dropout: float | None = None,
    pooling: Pooling | None = None,
    hidden: int | None = None,
    frozen: int | Literal["half"] | None = None,
    parts: Parts | PartsFor | None = None,
    adapter: Adapter | None = None,
) -> Encoder:
    """An encoder for the inputs of these tasks.

    Args:
        tasks: What it is for; their inputs must be equal.
        model: "auto": for texts the encoder that the tokenizer belongs to, else a small network that fits the inputs.
            "lenet": the network of Kourdis et al. 2024, for pictures of 28 x 28. "bilstm", "bilstm-1024" and
            "bilstm-embeddings": the BiLSTM of Guo et al. 2019, on the layers of a frozen encoder (512 and 1024 wide, as
            printed) or on its own embeddings. "camtl": the model of
            Pilault et al. 2021, around a pretrained encoder. Any other name: a pretrained encoder.
        dropout: None: as each encoder has it.
        pooling, hidden, frozen: See `Pretrained`; None: nothing is frozen, half of CA-MTL's layers are, and with an
            adapter what its paper froze.
        parts: Of CA-MTL, or what makes them for its number of layers: `Parts.released`.
        adapter: What each task adds to a pretrained encoder for itself.

    >>> from rota.data import load_tasks
    >>> type(encoder_for(load_tasks(["digits"]))).__name__, type(encoder_for(load_tasks(["toytext"]))).__name__
    ('SmallConv', 'TinyText')
    """
    inputs = _shared_inputs(tasks)
    small = SMALL_DROPOUT if dropout is None else dropout
    match inputs, model.partition(":")[0]:
        case Pictures(), "lenet":
            return LeNet(dropout or 0.0)
        case Pictures(side), "auto":
            return SmallConv(side, dropout=small)
        case Tokens(vocabulary, longest), "auto":
            return TinyText(vocabulary, longest, dropout=small)
        case Texts(name), kind if kind in BILSTMS:
            return named_bilstm(kind, name, dropout)
        case Texts(name), "camtl":
            own = pretrained(name, pooling, hidden, dropout)
            names = [task.name for task in tasks]
            parts = parts(len(own.stack.layers)) if callable(parts) else parts
            return CAMTL(own.transformer, names, own.pooling, hidden, parts, "half" if frozen is None else frozen)
        case Texts(name), other if other != "lenet":
            if adapter is None:
                return pretrained(name, pooling, hidden, dropout, frozen or 0)
            own = pretrained(name, pooling, hidden, dropout)
            return Adapted(own.transformer, [task.name for task in tasks], adapter, own.pooling, hidden, frozen)
        case _:
            raise RotaError(
                f"Expected a model for {inputs}. Found '{model}'. Use auto"
                + (", or lenet for pictures of 28 x 28." if isinstance(inputs, Pictures) else ".")
            )


def _shared_inputs(tasks: Sequence[Task]) -> Inputs:
    found = {task.inputs: task.name for task in tasks}
    if len(found) > 1:
        named = "; ".join(f"'{name}' has {inputs}" for inputs, name in found.items())
        raise RotaError(f"Tasks of one model expect equal inputs. Found {named}. Train them in separate runs.")
    inputs = next(iter(found))
    if inputs is None:
        raise RotaError("Expected tasks with pictures or texts. Found tasks that say nothing. Bring your own encoder.")
    return inputs
