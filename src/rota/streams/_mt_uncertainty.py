"""MT-Uncertainty: the rows about which the model is most unsure, whatever their task (CA-MTL)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import torch  # noqa: F401 - for the example
from torch import Tensor

from rota.errors import RotaError, unknown_name
from rota.streams._selectors import Numbers, Pick, Selector, numbers
from rota.tasks import Kind, Regression, RowStats, Task


class MTUncertainty(Selector):
    """The candidates about which the model is most unsure, whatever their task (MT-Uncertainty of CA-MTL):

        e = H / log C of each candidate, ēₜ its mean over the candidates of task t
        "code"    e · ēₜ / maxₜ ēₜ    (the released code, by default: very unsure tasks are preferred)
        "paper"   e                   (what is printed; its division by one number for all changes no ranking)
        "prior"   H / H(p_t)          (ours; p_t has the shares of the classes in the training rows of task t)

    The entropy of rows with several decisions is their mean. Equal scores: the first task, then the first row.

    Args:
        score: "code", "paper" or "prior". A task with skewed classes never has the entropy of a uniform guess, and a
            noisy one never less than that of its classes: "prior" compares each with a model that knows the shares of
            the classes and nothing else. Tasks without classes keep e.
        regression: What tasks whose answer is a number do, since they have no entropy. "quantile": such a candidate
            gets the score at a random place in the ranking of all others, so that its task gets the share that random
            picking would give it. "variance": at its own place among its task's candidates by the variance of 8 passes
            with dropout in the head. "loss": likewise by its loss. "proxy:TASK": the scores of that task's candidates,
            one by one, as the released code does with STS-B and MRPC.
        cap: Most rows of one task in a batch, in multiples of an equal share b / T; None: no limit. A guard against a
            task that never gets certain, because there is nothing to learn.

    >>> select = MTUncertainty(score="paper")
    >>> sure, unsure = torch.tensor([0.1, 0.2]), torch.tensor([0.9, 0.15])
    >>> facts = {"rte": {"uncertainty": sure}, "cola": {"uncertainty": unsure}}
    >>> select.pick(facts, 2, np.random.default_rng(0))
    [('cola', 0), ('rte', 1)]

    Reference: Pilault, Elhattami & Pal, "Conditionally Adaptive Multi-Task Learning", algorithm 1.

    Where this differs from the released code: rows are scored without dropout, unless a stream has `scoring_dropout`
    (there it is on, but in the first batch and after each evaluation); tasks whose answers are numbers have a rule
    (there, a constant score leaves them untrained unless MRPC is among the tasks).
    """

    name = "mt-uncertainty"
    PASSES = 8

    def __init__(
        self, score: Literal["code", "paper", "prior"] = "code", regression: str = "quantile", cap: float | None = None
    ) -> None:
        known = ("quantile", "variance", "loss")
        if regression not in known and not regression.startswith("proxy:"):
            raise unknown_name("rule for regression", regression, [*known, "proxy:TASK"])
        if cap is not None and not cap >= 1:
            raise RotaError(f"The cap of a task expects 1 (an even share) or more. Found {cap}.")
        self.score, self.regression, self.cap = score, regression, cap
        self._prior: dict[str, float] = {}  # H(p_t) / log C

    def passes(self, kind: Kind) -> int | None:
        return self.PASSES if self.regression == "variance" and isinstance(kind, Regression) else None

    def measure(self, kind: Kind, outputs: Tensor, labels: Tensor) -> RowStats:
        if not isinstance(kind, Regression):
            return {"uncertainty": kind.uncertainty(outputs[None], labels)}
        if self.regression == "variance":
            return {"order": kind.uncertainty(outputs, labels)}
        return {"order": kind.losses(outputs, labels)}

    def pick(self, found: Mapping[str, RowStats], size: int, rng: np.random.Generator) -> list[Pick]:
        scores = self.scores(found, rng)
        tasks = list(scores)
        places = [(task, place) for task in tasks for place in range(len(scores[task]))]
        ranking = np.argsort(-np.concatenate([scores[task] for task in tasks]), kind="stable")
        most = math.inf if self.cap is None else math.ceil(self.cap * size / len(tasks))
        taken = dict.fromkeys(tasks, 0)
        picked, passed = list[Pick](), list[Pick]()
        for number in ranking:
            task = places[number][0]
            (picked if taken[task] < most else passed).append(places[number])
            taken[task] += 1
        return [*picked, *passed][:size]  # a small pool may not fill the batch otherwise

    def scores(self, found: Mapping[str, RowStats], rng: np.random.Generator) -> dict[str, Numbers]:
        """The score of each candidate."""
        e = {task: numbers(row_stats["uncertainty"]) for task, row_stats in found.items() if "uncertainty" in row_stats}
        if self.score == "prior":
            e = {task: own / self._prior.get(task, 1.0) for task, own in e.items()}
        means = {task: float(own.mean()) for task, own in e.items() if len(own)}
        highest = max(means.values(), default=0.0)
        if self.score == "code" and highest > 0:
            e = {task: own * (means[task] / highest) if len(own) else own for task, own in e.items()}
        return {task: e[task] if task in e else self._placed(row_stats, e, rng) for task, row_stats in found.items()}

    def _placed(self, row_stats: RowStats, others: Mapping[str, Numbers], rng: np.random.Generator) -> Numbers:
        """Scores of candidates whose answer is a number, from those of all others."""
        order = numbers(row_stats["order"])
        if self.regression.startswith("proxy:"):
            proxy = others.get(self.regression.removeprefix("proxy:"), order[:0])[: len(order)]
            return np.concatenate([proxy, np.zeros(len(order) - len(proxy))])
        if self.regression == "quantile":
            place = rng.random(len(order))
        else:
            place = (order.argsort(kind="stable").argsort(kind="stable") + 0.5) / len(order)
        pool = np.concatenate([*others.values()]) if others else np.zeros(1)
        return np.quantile(pool, place)

    def prepare(self, tasks: Sequence[Task]) -> None:
        if self.score == "prior":
            self._prior = {task.name: _prior_entropy(task) for task in tasks}

    def check(self, tasks: Sequence[Task]) -> None:
        for task in tasks:
            classes = getattr(task.kind, "classes", 2)
            if classes < 2:
                raise RotaError(
                    f"MT-Uncertainty expects tasks with two classes or more. Found {classes} in '{task.name}', of "
                    f"which the model is always certain. Leave it out."
                )
        others = [task.name for task in tasks if not isinstance(task.kind, Regression)]
        if not others:
            raise RotaError(
                "MT-Uncertainty expects a task with classes beside those whose answers are numbers. Found none. Use "
                "another method."
            )
        if self.regression.startswith("proxy:") and any(isinstance(task.kind, Regression) for task in tasks):
            proxy = self.regression.removeprefix("proxy:")
            if proxy not in others:
                raise unknown_name("task with classes to stand for regression", proxy, others)

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "score": self.score, "regression": self.regression, "cap": self.cap}


def _prior_entropy(task: Task) -> float:
    """The entropy of the classes of the training rows, as a share of that of a uniform guess; 1 where there are no
    classes, or only one of them, which would be no measure."""
    classes = getattr(task.kind, "classes", None)
    if classes is None:
        return 1.0
    return (task.kind.trivial_loss(task.splits["train"].labels()) or 0.0) / math.log(classes) or 1.0
