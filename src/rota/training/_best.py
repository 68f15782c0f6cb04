"""One declared rule for the best checkpoint, and for when to stop."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any

from rota.errors import RotaError, unknown_name
from rota.settings import BY_METRIC, Settings
from rota.tasks import Task, is_lower_better


class BestTracker:
    """Keeps the best evaluation so far.

    Args:
        rule: "score": highest average score; "loss": lowest average loss; "last": the latest evaluation; "each":
            highest average score, and beside it for each task the evaluation with its own highest score;
            "metric:auc": highest (of losses and errors: lowest) average of that metric over the tasks that have it.
            Averages leave auxiliary tasks out; of equal evaluations the earlier one is better.
        patience: Evaluations without a new best one after which to stop; None to never stop early.
        decay_after: Evaluations without a new best one after which the learning rate falls, and again after as many
            more; None where it does not follow them.
        tasks: For rules by a metric: the tasks that count and have it.
    """

    def __init__(
        self,
        rule: str = "score",
        patience: int | None = None,
        tasks: Sequence[str] = (),
        decay_after: int | None = None,
    ) -> None:
        self.rule, self.patience, self.tasks, self.decay_after = rule, patience, tasks, decay_after
        self.falls = 0  # of the learning rate
        self.best_step: int | None = None
        self.best: dict[str, Any] | None = None
        self.last: dict[str, Any] | None = None
        self.last_step = 0
        self.last_is_whole = True
        self.waited = 0
        self.each: dict[str, dict[str, Any]] = {}  # of a task its best evaluation, and the step of that
        self.stops: str | None = None
        """Why the run ends here, if it does."""

    def hear(self, step: int, evaluation: dict[str, Any], reported: dict[str, Any], whole: bool) -> bool:
        """Take in an evaluation; say whether its model is to be kept, as the best one so far, or as one task's.

        Args:
            step: When.
            evaluation: On the rows by which models are compared.
            reported: What is said about the model; the same, or on more rows.
            whole: Whether that is on all rows.
        """
        self.last, self.last_step, self.last_is_whole = reported, step, whole
        own = self.rule == "each" and self._hear_each(step, evaluation)
        better = self.best is None or self.rule == "last" or self._value(evaluation) > self._value(self.best)
        if better:
            self.best_step, self.best, self.waited = step, evaluation, 0
        else:
            self.waited += 1
            self.falls += self.decay_after is not None and self.waited % self.decay_after == 0
        if self.patience is not None and self.waited >= self.patience:
            self.stops = "patience"
        return better or own

    def stop(self, reason: str) -> None:
        """A callback has ended the run."""
        self.stops = reason

    def _hear_each(self, step: int, evaluation: dict[str, Any]) -> bool:
        tasks = evaluation["tasks"].items()
        better = {t: own for t, own in tasks if t not in self.each or own["score"] > self.each[t]["dev"]["score"]}
        self.each.update({task: {"step": step, "dev": own} for task, own in better.items()})
        return bool(better)

    @property
    def kept_steps(self) -> set[int]:
        """The steps whose models are the best of at least one task."""
        best = set() if self.best_step is None else {self.best_step}
        return best | {own["step"] for own in self.each.values()}

    def _value(self, evaluation: dict[str, Any]) -> float:
        """What the rule looks at, the larger the better; None stands for a number that is none."""
        if self.rule == "loss":
            return -math.inf if evaluation["loss"] is None else -float(evaluation["loss"])
        if self.rule.startswith(BY_METRIC):
            return self._mean_metric(evaluation, self.rule.removeprefix(BY_METRIC))
        return -math.inf if evaluation["average"] is None else float(evaluation["average"])

    def _mean_metric(self, evaluation: dict[str, Any], name: str) -> float:
        own = [evaluation["tasks"][task]["metrics"] for task in self.tasks]
        each = [
            statistics.fmean(value for metric, value in metrics.items() if is_metric(metric, name)) for metrics in own
        ]
        return -statistics.fmean(each) if is_lower_better(name) else statistics.fmean(each)

    def state_dict(self) -> dict[str, Any]:
        return {
            "best_step": self.best_step,
            "best": self.best,
            "last": self.last,
            "last_step": self.last_step,
            "last_is_whole": self.last_is_whole,
            "waited": self.waited,
            "each": self.each,
            "stops": self.stops,
            "falls": self.falls,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.best_step, self.best, self.last = state["best_step"], state["best"], state["last"]
        self.waited, self.last_step, self.each = state["waited"], state["last_step"], dict(state["each"])
        self.last_is_whole, self.stops = state["last_is_whole"], state["stops"]
        self.falls = state.get("falls", 0)  # runs of earlier versions had none


def best_tracker(settings: Settings, tasks: Sequence[Task]) -> BestTracker:
    """What settings ask for."""
    decay_after = settings.decay_after if settings.schedule == "plateau" else None
    return BestTracker(settings.best, settings.patience, tasks_by_metric(settings.best, tasks), decay_after)


def tasks_by_metric(rule: str, tasks: Sequence[Task]) -> list[str]:
    """The tasks that count and have the metric of a rule; refuse a metric that none of them has."""
    if not rule.startswith(BY_METRIC):
        return []
    name = rule.removeprefix(BY_METRIC)
    counted = [task for task in tasks if task.counted]
    known = {task.name: {*task.kind.known_metrics, *task.kind.metric_names} for task in counted}
    able = [task for task in counted if name in known[task.name]]
    if not able:
        raise unknown_name("metric for the best checkpoint", name, set().union(*known.values()))
    found = [task.name for task in able if any(is_metric(own, name) for own in task.kind.metric_names)]
    if not found:
        raise RotaError(
            f"The best checkpoint by '{name}' expects a task that is measured by it. Found none. Add it to the metrics "
            f"of a task, such as per_task {able[0].name}.metrics={name},{able[0].kind.metric_names[0]}."
        )
    return found


def is_metric(found: str, name: str) -> bool:
    """Whether a metric is this one, or this one of a part of the rows, such as accuracy_matched."""
    return found == name or found.startswith(f"{name}_")
