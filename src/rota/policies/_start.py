"""A policy around a policy: another one chooses at the beginning."""

from __future__ import annotations

from typing import ClassVar

from rota.arrays import Floats
from rota.errors import RotaError
from rota.policies._base import Policy
from rota.policies._wrappers import Wrapper


class WithStart(Wrapper):
    """Another policy, in whose place a first one chooses at the beginning, such as `Union` until there is a survey.

    The policy hears everything from the beginning, with the probabilities of the draws that were made.

    Args:
        policy: Chooses from step `steps` on.
        first: Chooses before that, over the same tasks in the same order. It learns nothing.
        steps: How long.

    >>> from rota.policies import Fixed, uniform
    >>> policy = WithStart(uniform(["rte", "mrpc"]), Fixed({"rte": 1, "mrpc": 3}), steps=200)
    >>> policy.probabilities(step=199), policy.probabilities(step=200)
    (array([0.25, 0.75]), array([0.5, 0.5]))
    """

    state: ClassVar = ("policy", "first")
    mixable: ClassVar = False  # a floor would break the promise of a union
    holdable: ClassVar = False  # a round could reach over the end of the start

    def __init__(self, policy: Policy, first: Policy, steps: int) -> None:
        super().__init__(policy)
        if first.tasks != policy.tasks:
            raise RotaError(
                f"A start expects the tasks of what follows, {', '.join(policy.tasks)}. Found {', '.join(first.tasks)}."
            )
        if first.hears or first.hears is None:
            raise RotaError(
                f"A start expects a policy that learns nothing. Found {type(first).__name__}, which hears "
                f"{', '.join(first.hears or ('something',))}."
            )
        for own in (policy, first):
            if own.round_length > 1:
                raise RotaError(f"A start expects policies without rounds. Found {type(own).__name__}.")
        if steps < 1:
            raise RotaError(f"A start expects one step or more. Found {steps}.")
        self.first, self.steps = first, steps

    @property
    def counts_draws(self) -> bool:
        return self.policy.counts_draws or self.first.counts_draws

    def probabilities(self, step: int) -> Floats:
        return self._now(step).probabilities(step)

    def expected_shares(self, step: int) -> dict[str, float]:
        return self._now(step).expected_shares(step)

    def on_draw(self, k: int, step: int) -> None:
        self._now(step).on_draw(k, step)

    def _now(self, step: int) -> Policy:
        return self.first if step < self.steps else self.policy
