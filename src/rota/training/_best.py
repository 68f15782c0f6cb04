"""One declared rule for the best checkpoint, and for when to stop."""

from __future__ import annotations

import math
from typing import Any, Literal


class BestTracker:
    """Keeps the best evaluation so far.

    Args:
        rule: "score": highest average score; "loss": lowest average loss; "last": the latest evaluation; "each":
            highest average score, and beside it for each task the evaluation with its own highest score.
            Averages leave auxiliary tasks out; of equal evaluations the earlier one is better.
        patience: Evaluations without a new best one after which to stop; None to never stop early.
    """

    def __init__(self, rule: Literal["score", "loss", "last", "each"] = "score", patience: int | None = None) -> None:
        self.rule, self.patience = rule, patience
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
        return -math.inf if evaluation["average"] is None else float(evaluation["average"])

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
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.best_step, self.best, self.last = state["best_step"], state["best"], state["last"]
        self.waited, self.last_step, self.each = state["waited"], state["last_step"], dict(state["each"])
        self.last_is_whole, self.stops = state["last_is_whole"], state["stops"]
