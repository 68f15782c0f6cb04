"""Thompson sampling: tasks by how often they help the target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from rota.arrays import MANY, Floats
from rota.errors import RotaError, unknown_name
from rota.feedback import Feedback
from rota.limits import Positive, Share
from rota.policies._base import Policy
from rota.policies._beta import Betas, best_of_many


class Thompson(Policy):
    """Each task has a Beta distribution over how often it helps the target; the task with the largest draw is next
    (AutoSeM's first stage, Guo, Pasunuru & Bansal 2019).

    Nothing is drawn here but the task: how likely each task is to have the largest draw is computed, so that the
    probability of a choice is known. Feedback is 1 for good, 0 for bad, or anything in between; what is outside counts
    as the nearer of the two. With each feedback all tasks forget a little, and go back towards their prior.

    Args:
        tasks: The tasks.
        decay: Forgetting rate γ per feedback; 0 forgets nothing, 1 everything but the last.
        prior: Successes and failures of the Beta prior, to which every task decays.
        primary: The target. It is chosen until the first feedback.
        primary_prior: Successes and failures that the target begins with; it decays to `prior`, too.

    >>> policy = Thompson(["rte", "mnli"], decay=0)
    >>> policy.observe(Feedback("mnli", 1.0, 0.5))
    >>> policy.utilities
    {'rte': 0.5, 'mnli': 0.6666666666666666}
    >>> policy.probabilities(step=1).round(3)
    array([0.333, 0.667])

    Reference:
        H. Guo, R. Pasunuru and M. Bansal, AutoSeM: Automatic Task Selection and Mixing in Multi-Task Learning (2019).

    Where this differs from the paper:
        The decay of the released code, 0.3, forgets all but the last ten rounds or so; 0.05 is the default here. The
        stronger prior of the primary, which the paper mentions without a number, is (2, 1). Of more than 256 tasks,
        successes and failures that differ by less than a two-hundredth count as equal.
    """

    hears: tuple[str, ...] | None = ("success",)
    state: ClassVar = ("successes", "failures", "heard")

    def __init__(
        self,
        tasks: Sequence[str],
        decay: Share = 0.05,
        prior: tuple[Positive, Positive] = (1.0, 1.0),
        primary: str | None = None,
        primary_prior: tuple[Positive, Positive] = (2.0, 1.0),
    ) -> None:
        super().__init__(tasks)
        if not 0 <= decay <= 1:
            raise RotaError(f"Thompson expects a decay in [0, 1]. Found {decay}.")
        for numbers in (prior, primary_prior):
            if len(numbers) != 2 or not all(0 < number < 1e9 for number in numbers):
                raise RotaError(f"Thompson expects priors of two positive numbers. Found {numbers}.")
        if primary is not None and primary not in self._index:
            raise unknown_name("primary task", primary, self.tasks)
        self.decay, self.prior, self.primary = decay, prior, primary
        self.successes: Floats = np.full(len(self.tasks), float(prior[0]))
        self.failures: Floats = np.full(len(self.tasks), float(prior[1]))
        if primary is not None:
            self.successes[self._index[primary]], self.failures[self._index[primary]] = primary_prior
        self.heard = 0
        self._known: tuple[bytes, Floats] = b"", np.empty(0)  # for which memory the probabilities are known

    def probabilities(self, step: int) -> Floats:
        if self.primary is not None and not self.heard:
            first = np.zeros(len(self.tasks))
            first[self._index[self.primary]] = 1.0
            return first
        memory = self.successes.tobytes() + self.failures.tobytes()
        if self._known[0] != memory:
            many = len(self.tasks) > MANY
            found = best_of_many(self.successes, self.failures) if many else self._betas().best()
            found.flags.writeable = False  # handed out again and again
            self._known = memory, found
        return self._known[1]

    def learn(self, k: int, feedback: Feedback) -> None:
        good = min(max(feedback.value, 0.0), 1.0)
        self.successes = (1 - self.decay) * self.successes + self.decay * self.prior[0]
        self.failures = (1 - self.decay) * self.failures + self.decay * self.prior[1]
        self.successes[k] += good
        self.failures[k] += 1 - good
        self.heard += 1

    def _betas(self) -> Betas:
        return Betas.of(self.successes, self.failures)

    @property
    def utilities(self) -> dict[str, float]:
        """Posterior mean of how often each task helps."""
        means = self.successes / (self.successes + self.failures)
        return dict(zip(self.tasks, means.tolist(), strict=True))

    def intervals(self, level: float = 0.95) -> dict[str, tuple[float, float]]:
        """Where the utility of each task lies with this probability."""
        betas = self._betas()
        low, high = betas.quantiles((1 - level) / 2), betas.quantiles((1 + level) / 2)
        return {task: (float(low[k]), float(high[k])) for k, task in enumerate(self.tasks)}
