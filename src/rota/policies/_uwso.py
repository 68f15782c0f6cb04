"""Loss weights by a softmax over inverse losses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rota.arrays import Floats
from rota.errors import RotaError
from rota.limits import Positive
from rota.policies._joint_losses import LEAST_LOSS, JointLosses, joint_weights


class UWSO(JointLosses):
    """Weights up small losses, by a softmax over their inverses: soft optimal uncertainty weighting of Kirchdorfer et
    al. (2024), which was ahead of the other weightings in their study and as good as weights that were searched.

        λ(k) = exp(1 / (T L(k))) / Σ_j exp(1 / (T L(j)))

    Args:
        tasks: Names of the tasks.
        tau: Temperature T, the one number to be tuned; in units of one over a loss.

    >>> from rota import Feedback
    >>> policy = UWSO(["rte", "mrpc"], tau=2.0)
    >>> for task, loss in {"rte": 0.5, "mrpc": 0.25}.items():
    ...     policy.observe(Feedback(task, loss))
    >>> policy.probabilities(step=1).round(3)  # softmax(1, 2)
    array([0.269, 0.731])

    Reference:
        L. Kirchdorfer et al., Analytical Uncertainty-Based Loss Weighting in Multi-Task Learning, 2024.

    Where this differs from the paper:
        Weights are those of the losses of the step before, since they are known before the step is made. Losses below
        1e-8 count as 1e-8. Equal weights until all losses were heard.
    """

    state: ClassVar = (*JointLosses.state, "inverses")

    def __init__(self, tasks: Sequence[str], tau: Positive = 1.0) -> None:
        super().__init__(tasks)
        if not tau > 0:
            raise RotaError(f"UWSO expects tau above 0. Found {tau}.")
        self.tau = tau
        self.inverses: Floats = np.zeros(len(self.tasks))

    def probabilities(self, step: int) -> Floats:
        return joint_weights(self.inverses, self.tau)

    def learn_all(self, losses: Floats) -> None:
        self.inverses = 1.0 / np.maximum(losses, LEAST_LOSS)

    def welcome(self, stays: NDArray[np.bool_]) -> None:
        """Newcomers begin with the mean of the others."""
        self.inverses[~stays] = self.inverses[stays].mean()
