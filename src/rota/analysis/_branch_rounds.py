"""α, weights and changes of each task in rounds of branches, with the target's score (Kourdis et al. 2024)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rota.runlog import Run

# Lines that are no tasks.
LOSS_BEFORE = "at α = 1"
"""The line of the target's dev loss before α is tuned."""
LOSS_AFTER = "at the tuned α"
"""The line of the target's dev loss after it."""
KEPT_TRY = "kept joint try"
"""The line of the score that a round of DIW ended with."""
JOINT_TRIES = "joint tries"
"""The line of how many joint tries a round of DIW took."""


@dataclass(frozen=True)
class BranchRounds:
    """What the log of one run says about its rounds. A number that is none is absent.

    Args:
        target: The task that they are for.
        series: By what was measured ("alpha", "weight", "loss", "norm", "cosine", "score", "tries"), then by line (a
            task, or one of those that are none), then by round. A run has what its log knows.
        diverged: In how many rounds the branch of a task diverged.
        number: How many rounds there are.

    >>> found = BranchRounds("rte", series={"weight": {"rte": {0: 0.5, 1: 0.8}, "mnli": {0: 0.5, 1: 0.2}}}, number=2)
    >>> found.series["weight"]["rte"][1]  # after the second round
    0.8
    """

    target: str | None
    series: dict[str, dict[str, dict[int, float]]] = field(default_factory=dict)
    diverged: Counter[str] = field(default_factory=Counter)
    number: int = 0


def read_rounds(run: Run) -> BranchRounds:
    """Read the log, if `run.json` says that there are rounds in it.

    >>> from rota.testing import written_run
    >>> line = {"kind": "round", "step": 40, "round": 0, "method": "alphavil", "target": "rte"}
    >>> line |= {"weights": {"rte": 3.0, "mnli": 1.0}, "diverged": ["wnli"]}
    >>> run = written_run({"rte": [0.6], "mnli": [0.7]}, lines=[line], picking={"trial": {"target": "rte"}})
    >>> rounds = read_rounds(run)
    >>> rounds.target, rounds.series["weight"], dict(rounds.diverged)
    ('rte', {'rte': {0: 0.75}, 'mnli': {0: 0.25}}, {'wnli': 1})
    """
    found = BranchRounds(target_of(run))
    lines = run.lines("round") if run.trial else []
    for line in lines:
        for name, values in _values(line).items():
            for key, value in values.items():
                if value is not None and np.isfinite(value):
                    found.series.setdefault(name, {}).setdefault(key, {})[line["round"]] = float(value)
        found.diverged.update(line.get("diverged") or ())
    return replace(found, number=len(lines))


def target_of(run: Run) -> str | None:
    """The task that the run is for; None where all count alike.

    >>> from rota.testing import written_run
    >>> run = written_run({"rte": [0.6], "mnli": [0.7]}, method="alpha-vil", plan={"target": "rte"})
    >>> target_of(run)
    'rte'
    """
    found = run.plan.get("target") or run.trial.get("target")
    return None if found is None else str(found)


def _values(line: Mapping[str, Any]) -> dict[str, dict[str, float | None]]:
    """By what was measured, then by line. αVIL has α and what belongs to it, DIW has tries."""
    weights = {task: weight for task, weight in line["weights"].items() if weight is not None}
    total = sum(weights.values())
    values = {"weight": {task: weight / total for task, weight in weights.items()} if total > 0 else {}}
    if "alpha" in line:
        others = {task: value for task, value in line["cosine"].items() if task != line["target"]}  # its own is 1
        loss = line.get("loss") or {}
        values |= {"alpha": line["alpha"], "norm": line["norm"], "cosine": others}
        values |= {"loss": {LOSS_BEFORE: loss.get("before"), LOSS_AFTER: loss.get("after")}}
    if "tries" in line:
        kept = None if line["kept"] is None else line["tries"][line["kept"]]
        scores = {**line["scores"], KEPT_TRY: kept}
        percents = {task: None if own is None else 100 * own for task, own in scores.items()}
        values |= {"score": percents, "tries": {JOINT_TRIES: len(line["tries"])}}
    return values
