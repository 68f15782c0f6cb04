"""Spend what is left of the budget where learning curves promise most."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar, Literal, get_args

import numpy as np

from rota.arrays import Floats
from rota.curves import Bank, shared_out
from rota.deprecation import renamed_arguments
from rota.errors import RotaError, unknown_name
from rota.feedback import Feedback
from rota.limits import Count, NotNegative, Positive, Share
from rota.policies._base import Policy, positive_weights
from rota.policies._losses import FIRST, Guard, Losses, ScoreForm

PARTS = 60  # into which the rest of the budget is cut
SOONEST = 50  # steps between plans: more of them cost a percent of a small model's step, and bring nothing
FREE_PASSES = 1.0  # over rows that are memorised: what is seen for the first time counts in full
WORN_PASSES = 2.0  # after which a further pass counts a third
TIES = 1e-4  # how far the prior tells tasks apart that promise equally much
SLACK = 2e-3  # a score that is lower by this is not worse
AutoObjective = Literal["average", "nobody-worse"]
Prior = Literal["mixed", "sqrt", "uniform"]


class Auto(Policy):
    """Plans with learning curves, from training losses alone.

    From time to time a bank of curves is fitted to the skill 1 - L / L_ref of every task (`rota.curves`), and the steps
    that are left are cut into parts, each of which goes where the predicted gain of the average is largest. What curves
    cannot know is guarded against: a task that has not begun to learn waits for half of its fair share before it is
    halved; no task falls below half of its prior share; one that falls below its own best gets twice that share; and
    rows that were seen often count less where rows are memorised, which a training loss shows by falling at the borders
    of passes (`rota.curves.PassBoundaries`).

    It hears the loss of each batch before its update: `policy.observe(choice.scored(loss))`.

    Args:
        tasks: Names of the tasks.
        horizon: Steps of the run; unknown: it plans for as many steps as it has seen.
        sizes: Training rows of each task: for the prior, and against memorising.
        prior: What it begins with and returns to: "sqrt" (the square root of the sizes), "uniform", "mixed" (half of
            each: roots alone starve a data set that is a hundredth of another, before its curve can say anything), or
            weights. Uniform where there are no sizes.
        references: Loss of somebody who knows nothing of the rows (entropy of the labels, variance of the targets), by
            task; where there is none, the mean of the first ten losses.
        importance: How much a task counts in the average; 0: not at all.
        kept: Tasks that keep their prior share: what an auxiliary task does for others no curve of its own can say.
        objective: "average": the best average; "nobody-worse": the best one in which no task is predicted to end lower
            than with an equal share.
        score: "skill", or "likelihood": exp(-L), as the simulations have it.
        warmup: Share of the horizon that is drawn from the prior.
        every: Steps between plans; by default a sixtieth of the horizon, at least 50.
        floor: Share of its prior share that every task gets.
        blend: Share of the prior in every plan.
        momentum: Share of the last plan in the next one.
        patience: Share of its fair share for which a task without progress is waited for.
        guard: Against memorising: "measured", as far as the losses show it; "always", which needs no passes in which
            every row comes once; "never".
        max_heard_passes: Passes after which the losses of a task that is memorised are not heard: they measure memory,
            not skill.
        fallen_boost: Multiple of its prior share that a task gets which has fallen below its own best: others harm it,
            or it is forgotten, and its curve alone would say that it is done.
        batch_size: Rows of a visit.

    >>> policy = Auto(["rte", "mrpc"], horizon=1000)
    >>> policy.probabilities(step=0)
    array([0.5, 0.5])
    """

    hears: tuple[str, ...] | None = ("loss",)
    state: ClassVar[tuple[str, ...]] = ("losses", "mixture", "heard")

    @renamed_arguments(warm="warmup", past="momentum", fresh="max_heard_passes", lift="fallen_boost")
    def __init__(
        self,
        tasks: Sequence[str],
        horizon: Count | None = None,
        sizes: Mapping[str, float] | None = None,
        prior: Prior | Mapping[str, float] = "mixed",
        references: Mapping[str, float | None] | None = None,
        importance: Mapping[str, float] | None = None,
        kept: Collection[str] = (),
        objective: AutoObjective = "average",
        score: ScoreForm = "skill",
        warmup: Share = 0.1,
        every: Count | None = None,
        floor: Share = 0.5,
        blend: Share = 0.2,
        momentum: Share = 0.5,
        patience: Share = 0.5,
        guard: Guard = "measured",
        max_heard_passes: Positive = 2.0,
        fallen_boost: NotNegative = 2.0,
        batch_size: float = 32,
    ) -> None:
        super().__init__(tasks)
        shares = {"warmup": warmup, "floor": floor, "blend": blend, "momentum": momentum, "patience": patience}
        self._refuse(horizon, every, shares)
        for value, known in ((objective, AutoObjective), (score, ScoreForm), (guard, Guard)):
            if value not in get_args(known):
                raise unknown_name("word for Auto", value, get_args(known))
        self.horizon, self.objective = horizon, objective
        self.warmup, self.floor, self.blend, self.momentum, self.patience = warmup, floor, blend, momentum, patience
        self.fallen_boost = fallen_boost
        self.every = every or max(SOONEST, (horizon or 0) // 60)
        self.batches = np.maximum(self._by_task(sizes, "sizes") / batch_size, 1e-9) if sizes else None
        self.prior = self._prior(prior)
        self._kept = np.array([task in kept for task in self.tasks])
        self._importance = self._by_task(importance, "importance") if importance else np.ones(len(self.tasks))
        given = np.array([(references or {}).get(task) or np.nan for task in self.tasks], dtype=np.float64)
        self.losses = Losses(self.tasks, self.batches, given, score, guard, max_heard_passes)
        self.mixture: Floats = self.prior.copy()
        self.heard = 0

    def probabilities(self, step: int) -> Floats:
        return self.mixture.copy()

    def learn(self, k: int, feedback: Feedback) -> None:
        self.losses.add(k, feedback.value)
        self.heard += 1
        begun = self.heard >= (self.warmup * self.horizon if self.horizon else len(self.tasks) * FIRST)
        if begun and self.heard % self.every == 0:
            self._plan()

    def _curves(self, memorised: Floats) -> tuple[Bank, Floats]:
        """The curves of all tasks as they look now, and the standard errors of their rises."""
        return self.losses.curves(memorised)

    def memorised(self) -> Floats:
        """How far each task is guarded against memorising: 0 not at all, 1 wholly."""
        return self.losses.memorised()

    def _plan(self) -> None:
        horizon = max(self.horizon or 2 * self.heard, self.heard + self.every)
        left = horizon - self.heard
        memorised = self.memorised()
        bank, unsure = self._curves(memorised)
        least = self._least(bank, unsure, horizon, left)
        rest = max(0.0, 1.0 - least.sum())
        shares = least[:, None] + rest * np.arange(PARTS + 1) / PARTS
        visits = self.losses.visits[:, None] + left * shares
        gains = np.diff(bank.scores(visits), axis=1) * self._importance[:, None]
        if self.batches is not None:
            passes = visits[:, 1:] / self.batches[:, None]
            worn = -np.expm1(-np.maximum(passes - FREE_PASSES, 0.0) / WORN_PASSES)
            gains = gains * (1.0 - memorised[:, None] * worn)
        gains[self._kept] = 0.0
        lean = np.where(self._kept, 0.0, TIES * max(float(gains.max()), 1e-9) * self.prior)
        plan = least + rest * shared_out(gains, lean)
        plan = (1.0 - self.blend) * plan / plan.sum() + self.blend * self.prior
        mixture = self.momentum * self.mixture + (1.0 - self.momentum) * plan
        self.mixture = mixture / mixture.sum()

    def _least(self, bank: Bank, unsure: Floats, horizon: int, left: int) -> Floats:
        """The share that every task gets, whatever its curve promises."""
        rises = np.einsum("ts,ts->t", bank.weights, bank.rises)
        idle = (bank.flat > 0.5) | (rises < 2 * unsure)
        waiting = idle & (self.losses.visits < self.patience * self.prior * horizon)
        least = np.where(waiting | self._kept, 1.0, self.floor) * self.prior
        fallen = (self.losses.fallen() > 0) & (self._importance > 0) & ~self._kept
        least = np.where(fallen, np.maximum(least, self.fallen_boost * self.prior), least)
        if self.objective == "nobody-worse":
            fair = 1.0 / len(self.tasks)
            shares = fair * np.arange(PARTS + 1) / PARTS
            scores = bank.scores(self.losses.visits[:, None] + left * shares[None, :])
            enough = scores >= scores[:, -1:] - SLACK
            least = np.maximum(least, shares[enough.argmax(axis=1)])
        return np.asarray(least / max(1.0, least.sum()))

    def _prior(self, prior: Prior | Mapping[str, float]) -> Floats:
        even = np.full(len(self.tasks), 1.0 / len(self.tasks))
        if not isinstance(prior, str):
            weights = self._by_task(prior, "prior weights")
            return np.asarray(weights / weights.sum())
        if prior not in get_args(Prior):
            raise unknown_name("prior", prior, get_args(Prior))
        if self.batches is None or prior == "uniform":
            return even
        roots = np.sqrt(self.batches) / np.sqrt(self.batches).sum()
        return np.asarray(roots if prior == "sqrt" else (even + roots) / 2)

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
