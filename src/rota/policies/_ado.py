"""Shares by the learning speed that a scaling law of each source predicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rota.arrays import Floats
from rota.curves import History
from rota.errors import RotaError, unknown_name
from rota.feedback import Feedback
from rota.limits import Count, NotNegative, PartShare
from rota.policies._base import Policy
from rota.policies._losses import LARGEST
from rota.policies._power_law import LEAST, PowerLaw, fit_power_law
from rota.policies._task_weights import prior_shares

Counting = Literal["own", "all"]
FEWEST = 8  # blocks of losses to which a law is fitted
LEAST_ALPHA = 0.05  # of the exponent in a speed
RATIO = 20  # of the warmup, and of the steps between fits, to a short run


class ADO(Policy):
    """Prefers sources whose loss still falls with each sample: adaptive data optimization of Jiang et al. (2024), from
    training losses alone.

    At intervals it fits a scaling law to the losses of each source k (by the Huber loss of their logarithms with δ =
    0.001, for α in [0.001, 0.8] and a of at most 6.5),

        L_k(D) = exp(a_k) D^-α_k + E_k,   with the speed v_k = max(α_k, 0.05) (L_k(D) - E_k) / D.

    After each loss, with the prior μ, the average h of the shares so far (h ← 0.9 h + 0.1 π) and the average ρ̄ of all
    ρ before,

        ρ(k) ∝ μ(k) h(k)^s v_k   (no share below `floor`),   π = 0.9 ρ̄ + 0.1 ρ.

    Args:
        tasks: Names of the sources.
        prior: Weight μ of each source, such as its number of rows; None for equal ones. It is drawn from until the
            first fit.
        counting: What D counts: "own", the batches of the source, as in the text of the paper; "all", those of all
            sources together, as in the default of its code: then a speed says what a step brings, not a sample.
        warmup: Losses before the first fit; by default 1,000, or a twentieth of a shorter run. The first half of them
            is not fitted.
        every: Losses between two fits; by default as many.
        power: Exponent s of the shares so far.
        floor: Least share of a source in ρ.
        least_loss: Lower bound of E, in the unit of the losses. The code has e^0.5 = 1.65 nats, for language models.
        horizon: Steps of the run, if known.

    >>> policy = ADO(["learned", "learning"], warmup=200, every=100)
    >>> for step in range(200):
    ...     policy.observe(Feedback("learned", 0.5 + 1 / (1 + step) ** 2, step=step))
    ...     policy.observe(Feedback("learning", 2.0 / (1 + step) ** 0.3, step=step))
    >>> policy.probabilities(step=400).round(2)
    array([0.01, 0.99])

    Reference:
        Y. Jiang et al., Adaptive Data Optimization: Dynamic Sample Selection with Scaling Laws, 2024.

    Where this differs from the paper:
        Its batches have rows of all sources; where a batch is of one, h averages the probabilities, not the draws,
        which would be one or zero. Losses are smoothed by means of blocks, at most 64 for each source, not by a filter
        over all of them, so memory is bounded. Bounds hold; there they are penalties, steep enough to be bounds. A
        source that was heard too seldom to be fitted keeps its prior share; there, its last loss is carried forward
        into its history. An earlier version of the code has √(h (1 - h)) in place of h^s.
    """

    hears: tuple[str, ...] | None = ("loss",)
    state: ClassVar = (
        *("losses", "places", "heard", "counts", "laws", "fitted", "shares_so_far", "average", "mixture"),
        "averaged",
    )

    def __init__(
        self,
        tasks: Sequence[str],
        prior: Mapping[str, float] | None = None,
        counting: Counting = "own",
        warmup: Count | None = None,
        every: Count | None = None,
        power: NotNegative = 0.5,
        floor: PartShare = 0.01,
        least_loss: NotNegative = 0.0,
        horizon: Count | None = None,
    ) -> None:
        super().__init__(tasks)
        if counting not in get_args(Counting):
            raise unknown_name("counting", counting, get_args(Counting))
        for name, value in {"warmup": warmup, "every": every}.items():
            if value is not None and value < 1:
                raise RotaError(f"ADO expects {name} of one loss or more. Found {value}.")
        if not (0 <= power < np.inf and 0 <= floor < 1 and 0 <= least_loss < np.inf):
            raise RotaError(
                f"ADO expects a power and a least_loss of 0 or more, and a floor in [0, 1). Found {power}, "
                f"{least_loss} and {floor}."
            )
        usual = max(1, min(1000, (horizon or 10**9) // RATIO))
        self.counting, self.power, self.least_loss = counting, power, least_loss
        self.warmup, self.every = warmup or usual, every or usual
        self.floor = min(floor, 1.0 / len(self.tasks))
        self.prior = prior_shares("ADO", self.tasks, prior)
        self.losses, self.places = History(self.tasks), History(self.tasks)
        self.heard, self.averaged = 0, 0
        self.counts = np.zeros(len(self.tasks), dtype=np.int64)
        self.laws: Floats = np.zeros((len(self.tasks), 3))
        self.fitted = np.zeros(len(self.tasks), dtype=np.int64)  # 1: there is a law
        self.shares_so_far, self.average = self.prior.copy(), self.prior.copy()
        self.mixture: Floats = self.prior.copy()

    def probabilities(self, step: int) -> Floats:
        return self.mixture.copy()

    def learn(self, k: int, feedback: Feedback) -> None:
        self.heard += 1
        self.counts[k] += 1
        if self.heard > self.warmup // 2:
            self.losses.add(k, min(max(feedback.value, LEAST), LARGEST))
            self.places.add(k, float(np.log(self._seen(k))))
        if self.heard >= self.warmup and (self.heard - self.warmup) % self.every == 0:
            self._fit()
        self.shares_so_far = 0.9 * self.shares_so_far + 0.1 * self.mixture
        if self.fitted.any():
            self._mix()

    def law(self, task: str) -> PowerLaw | None:
        """What was fitted to the losses of a source; None if nothing was."""
        k = self._index[task]
        return PowerLaw(*self.laws[k].tolist()) if self.fitted[k] else None

    def welcome(self, stays: NDArray[np.bool_]) -> None:
        """Newcomers begin with their prior shares, the others share what is left as before."""
        for own in (self.mixture, self.average, self.shares_so_far):
            own[~stays] = self.prior[~stays]
            own[stays] *= (1.0 - self.prior[~stays].sum()) / own[stays].sum()

    def _seen(self, k: int) -> int:
        return int(self.counts[k]) if self.counting == "own" else self.heard

    def _fit(self) -> None:
        means, sizes = self.losses.blocks()
        places, _ = self.places.blocks()
        for k in range(len(self.tasks)):
            known = sizes[k] > 0
            if known.sum() >= FEWEST:
                own = sizes[k, known]
                self.laws[k] = fit_power_law(places[k, known], means[k, known], own / own.max(), self.least_loss)
                self.fitted[k] = 1

    def _mix(self) -> None:
        """The shares of the next draw."""
        known = self.fitted > 0
        speeds = np.array(
            [PowerLaw(*self.laws[k]).speed(self._seen(int(k)), LEAST_ALPHA) for k in np.flatnonzero(known)]
        )
        wanted = self.prior[known] * self.shares_so_far[known] ** self.power * speeds
        now = self.prior.copy()
        if wanted.sum() > 0:
            now[known] = wanted / wanted.sum() * self.prior[known].sum()
        now = np.maximum(now, self.floor)
        now /= now.sum()
        self.mixture = 0.9 * self.average + 0.1 * now
        self.averaged += 1
        self.average = self.average + (now - self.average) / (self.averaged + 1)
