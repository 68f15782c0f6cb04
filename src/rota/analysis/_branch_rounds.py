"""What rounds of branches did: α, weights and changes of each task, and the target's score. The diagnostics of paper
003."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rota.runlog import Run

LOSS_BEFORE, LOSS_AFTER, KEPT_TRY, JOINT_TRIES = "at α = 1", "at the tuned α", "kept joint try", "joint tries"
"""Lines that are no tasks."""


@dataclass(frozen=True)
class BranchRounds:
    """What the log of one run says about its rounds. A number that is none is absent.

    Args:
        target: The task that they are for.
        series: By what was measured ("alpha", "weight", "loss", "norm", "cosine", "score", "tries"), then by line (a
            task, or one of those that are none), then by round. A run has what its log knows.
        diverged: In how many rounds the branch of a task diverged.
        number: How many rounds there are.
    """

    target: str | None
    series: dict[str, dict[str, dict[int, float]]] = field(default_factory=dict)
    diverged: Counter[str] = field(default_factory=Counter)
    number: int = 0


def read_rounds(run: Run) -> BranchRounds:
    """Read the log, if `run.json` says that there are rounds in it."""
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
    """The task that the run is for; None where all count alike."""
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
