"""A policy around a policy: stay near a mixture that is known to be good."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rota.arrays import Floats
from rota.errors import RotaError
from rota.limits import Share
from rota.policies._base import Policy
from rota.policies._softmax import softmax
from rota.policies._task_weights import prior_shares
from rota.policies._wrappers import Wrapper


class Anchored(Wrapper):
    """Another policy, held near a prior: π(k) ∝ μ(k)^w p(k)^(1 - w), which is the mixture with the smallest

        (1 - w) KL(π ‖ p) + w KL(π ‖ μ)

    for what the policy wants (p) and the prior (μ). w = 0 is the policy, w = 1 the prior. Anchors of this kind keep
    methods that fit a mixture from few and noisy numbers from ending at a corner.

    The wrapped policy hears π, the probability with which a task was drawn, by which importance weights are unbiased.
    (`WithFloor` can hand its child the child's own p, since p follows from one number of π; here it does not.)

    Args:
        policy: The policy to ask. Policies whose promise a mixture would break (`Union`, `Cycle`, `Hold`) are refused;
            the anchor goes inside: `Hold(Anchored(policy, prior), steps=10)`.
        prior: Weight of each task; None for equal ones.
        weight: Weight w of the prior.

    >>> from rota.policies import Fixed
    >>> Anchored(Fixed({"rte": 1, "sst2": 9}), {"rte": 1, "sst2": 1}, weight=0.5).probabilities(step=0)
    array([0.25, 0.75])

    Reference:
        The penalty λ KL(π ‖ prior) of Olmix (2026), around a policy instead of a fitted law; DynamixSFT (Shin et al.
        2025) multiplies with its prior in the same way.
    """

    def __init__(self, policy: Policy, prior: Mapping[str, float] | None = None, weight: Share = 0.5) -> None:
        super().__init__(policy)
        if not policy.mixable:
            raise RotaError(
                f"Anchored expects a policy that may be mixed. Found {type(policy).__name__}, whose promise an anchor "
                f"would break. Put the anchor inside, or leave it out."
            )
        if not 0 <= weight <= 1:
            raise RotaError(f"Anchored expects a weight between 0 and 1. Found {weight}.")
        self.weight = weight
        self._log_prior: Floats = np.log(prior_shares("Anchored", self.tasks, prior))

    def probabilities(self, step: int) -> Floats:
        own = self.policy.probabilities(step)
        if self.weight == 0:
            return own
        if self.weight == 1:
            return np.exp(self._log_prior)
        with np.errstate(divide="ignore"):  # what the policy leaves out stays out
            return softmax(self.weight * self._log_prior + (1.0 - self.weight) * np.log(own))
