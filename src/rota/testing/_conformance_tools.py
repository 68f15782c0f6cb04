"""What the checks of a policy do with it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from rota.feedback import Choice
from rota.policies import Policy

VALUES = (0.0, 0.3, -0.2, 1.0, 1e6, -1e6, 1e-9, 0.5)
"""What the checks feed back: ordinary values, nothing, and absurd ones."""


def assert_distribution(policy: Policy, step: int) -> None:
    p = policy.probabilities(step)
    assert p.shape == (len(policy.tasks),), f"step {step}: expected {len(policy.tasks)} probabilities, found {p.shape}"
    assert np.isfinite(p).all(), f"step {step}: not finite: {p}"
    assert (p >= 0).all(), f"step {step}: negative: {p}"
    assert abs(p.sum() - 1.0) < 1e-9, f"step {step}: the sum is {p.sum()}"


def advance(policy: Policy, step: int, rng: np.random.Generator) -> Choice:
    choice = policy.choose(step, rng)
    policy.observe(choice.scored(value(choice)))
    return choice


def history(policy: Policy, steps: range, rng: np.random.Generator) -> list[Choice]:
    return [advance(policy, step, rng) for step in steps]


def value(choice: Choice) -> float:
    """A value that depends on the task and the step, and on nothing else."""
    return VALUES[(sum(map(ord, choice.task)) + 3 * choice.step) % len(VALUES)]


def memory(policy: Policy) -> str:
    return json.dumps(policy.state_dict(), sort_keys=True, allow_nan=False)


def choose(policy: Policy, task: str, step: int) -> Choice:
    """The choice of a given task, by a generator that says the right number."""
    k = policy.tasks.index(task)
    cumulative = np.cumsum(policy.probabilities(step))

    class Rigged:
        def random(self) -> float:
            below = cumulative[k - 1] if k else 0.0
            return float((below + cumulative[k]) / 2 / cumulative[-1])

    rigged: Any = Rigged()
    return policy.choose(step, rigged)
