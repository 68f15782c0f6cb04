"""Shares that go uphill on the simplex, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rota.arrays import Floats
from rota.errors import RotaError
from rota.limits import Positive
from rota.policies._base import Policy
from rota.policies._softmax import softmax
from rota.policies._task_weights import prior_shares

LOWEST = -20.0  # of the logarithm of a share, relative to the largest: from there a task can come back


class MirrorAscent(Policy):
    """Multiplies shares by exp(u), where u says how much there is to gain from each task.

    Args:
        tasks: Names of the tasks.
        step: Mean size of an exponent; None for u as it is.
        prior: Weight of each task in the mixture that it begins with; None for equal ones.
    """

    state: ClassVar[tuple[str, ...]] = ("log_weights",)

    def __init__(
        self, tasks: Sequence[str], step: Positive | None = None, prior: Mapping[str, float] | None = None
    ) -> None:
        super().__init__(tasks)
        if step is not None and not 0 < step < np.inf:
            raise RotaError(f"{type(self).__name__} expects a step above 0, or None. Found {step}.")
        self.step = step
        self._prior = prior_shares(type(self).__name__, self.tasks, prior)
        self.log_weights: Floats = np.log(self._prior / self._prior.max())

    def probabilities(self, step: int) -> Floats:
        return softmax(self.log_weights)

    def climb(self, gains: Floats) -> None:
        """One step; gains that are all zero leave the shares as they are."""
        largest = np.abs(gains).max()
        if largest == 0:
            return
        if self.step is None:
            exponents = np.clip(gains, LOWEST, -LOWEST)
        else:
            exponents = self.step * (gains / largest) / np.abs(gains / largest).mean()
        self.log_weights = self.log_weights + exponents
        self.log_weights = np.maximum(self.log_weights - self.log_weights.max(), LOWEST)

    def welcome(self, stays: NDArray[np.bool_]) -> None:
        """Newcomers begin with their share of the prior."""
        weights = softmax(self.log_weights[stays])
        others = self._prior[~stays] / self._prior[stays].sum()
        self.log_weights[stays], self.log_weights[~stays] = np.log(weights), np.log(others)
        self.log_weights = np.maximum(self.log_weights - self.log_weights.max(), LOWEST)
