"""One declared rule for the best checkpoint, and for when to stop."""

from __future__ import annotations

import math
from typing import Any, Literal


class Judge:
    """Keeps the best evaluation so far.

    Args:
        rule: "score": highest average score; "loss": lowest average loss; "last": the latest evaluation.
            Averages leave auxiliary tasks out; of equal evaluations the earlier one is better.
        patience: Evaluations without a new best one after which to stop; None to never stop early.
    """

    def __init__(self, rule: Literal["score", "loss", "last"] = "score", patience: int | None = None) -> None:
        self.rule, self.patience = rule, patience
        self.best_step: int | None = None
        self.best: dict[str, Any] | None = None
        self.last: dict[str, Any] | None = None
        self.waited = 0

    def is_best(self, step: int, evaluation: dict[str, Any]) -> bool:
        """Hear an evaluation; say whether it is the best so far."""
        self.last = evaluation
        better = self.best is None or self.rule == "last" or self._value(evaluation) > self._value(self.best)
        if better:
            self.best_step, self.best, self.waited = step, evaluation, 0
        else:
            self.waited += 1
        return better

    def _value(self, evaluation: dict[str, Any]) -> float:
        """What the rule looks at, the larger the better; None stands for a number that is none."""
        if self.rule == "loss":
            return -math.inf if evaluation["loss"] is None else -float(evaluation["loss"])
        return -math.inf if evaluation["average"] is None else float(evaluation["average"])

    @property
    def stops(self) -> bool:
        return self.patience is not None and self.waited >= self.patience

    def state_dict(self) -> dict[str, Any]:
        return {"best_step": self.best_step, "best": self.best, "last": self.last, "waited": self.waited}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.best_step, self.best, self.last = state["best_step"], state["best"], state["last"]
        self.waited = state["waited"]
