"""Numbers from the losses of a training step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

LEAST = 1e-8  # of a loss that something is divided by


@dataclass(frozen=True)
class View:
    """What a signal may look at after a training step, for one task of it.

    Args:
        task: The task.
        step: The step.
        loss: Mean loss of the batch before the update, on the device.
        again: Computes the loss of the same batch after the update, in the same mode (dropout on). It costs
            a forward pass; nobody pays for it who does not call it.
        previous: Mean loss of the task's batch at its last visit; None at the first one.
        unit: What turns a loss into -log p (`Kind.unit`).

    >>> view = View("rte", 3, torch.tensor(0.8), again=lambda: torch.tensor(0.5), previous=torch.tensor(1.0))
    >>> prediction_gain(view), visit_gain(view)
    (tensor(0.3000), tensor(0.2000))
    """

    task: str
    step: int
    loss: Tensor
    again: Callable[[], Tensor]
    previous: Tensor | None = None
    unit: float = 1.0

    def since(self, previous: Tensor | None) -> View:
        """The same with the loss of the task's last visit."""
        return View(self.task, self.step, self.loss, self.again, previous, self.unit)


Signal = Callable[[View], Tensor]
"""Turns what can be seen after a training step into a number, which stays on the device."""


def training_loss(view: View) -> Tensor:
    """The loss of the batch before the update: what everybody has anyway.

    >>> training_loss(View("rte", 3, torch.tensor(0.75), again=lambda: torch.tensor(0.5)))
    tensor(0.7500)
    """
    return view.loss


def prediction_gain(view: View) -> Tensor:
    """How much the update lowered the loss of its own batch: L(x, θ) - L(x, θ').

    The reward of Exp3.S in Glover & Hokamp (2019), section 3.2.1, after Graves et al. (2017).

    >>> prediction_gain(View("rte", 3, torch.tensor(0.75), again=lambda: torch.tensor(0.5)))
    tensor(0.2500)
    """
    return view.loss - view.again()


def relative_gain(view: View) -> Tensor:
    """Which part of the loss of its own batch the update took off: (L(x, θ) - L(x, θ')) / L(x, θ). Tasks whose losses
    are of other sizes can be compared by it.

    The reward of DynamixSFT (Shin et al. 2025), eq. 4, with the loss of the batch in place of that of each row. A loss
    next to zero or below counts as 1e-8.

    >>> relative_gain(View("rte", 3, torch.tensor(0.75), again=lambda: torch.tensor(0.5))).round(decimals=3)
    tensor(0.3330)
    """
    return (view.loss - view.again()) / view.loss.clamp_min(LEAST)


def mean_advantage(view: View) -> Tensor:
    """The mean absolute advantage of answers that would be drawn from the model and rewarded with 1 where they are
    right: 2 p (1 - p), where p = exp(-L) is the probability of the right answer, in the geometric mean over the batch.

    The reward of SEC (Chen et al. 2025) and DUMP (Wang et al. 2025), where a model is trained on labels and not on
    rewards: largest for tasks that are half solved.

    >>> mean_advantage(View("rte", 3, torch.tensor(0.6931), again=lambda: torch.tensor(0.5))).round(decimals=3)
    tensor(0.5000)
    """
    right = torch.exp(-view.loss / view.unit).clamp_max(1.0)
    return 2.0 * right * (1.0 - right)


def visit_gain(view: View) -> Tensor:
    """How much lower the loss is than at the task's last visit; 0 at the first one.

    A prediction gain without a second forward pass. It compares two batches, so it is noisier, and what other tasks
    have helped or harmed in between is part of it.

    >>> visit_gain(View("rte", 3, torch.tensor(0.75), again=lambda: torch.tensor(0.5), previous=torch.tensor(1.0)))
    tensor(0.2500)
    """
    return (view.loss if view.previous is None else view.previous) - view.loss


def improving_loss(view: View) -> Tensor:
    """1 - exp(-L) if the loss L fell since the task's last visit, else 0; 0 at the first one. Large for tasks that are
    still bad, but get better.

    The reward of the counterfactual policy in Glover & Hokamp (2019), eq. 16. L is -log p of the batch, also for
    regressions.

    >>> two, three = torch.tensor(0.6931), torch.tensor(1.0986)
    >>> round(improving_loss(View("rte", 7, two, again=lambda: two, previous=three)).item(), 3)
    0.5
    """
    if view.previous is None:
        return torch.zeros_like(view.loss)
    return torch.where(view.loss < view.previous, -torch.expm1(-view.loss / view.unit), 0.0)
