"""Numbers from the losses of a training step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class View:
    """What a signal may look at after a training step, for one task of it.

    Args:
        task: The task.
        step: The step.
        loss: Mean loss of the batch before the update, on the device.
        again: Computes the loss of the same batch after the update, in the same mode (dropout on). It costs
            a forward pass; nobody pays for it who does not call it.
    """

    task: str
    step: int
    loss: Tensor
    again: Callable[[], Tensor]


Signal = Callable[[View], Tensor]


def prediction_gain(view: View) -> Tensor:
    """How much the update lowered the loss of its own batch: L(x, θ) - L(x, θ').

    The reward of Exp3.S in Glover & Hokamp (2019), section 3.2.1, after Graves et al. (2017).
    """
    return view.loss - view.again()
