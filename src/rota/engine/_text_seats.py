"""Which stack of text encoders a member belongs to, and how many seats it has."""

from __future__ import annotations

from collections.abc import Hashable

import torch

from rota.engine._learner import Learner
from rota.engine._text_stack import TextStack
from rota.models import StackedTexts
from rota.turns import forget_shared, places, shared

BYTES_IN_STACK = 60
"""Of a number of a model in a stack, as seen: it, its momenta and its gradient, copies in half precision, and what
passes remember."""
SHARE = 0.6
"""Of a GPU's memory that is free now which a new stack may take."""
NO_SEAT = "the GPU has no memory for one more in the stack"


def stack_for(key: Hashable, texts: StackedTexts, learner: Learner) -> TextStack:
    """The stack of all who share a key. A new one takes the place of those that everybody has left: trainings inside of
    a run may have other heads than those before."""

    def make() -> TextStack:
        forget_shared(lambda other: isinstance(other, TextStack) and other.buffers.empty)
        return TextStack(texts, learner, _seats(learner))

    return shared(key, make)


def _seats(learner: Learner) -> int:
    """One for each training of this process, or for as many as the memory has room for."""
    if learner.device.type != "cuda":
        return places()
    size = sum(parameter.numel() for parameter in learner.model.parameters())
    kept = torch.cuda.memory_reserved(learner.device) - torch.cuda.memory_allocated(learner.device)
    room = SHARE * (torch.cuda.mem_get_info(learner.device)[0] + kept)
    return max(1, min(places(), int(room / (size * BYTES_IN_STACK))))
