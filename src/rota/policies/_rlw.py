"""Random loss weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from rota.arrays import Floats
from rota.errors import unknown_name
from rota.limits import Whole
from rota.policies._base import Policy
from rota.policies._softmax import softmax
from rota.seeds import generator

RandomWeights = Literal["normal", "dirichlet"]


class RLW(Policy):
    """Draws the weights of the losses anew for each step: random loss weighting of Lin et al. (2022). A baseline: a
    weighting that is not better than this one has not learned anything from its losses.

        "normal":     λ = softmax(x),  x(k) ~ N(0, 1)
        "dirichlet":  λ ~ Dirichlet(1, …, 1), uniform over all mixtures

    Args:
        tasks: Names of the tasks.
        distribution: "normal" or "dirichlet".
        seed: Of the weights. They follow from the seed, the step and the names of the tasks, and nothing is remembered.

    >>> policy = RLW(["rte", "mrpc"])
    >>> policy.probabilities(step=0).round(3), policy.probabilities(step=1).round(3)
    (array([0.277, 0.723]), array([0.225, 0.775]))

    Reference:
        B. Lin et al., Reasonable Effectiveness of Random Weighting: A Litmus Test for Multi-Task Learning, 2022.

    Where this differs from the paper:
        Nothing. A widely used implementation puts Dirichlet weights through a softmax, which makes them nearly equal:
        not done here.
    """

    def __init__(self, tasks: Sequence[str], distribution: RandomWeights = "normal", seed: Whole = 0) -> None:
        super().__init__(tasks)
        if distribution not in get_args(RandomWeights):
            raise unknown_name("distribution", distribution, get_args(RandomWeights))
        self.distribution, self._seed = distribution, seed
        self._order = np.argsort(np.argsort(self.tasks))

    def probabilities(self, step: int) -> Floats:
        rng = generator(self._seed, "random weights", step)
        if self.distribution == "normal":
            return softmax(rng.standard_normal(len(self.tasks))[self._order])
        parts: Floats = rng.standard_exponential(len(self.tasks))[self._order]
        parts /= parts.sum()
        return parts
