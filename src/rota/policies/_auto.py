"""Plan the rest of the budget with learning curves of the training losses."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rota.arrays import MANY, Floats
from rota.curves import ALL, Bank, Places, shared_out
from rota.deprecation import renamed_arguments
from rota.errors import RotaError, unknown_name
from rota.feedback import Feedback
from rota.limits import Count, NotNegative, Positive, Share
from rota.policies._base import Policy
from rota.policies._borrowing import Groups
from rota.policies._ladder import Ladder
from rota.policies._losses import FIRST, Guard, Losses, ScoreForm
from rota.policies._task_weights import positive_weights

PARTS = 60  # into which the rest of the budget is cut
SOONEST = 50  # steps between plans: more of them cost a percent of a small model's step, and bring nothing
FREE_PASSES = 1.0  # over rows that are memorised: what is seen for the first time counts in full
WORN_PASSES = 2.0  # after which a further pass counts a third
TIES = 1e-4  # how far the prior tells tasks apart that promise equally much
SLACK = 2e-3  # a score that is lower by this is not worse
AutoObjective = Literal["average", "nobody-worse"]
Prior = Literal["mixed", "sqrt", "uniform"]


class Auto(Policy):
    """Gives each task the share of updates that its learning curve says it needs, from training losses alone.

    Every `every` steps it fits learning curves to the skill 1 - L / L_ref of every task (`rota.curves`), cuts the
    remaining steps into parts, and gives each part to the task with the largest predicted gain of the average. Four
    safeguards cover what curves cannot predict. A task that has not begun to learn keeps its share until it has had
    half of an equal share. No task falls below half of its prior share. A task that falls below its own best gets twice
    its prior share. And repeated rows count less where a task overfits them, which shows as a training loss that falls
    at the boundaries between passes (`rota.curves.PassBoundaries`).

    Tell it the loss of each batch before its update: `policy.observe(choice.scored(loss))`.

    Args:
        tasks: Names of the tasks.
        horizon: Steps of the run. If None, it plans for as many further steps as it has seen.
        sizes: Training rows of each task: for the prior, and to recognise overfitting.
        prior: The mixture it starts from: "sqrt" (size^0.5), "uniform", "mixed" (the mean of both, because size^0.5
            alone starves a data set with a hundredth of the rows of another), or weights. Uniform without sizes.
        references: Loss L_ref of a constant prediction (entropy of the labels, variance of the targets), by task; by
            default the mean of the first ten losses.
        importance: Weight of each task in the average; 0 ignores a task.
        kept: Tasks that keep their prior share, such as auxiliary ones: their own curve does not show what they do for
            other tasks.
        objective: "average": the highest average. "nobody-worse": the highest average in which no task is predicted to
            end below its score with an equal share.
        score: "skill" (1 - L / L_ref), or "likelihood" (exp(-L), as in the simulations).
        warmup: Share of the horizon at the start that is drawn from the prior.
        every: Steps between two plans; by default a sixtieth of the horizon, at least 50.
        floor: Smallest share of a task, in multiples of its prior share.
        blend: Weight of the prior in every plan.
        momentum: Weight of the last plan in the next one.
        patience: How long a task without progress keeps its share, in multiples of an equal share of the run.
        guard: Whether repeated rows count less: "measured", as far as the losses show overfitting; "always", for loops
            that draw rows with replacement; "never".
        max_heard_passes: Number of passes after which the training losses of an overfitted task are ignored.
        fallen_boost: Share of a task that has fallen below its own best, in multiples of its prior share.
        batch_size: Rows in a batch.
        groups: The group of each source, for thousands of sources that cannot each be drawn often: a source uses the
            curve of its group, over the visits of all members, until it was drawn ten times. Unless the prior is given
            as weights, each group has an equal share of it, and so has each source without a group.

    >>> policy = Auto(["rte", "mrpc"], horizon=1000)
    >>> policy.probabilities(step=0)
    array([0.5, 0.5])
    """

    hears: tuple[str, ...] | None = ("loss",)
    state: ClassVar[tuple[str, ...]] = ("losses", "mixture", "heard", "ladder", "groups")

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
        groups: Mapping[str, str] | None = None,
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
        self.groups = self._groups(groups) if groups else None
        self.prior = self._prior(prior)
        self._kept = np.array([task in kept for task in self.tasks])
        self._importance = self._by_task(importance, "importance") if importance else np.ones(len(self.tasks))
        given = np.array([(references or {}).get(task) or np.nan for task in self.tasks], dtype=np.float64)
        self.losses = Losses(self.tasks, self.batches, given, score, guard, max_heard_passes)
        self.mixture: Floats = self.prior.copy()
        self.heard = 0
        self.ladder = Ladder(self.tasks) if len(self.tasks) > MANY else None

    def probabilities(self, step: int) -> Floats:
        return self.mixture.copy()

    def learn(self, k: int, feedback: Feedback) -> None:
        self.losses.add(k, feedback.value)
        self.heard += 1
        if self.groups is not None:
            self.groups.add(k, self.losses.score(k, feedback.value))
        begun = self.warmup * self.horizon if self.horizon else len(self.tasks) * FIRST
        if self.ladder is not None:
            self._climb(self.ladder, begun)
        elif self.heard >= begun and self.heard % self.every == 0:
            self._plan()

    def welcome(self, stays: NDArray[np.bool_]) -> None:
        """Newcomers begin with their prior shares, the others share what is left as before. A
        newcomer without feedback has no curve yet: the plan waits for it."""
        new = np.where(stays, 0.0, self.prior)
        old = np.where(stays, self.mixture, 0.0)
        self.mixture = new + old * (1.0 - new.sum()) / old.sum() if old.sum() > 0 else self.prior.copy()

    def _curves(self, memorised: Floats, rows: Places = ALL) -> tuple[Bank, Floats]:
        """The curves of some of the tasks as they look now, and the standard errors of their rises."""
        bank, unsure = self.losses.part(rows).curves(memorised[rows])
        if self.groups is None:
            return bank, unsure
        borrowed, (lent, lent_unsure) = self.groups.borrowing(self.losses.visits, rows), self.groups.lent(rows)
        return bank.but(lent, borrowed), np.where(borrowed, lent_unsure, unsure)

    def _seen(self, values: Floats, rows: Places) -> Floats:
        """Visits or prior shares of some tasks; where a task borrows the curve of its group, those of the group."""
        if self.groups is None:
            return values[rows]
        return np.where(
            self.groups.borrowing(self.losses.visits, rows), self.groups.of_group(values, rows), values[rows]
        )

    def memorised(self) -> Floats:
        """How much each task overfits: 0 not at all, 1 fully."""
        return self.losses.memorised()

    def _ahead(self) -> tuple[int, int]:
        """The steps of the run, and how many of them are left."""
        horizon = max(self.horizon or 2 * self.heard, self.heard + self.every)
        return horizon, horizon - self.heard

    def _plan(self) -> None:
        memorised = self.memorised()
        bank, unsure = self._curves(memorised)
        least = self._least(bank, unsure, *self._ahead())
        least = np.asarray(least / max(1.0, least.sum()))
        rest = max(0.0, 1.0 - least.sum())
        gains = self._gains(bank, memorised, least[:, None] + rest * np.arange(PARTS + 1) / PARTS)
        lean = np.where(self._kept, 0.0, TIES * max(float(gains.max()), 1e-9) * self.prior)
        self._follow(least + rest * shared_out(gains, lean))

    def _climb(self, ladder: Ladder, begun: float) -> None:
        """Where tasks are many, look at the curves of a few of them now and then; when all were looked at, plan."""
        rows = ladder.turn(self.heard, self.every, begun)
        if rows is None:
            return
        memorised = self.memorised()
        bank, unsure = self._curves(memorised, rows)
        least = self._least(bank, unsure, *self._ahead(), rows)
        shares = ladder.shares(least, self.prior[rows])
        ladder.note(rows, least, self._gains(bank, memorised, shares, rows))
        if ladder.is_last(rows):
            self._follow(ladder.filled(self.prior, self._kept))

    def _gains(self, bank: Bank, memorised: Floats, shares: Floats, rows: Places = ALL) -> Floats:
        """What some of the tasks gain from one share of the steps that are left to the next one."""
        more = self._ahead()[1] * shares
        scores = bank.scores(self._seen(self.losses.visits, rows)[:, None] + more)
        gains = np.diff(scores, axis=1) * self._importance[rows, None]
        if self.batches is not None:
            passes = (self.losses.visits[rows, None] + more)[:, 1:] / self.batches[rows, None]
            worn = -np.expm1(-np.maximum(passes - FREE_PASSES, 0.0) / WORN_PASSES)
            gains = gains * (1.0 - memorised[rows, None] * worn)
        gains[self._kept[rows]] = 0.0
        return gains

    def _follow(self, plan: Floats) -> None:
        """Mix a plan with the prior and with the plan before."""
        plan = (1.0 - self.blend) * plan / plan.sum() + self.blend * self.prior
        mixture = self.momentum * self.mixture + (1.0 - self.momentum) * plan
        self.mixture = mixture / mixture.sum()

    def _least(self, bank: Bank, unsure: Floats, horizon: int, left: int, rows: Places = ALL) -> Floats:
        """The share that each of some tasks gets, whatever its curve promises; all of them may be more than 1."""
        losses, prior, kept = self.losses.part(rows), self.prior[rows], self._kept[rows]
        rises = np.einsum("ts,ts->t", bank.weights, bank.rises)
        idle = (bank.flat > 0.5) | (rises < 2 * unsure)
        seen = self._seen(self.losses.visits, rows)
        waiting = idle & (seen < self.patience * self._seen(self.prior, rows) * horizon)
        least = np.where(waiting | kept, 1.0, self.floor) * prior
        fallen = (losses.fallen() > 0) & (self._importance[rows] > 0) & ~kept
        least = np.where(fallen, np.maximum(least, self.fallen_boost * prior), least)
        if self.objective == "nobody-worse":
            fair = 1.0 / len(self.tasks)
            shares = fair * np.arange(PARTS + 1) / PARTS
            scores = bank.scores(seen[:, None] + left * shares[None, :])
            enough = scores >= scores[:, -1:] - SLACK
            least = np.maximum(least, shares[enough.argmax(axis=1)])
        return least

    def _prior(self, prior: Prior | Mapping[str, float]) -> Floats:
        even = np.full(len(self.tasks), 1.0 / len(self.tasks))
        if not isinstance(prior, str):
            weights = self._by_task(prior, "prior weights")
            return np.asarray(weights / weights.sum())
        if prior not in get_args(Prior):
            raise unknown_name("prior", prior, get_args(Prior))
        found = even
        if self.batches is not None and prior != "uniform":
            roots = np.sqrt(self.batches) / np.sqrt(self.batches).sum()
            found = np.asarray(roots if prior == "sqrt" else (even + roots) / 2)
        return self.groups.shared(found) if self.groups else found

    def _groups(self, groups: Mapping[str, str]) -> Groups:
        for task in groups:
            if task not in self._index:
                raise unknown_name("task", task, self.tasks)
        return Groups(self.tasks, groups)

    def _up_to_date(self, memory: dict[str, Any]) -> dict[str, Any]:
        empty = {"ladder": self.ladder, "groups": self.groups}  # which came later
        return {**{name: part.state_dict() if part else None for name, part in empty.items()}, **memory}

    def _by_task(self, values: Mapping[str, float], what: str) -> Floats:
        for task in values:
            if task not in self._index:
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
