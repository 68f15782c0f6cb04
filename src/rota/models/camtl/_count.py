"""How many parameters CA-MTL has around BERT."""

from __future__ import annotations

from typing import Literal

import torch

from rota.errors import RotaError
from rota.models.camtl._encoder import CAMTL
from rota.models.camtl._parts import Parts, PartsFor
from rota.models.core import Counted, Pretrained, count_parameters, rebuilt

Size = Literal["base", "large"]
SIZES: dict[str, dict[str, int]] = {
    "base": {},
    "large": {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096},
}
"""BERT's two sizes, as far as they differ from what `transformers` builds unasked."""

CASED = 28996  # tokens that the cased models of BERT know
RELEASED_FROZEN = {"base": 5, "large": 12}  # "0-4" and "0-11" in the commands of the released code


def released_counts(size: Size, tasks: int = 9) -> Counted:
    """What the released code of CA-MTL has around BERT, cased, with its pooler, for rows of 128 tokens.

    The layers that its commands freeze are frozen. In these layers γ and β of the attention's bias keep their first
    values, because the list of what is to be trained misses their name; they count as added, not as trained. Read as it
    was meant, the list has 69.9 million parameters that are trained for the base size (here 69.8), and 298.9 for the
    large one (here 298.6).

    Args:
        size: Of BERT.
        tasks: How many there are.

    >>> counted = released_counts("base")
    >>> f"{counted.base.parameters / 1e6:.2f} and {counted.added / 1e6:.2f} million, {counted.growth:.2f} times as many"
    '108.31 and 19.74 million, 1.18 times as many'
    """
    return conditional_counts(bert_outline(size), tasks, Parts.released, RELEASED_FROZEN[size])


def default_counts(size: Size, tasks: int = 9) -> Counted:
    """What `CAMTL` has around the same encoder as in `released_counts`, where nobody asks for anything else.

    Args:
        size: Of BERT.
        tasks: How many there are.

    >>> counted = default_counts("base", tasks=9)
    >>> f"{counted.growth:.2f} times BERT; for each task {counted.per_task:.0%} of BERT is trained"
    '1.17 times BERT; for each task 6% of BERT is trained'
    """
    return conditional_counts(bert_outline(size), tasks)


def bert_outline(size: Size) -> Pretrained:
    """BERT, cased, with its pooler and without its weights: nothing is computed on the meta device, and nothing takes
    memory.

    >>> bert_outline("large").width
    1024
    """
    if size not in SIZES:
        raise RotaError(f"Expected the size of BERT: {' or '.join(SIZES)}. Found '{size}'.")
    with torch.device("meta"):
        return rebuilt({"model_type": "bert", "vocab_size": CASED, **SIZES[size]}, "pooled", True, None)


def conditional_counts(
    encoder: Pretrained, tasks: int = 9, parts: PartsFor | None = None, frozen: int | Literal["half"] = "half"
) -> Counted:
    """What CA-MTL has around an encoder, which it takes over.

    Args:
        encoder: An outline, without weights.
        tasks: How many there are.
        parts: Makes the conditional parts for its number of layers; None: all of them.
        frozen: Layers from below that are frozen.

    >>> without_norms = conditional_counts(bert_outline("base"), parts=lambda layers: Parts(norm="off"))
    >>> f"{without_norms.growth:.2f}"
    '1.04'
    """
    if tasks < 1:
        raise RotaError(f"Parameters per task expect at least one task. Found {tasks}.")
    names = [f"task {number}" for number in range(tasks)]
    own = None if parts is None else parts(len(encoder.stack.layers))
    with torch.device("meta"):
        return count_parameters(CAMTL(encoder.transformer, names, encoder.pooling, parts=own, frozen=frozen))
