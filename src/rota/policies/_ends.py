"""A policy around a policy: some tasks have had enough after a while."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rota.arrays import Floats
from rota.errors import RotaError, unknown_name
from rota.policies._base import Policy
from rota.policies._wrappers import Wrapper


class WithEnds(Wrapper):
    """Another policy, without the tasks that have had all of their updates: π(k) ∝ p(k) while task k is trained, else
    0.

    The wrapped policy hears π, the probability with which a task was really drawn. Where it has no share left for the
    remaining tasks, these are drawn uniformly.

    Args:
        policy: The policy to ask. Policies whose promise a missing task would break (`Union`, `Cycle`, `Hold`) are
            refused.
        after: Turns of a task after which it never comes again; a task that is not named goes on, and at least one
            must.

    >>> from rota.policies import uniform
    >>> policy, rng = WithEnds(uniform(["a", "b"]), {"a": 2}), np.random.default_rng(0)
    >>> [policy.choose(step, rng).task for step in range(9)].count("a")
    2
    >>> policy.probabilities(step=9)
    array([0., 1.])
    """

    state: ClassVar = ("policy", "left")

    def __init__(self, policy: Policy, after: Mapping[str, int]) -> None:
        super().__init__(policy)
        if not policy.mixable:
            raise RotaError(
                f"A task that stops expects a policy that may be mixed. Found {type(policy).__name__}, whose promise "
                f"a missing task would break. Leave stop_after out, or choose another method."
            )
        for task, turns in after.items():
            if task not in self._index:
                raise unknown_name("task", task, self.tasks)
            if turns < 1:
                raise RotaError(f"Expected one turn or more before task '{task}' stops. Found {turns}.")
        if len(after) == len(self.tasks):
            raise RotaError("Expected at least one task that does not stop. Found an end for every task.")
        self.left, self._after = dict(after), dict(after)

    @property
    def counts_draws(self) -> bool:
        return True

    def probabilities(self, step: int) -> Floats:
        goes_on = np.array([self.left.get(task, 1) > 0 for task in self.tasks])
        own: Floats = np.where(goes_on, self.policy.probabilities(step), 0.0)
        total = float(own.sum())
        return own / total if total > 0 else goes_on.astype(np.float64) / goes_on.sum()

    def welcome(self, stays: NDArray[np.bool_]) -> None:
        """Who stays has as many turns left as before."""
        stayed = {task for task, own in zip(self.tasks, stays, strict=True) if own}
        self.left = {
            task: self.left.get(task, turns) if task in stayed else turns for task, turns in self._after.items()
        }

    def on_draw(self, k: int, step: int) -> None:
        super().on_draw(k, step)
        if self.tasks[k] in self.left:
            self.left[self.tasks[k]] -= 1
