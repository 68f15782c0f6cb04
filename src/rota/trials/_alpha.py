"""Find the mixture of deltas that the target likes best."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from rota.trials._deltas import Deltas

Gradient = Callable[[], float]
"""Leaves the gradient of the target's dev loss in the parameters and returns that loss."""


@dataclass(frozen=True)
class AlphaSettings:
    """How α is tuned.

    Args:
        steps: How often it is moved; 0 leaves every α at 1.
        lr, momentum: Of the moves; momentum of sgd alone.
        optimizer: What moves it: sgd as in the paper, or adam, adamax.
        least: What no α falls below; None for no limit, as in the paper.

    >>> AlphaSettings(steps=5, optimizer="adam")
    AlphaSettings(steps=5, lr=0.005, momentum=0.5, optimizer='adam', least=None)
    """

    steps: int = 10
    lr: float = 0.005
    momentum: float = 0.5
    optimizer: Literal["sgd", "adam", "adamax"] = "sgd"
    least: float | None = None


def tune(deltas: Deltas, gradient: Gradient, settings: AlphaSettings) -> tuple[Tensor, list[float]]:
    """Move α, from 1 for every task, down the target's dev loss; return it, and the loss before each move.

    ∂L/∂α_i is the product of the ordinary gradient at the mixed parameters with δ_i: nothing is differentiated twice.
    Tuning ends early where the loss is no number any more, with the last α for which it was.

    >>> model = torch.nn.Linear(1, 1, bias=False)
    >>> weight = model.weight.detach().zero_()
    >>> deltas = Deltas(model, ["useful", "harmful"])
    >>> deltas.open()
    >>> for task, way in (("useful", 1.0), ("harmful", -0.5)):
    ...     _ = weight.fill_(way), deltas.collect(task)
    >>> def gradient():  # of a loss that is lowest at 2
    ...     model.weight.grad = 2 * (weight - 2)
    ...     return float((weight - 2) ** 2)
    >>> alpha, losses = tune(deltas, gradient, AlphaSettings(steps=50, lr=0.1))
    >>> [round(value, 2) for value in alpha.tolist()], losses[0] > losses[-1]
    ([2.2, 0.4], True)
    """
    alpha = torch.ones(len(deltas.tasks), dtype=torch.float64, requires_grad=True)
    optimizer = _optimizer(alpha, settings)
    losses: list[float] = []
    good = alpha.detach().clone()
    for _ in range(settings.steps):
        deltas.mix(alpha.detach())
        loss = gradient()
        slopes = deltas.slopes().double().cpu()
        if not (math.isfinite(loss) and slopes.isfinite().all()):
            return good, losses
        losses.append(loss)
        good = alpha.detach().clone()
        alpha.grad = slopes
        optimizer.step()
        if settings.least is not None:
            alpha.detach().clamp_(min=settings.least)
    return alpha.detach(), losses


def _optimizer(alpha: Tensor, settings: AlphaSettings) -> torch.optim.Optimizer:
    match settings.optimizer:
        case "sgd":
            return torch.optim.SGD([alpha], lr=settings.lr, momentum=settings.momentum)
        case "adam":
            return torch.optim.Adam([alpha], lr=settings.lr)
        case "adamax":
            return torch.optim.Adamax([alpha], lr=settings.lr)
