"""Spend what is left of the budget where learning curves promise most."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np

from rota.curves import Bank, History, shared_out
from rota.errors import RotaError, unknown_name
from rota.feedback import Feedback
from rota.policies._base import Floats, Policy, positive_weights

PARTS = 60  # into which the rest of the budget is cut
FIRST = 10  # losses whose mean stands for an untrained model
LARGEST = 1e6  # of a loss: what is larger says no more
LEAST_HEARD = 32  # visits that are heard however small a data set is
TIES = 1e-4  # how far the prior tells tasks apart that promise equally much
SLACK = 2e-3  # a score that is lower by this is not worse


class Auto(Policy):
    """Plans with learning curves, from training losses alone.

    From time to time a bank of curves is fitted to the skill 1 - L / L_ref of every task (`rota.curves`), and the steps
    that are left are cut into parts, each of which goes where the predicted gain of the average is largest. What curves
    cannot know is guarded against: a task that has not begun to learn waits for half of its fair share before it is
    halved; no task falls below half of its prior share; and rows that were seen often count less, since a training
    loss also falls when rows are memorised.

    It hears the loss of each batch before its update: `policy.observe(choice.scored(loss))`.

    Args:
        tasks: Names of the tasks.
        horizon: Steps of the run; unknown: it plans for as many steps as it has seen.
        sizes: Training rows of each task: for the prior, and against memorising.
        prior: What it begins with and returns to: "sqrt" (the square root of the sizes; uniform where there are none),
            "uniform", or weights.
        references: Loss of somebody who knows nothing of the rows (entropy of the labels, variance of the targets), by
            task; where there is none, the mean of the first ten losses.
        importance: How much a task counts in the average; 0: not at all.
        kept: Tasks that keep their prior share: what an auxiliary task does for others no curve of its own can say.
        objective: "average": the best average; "nobody-worse": the best one in which no task is predicted to end lower
            than with an equal share.
        score: "skill", or "likelihood": exp(-L), as the simulations have it.
        warm: Share of the horizon that is drawn from the prior.
        every: Steps between plans; by default a sixtieth of the horizon, at least 20.
        floor: Share of its prior share that every task gets.
        blend: Share of the prior in every plan.
        past: Share of the last plan in the next one.
        patience: Share of its fair share for which a task without progress is waited for.
        fresh: Passes after which losses are not heard any more: they measure memory, not skill.
        free: Passes after which a further one counts less.
        decay: Passes in which it falls to a third.
        batch_size: Rows of a visit.

    >>> policy = Auto(["rte", "mrpc"], horizon=1000)
    >>> policy.probabilities(step=0)
    array([0.5, 0.5])
    """

    state: ClassVar = ("history", "turns", "first", "mixture", "heard")

    def __init__(
        self,
        tasks: Sequence[str],
        horizon: int | None = None,
        sizes: Mapping[str, float] | None = None,
        prior: Literal["sqrt", "uniform"] | Mapping[str, float] = "sqrt",
        references: Mapping[str, float | None] | None = None,
        importance: Mapping[str, float] | None = None,
        kept: Collection[str] = (),
        objective: Literal["average", "nobody-worse"] = "average",
        score: Literal["skill", "likelihood"] = "skill",
        warm: float = 0.1,
        every: int | None = None,
        floor: float = 0.5,
        blend: float = 0.2,
        past: float = 0.5,
        patience: float = 0.5,
        fresh: float = 2.0,
        free: float = 1.0,
        decay: float = 2.0,
        batch_size: float = 32,
    ) -> None:
        super().__init__(tasks)
        self._refuse(horizon, every, {"warm": warm, "floor": floor, "blend": blend, "past": past, "patience": patience})
        if objective not in ("average", "nobody-worse") or score not in ("skill", "likelihood"):
            raise RotaError(f"Auto expects a known objective and score. Found '{objective}' and '{score}'.")
        self.horizon, self.objective, self.score = horizon, objective, score
        self.warm, self.floor, self.blend, self.past, self.patience = warm, floor, blend, past, patience
        self.free, self.decay = free, decay
        self.every = every or max(20, (horizon or 0) // 60)
        self.batches = np.maximum(self._by_task(sizes, "sizes") / batch_size, 1e-9) if sizes else None
        self.prior = self._prior(prior)
        self._kept = np.array([task in kept for task in self.tasks])
        self._importance = self._by_task(importance, "importance") if importance else np.ones(len(self.tasks))
        self._given = np.array([(references or {}).get(task) or np.nan for task in self.tasks], dtype=np.float64)
        unheard = np.full(len(self.tasks), np.inf) if self.batches is None else fresh * self.batches
        self._fresh = np.maximum(LEAST_HEARD, unheard)
        self.history = History(self.tasks)
        self.turns: Floats = np.zeros(len(self.tasks))
        self.first: Floats = np.zeros(len(self.tasks))
        self.mixture: Floats = self.prior.copy()
        self.heard = 0

    def probabilities(self, step: int) -> Floats:
        return self.mixture.copy()

    def learn(self, k: int, feedback: Feedback) -> None:
        loss = min(max(feedback.value, -LARGEST), LARGEST)
        if self.turns[k] < FIRST:
            self.first[k] += loss
        self.turns[k] += 1
        if self.turns[k] <= self._fresh[k]:
            self.history.add(k, loss if self.score == "skill" else float(np.exp(-max(loss, 0.0))))
        self.heard += 1
        begun = self.heard >= (self.warm * self.horizon if self.horizon else len(self.tasks) * FIRST)
        if begun and self.heard % self.every == 0:
            self._plan()

    def curves(self) -> tuple[Bank, Floats]:
        """The curves of all tasks as they look now, and the noise of a single score."""
        if self.score == "likelihood":
            return self.history.fitted(np.zeros(len(self.tasks)), np.ones(len(self.tasks)))
        return self.history.fitted(np.ones(len(self.tasks)), -1.0 / self.references)

    @property
    def references(self) -> Floats:
        """The loss that stands for a skill of zero."""
        seen = self.first / np.maximum(np.minimum(self.turns, FIRST), 1.0)
        found = np.where(np.isfinite(self._given), self._given, seen)
        return np.where(found > 0, found, 1.0)

    def _plan(self) -> None:
        horizon = max(self.horizon or 2 * self.heard, self.heard + self.every)
        left = horizon - self.heard
        bank, noise = self.curves()
        least = self._least(bank, noise, horizon, left)
        rest = max(0.0, 1.0 - least.sum())
        shares = least[:, None] + rest * np.arange(PARTS + 1) / PARTS
        visits = self.turns[:, None] + left * shares
        gains = np.diff(bank.scores(visits), axis=1) * self._importance[:, None]
        if self.batches is not None:
            passes = visits[:, 1:] / self.batches[:, None]
            gains = gains * np.exp(-np.maximum(passes - self.free, 0.0) / self.decay)
        gains[self._kept] = 0.0
        lean = np.where(self._kept, 0.0, TIES * max(float(gains.max()), 1e-9) * self.prior)
        plan = least + rest * shared_out(gains, lean)
        plan = (1.0 - self.blend) * plan / plan.sum() + self.blend * self.prior
        mixture = self.past * self.mixture + (1.0 - self.past) * plan
        self.mixture = mixture / mixture.sum()

    def _least(self, bank: Bank, noise: Floats, horizon: int, left: int) -> Floats:
        """The share that every task gets, whatever its curve promises."""
        rises = np.einsum("ts,ts->t", bank.weights, bank.rises)
        idle = (bank.flat > 0.5) | (rises < 2 * noise / np.sqrt(np.maximum(self.turns, 1.0) / 4))
        waiting = idle & (self.turns < self.patience * self.prior * horizon)
        least = np.where(waiting | self._kept, 1.0, self.floor) * self.prior
        if self.objective == "nobody-worse":
            fair = 1.0 / len(self.tasks)
            shares = fair * np.arange(PARTS + 1) / PARTS
            scores = bank.scores(self.turns[:, None] + left * shares[None, :])
            enough = scores >= scores[:, -1:] - SLACK
            least = np.maximum(least, shares[enough.argmax(axis=1)])
        return np.asarray(least / max(1.0, least.sum()))

    def _prior(self, prior: Literal["sqrt", "uniform"] | Mapping[str, float]) -> Floats:
        if isinstance(prior, str):
            if prior not in ("sqrt", "uniform"):
                raise RotaError(f"Auto expects the prior 'sqrt', 'uniform', or weights. Found '{prior}'.")
            by_size = prior == "sqrt" and self.batches is not None
            weights = np.sqrt(self.batches) if by_size and self.batches is not None else np.ones(len(self.tasks))
        else:
            weights = self._by_task(prior, "prior weights")
        return np.asarray(weights / weights.sum())

    def _by_task(self, values: Mapping[str, float], what: str) -> Floats:
        for task in values:
            if task not in self.tasks:
                raise unknown_name("task", task, self.tasks)
        missing = [task for task in self.tasks if task not in values]
        if missing:
            raise RotaError(f"Auto expects {what} of every task. Missing: {', '.join(missing)}.")
        return positive_weights("Auto", {task: values[task] for task in self.tasks}, what)

    @staticmethod
    def _refuse(horizon: int | None, every: int | None, shares: Mapping[str, float]) -> None:
        if (horizon is not None and horizon < 1) or (every is not None and every < 1):
            raise RotaError(f"Auto expects a horizon and an every of one or more. Found {horizon} and {every}.")
        for name, value in shares.items():
            if not 0 <= value <= 1:
                raise RotaError(f"Auto expects {name} between 0 and 1. Found {value}.")
