"""Clipping and optimizer steps of several members at once."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.optim import AdamW
from torch.optim.adamw import adamw

from rota.engine._learner import Learner

EPS = 1e-6  # as torch's own clipping has


def clip_members(
    learners: Sequence[Learner], stacked: Sequence[Tensor], gradients: Sequence[Sequence[Tensor]], losses: Tensor
) -> list[bool]:
    """Limit the norm of each member's gradient; whether it and the loss are numbers.

    Args:
        learners: The members.
        stacked: Gradients of what they have in common, [S, …].
        gradients: All gradients of each; those of `stacked` first, which are views of it.
        losses: One for each.
    """
    squares = [torch.linalg.vector_norm(own.flatten(1), dim=1).square() for own in stacked]
    total = functools.reduce(torch.add, squares)  # one by one: a sum of [P, S] rounds differently for another S
    heads = [torch.stack([own.norm().square() for own in member[len(stacked) :]]).sum() for member in gradients]
    norms = (total + torch.stack(heads)).sqrt()
    finite = (norms.isfinite() & losses.isfinite()).tolist()
    limits = [math.inf if learner.settings.clip is None else learner.settings.clip for learner in learners]
    factors = [min(1.0, limit / (norm + EPS)) for limit, norm in zip(limits, norms.tolist(), strict=True)]
    for member, factor, usable in zip(gradients, factors, finite, strict=True):
        if usable and factor < 1:
            torch._foreach_mul_(list(member), factor)
    return finite


def step_members(
    learners: Sequence[Learner],
    parameters: Sequence[Sequence[nn.Parameter]],
    gradients: Sequence[Sequence[Tensor]],
    rates: Sequence[float],
    usable: Sequence[bool],
) -> None:
    """An optimizer step of each member whose gradient is usable; those of AdamW with the same numbers in one call."""
    groups: dict[_Numbers, list[tuple[nn.Parameter, Tensor, dict[str, Tensor]]]] = {}
    for learner, own, found, rate, use in zip(learners, parameters, gradients, rates, usable, strict=True):
        if not use:
            continue
        if not joint(learner):
            _step_alone(learner, own, found, rate)
            continue
        by_parameter = dict(zip(own, found, strict=True))
        for group in learner.optimizer.param_groups:
            numbers = _Numbers(rate, group["betas"][0], group["betas"][1], group["eps"], group["weight_decay"])
            rows = [(p, by_parameter[p], learner.optimizer.state[p]) for p in group["params"] if p in by_parameter]
            groups.setdefault(numbers, []).extend(rows)
    for numbers, rows in groups.items():
        own_parameters, own_gradients, states = (list(column) for column in zip(*rows, strict=True))
        adamw(
            own_parameters,
            own_gradients,
            [state["exp_avg"] for state in states],
            [state["exp_avg_sq"] for state in states],
            [],
            [state["step"] for state in states],
            fused=True,
            amsgrad=False,
            maximize=False,
            **numbers._asdict(),
        )


class _Numbers(NamedTuple):
    """Of an update by AdamW, as torch calls them."""

    lr: float
    beta1: float
    beta2: float
    eps: float
    weight_decay: float


def joint(learner: Learner) -> bool:
    """Whether a member's optimizer step can be made together with others."""
    return type(learner.optimizer) is AdamW


def _step_alone(learner: Learner, parameters: Sequence[nn.Parameter], gradients: Sequence[Tensor], rate: float) -> None:
    learner.set_rate(rate)
    learner.stepper.zero_grad(set_to_none=True)
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient
    learner.stepper.step()
