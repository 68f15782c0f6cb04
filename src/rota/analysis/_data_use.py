"""How much of the training rows a run used, and what was in its pools of candidates."""

from __future__ import annotations

from collections import Counter
from dataclasses import astuple, dataclass
from itertools import islice

import numpy as np

from rota.analysis._peaks import first_peak
from rota.runlog import LOG, Run, read_lines


@dataclass(frozen=True)
class RowsUsed:
    """What a run used of the training rows of one task; added up, of several.

    Args:
        rows: How many there are.
        examples: How many were in updates; a row counts each time.
        unique: Different rows among these.
        candidates: How many were scored for a pool; a row counts each time.

    >>> used = RowsUsed(rows=100, examples=150, unique=90) + RowsUsed(rows=100, examples=50, unique=30)
    >>> used.per_row(used.examples), used.per_row(used.unique)  # epochs; share of the rows that was seen
    (1.0, 0.6)
    """

    rows: int = 0
    examples: int = 0
    unique: int = 0
    candidates: int = 0

    def __add__(self, other: RowsUsed) -> RowsUsed:
        return RowsUsed(*(one + more for one, more in zip(astuple(self), astuple(other), strict=True)))

    def per_row(self, count: int) -> float:
        """Not a number where nobody knows how many rows there are."""
        return count / self.rows if self.rows else np.nan


@dataclass(frozen=True)
class PoolCourse:
    """What the log of one run says about pools and about the rows in its updates.

    Args:
        used: By task.
        steps, batch: All steps, and by task how many examples it had in each.
        pools, unsure: Steps that a pool was made at (one pool may serve several steps), and by task the mean
            uncertainty of its candidates; not a number where there is none.
    """

    used: dict[str, RowsUsed]
    steps: list[int]
    batch: dict[str, list[int]]
    pools: list[int]
    unsure: dict[str, list[float]]

    @property
    def total(self) -> RowsUsed:
        return sum(self.used.values(), RowsUsed())

    def first_peak(self, task: str) -> float | None:
        """The step of the task's first peak that is no lower than an equal share of the batch, b/T."""
        at = first_peak(self.batch[task], least=float(np.mean([*self.batch.values()]))) if self.steps else None
        return None if at is None else float(self.steps[at])


def data_used(run: Run) -> dict[str, RowsUsed]:
    """How much of the training rows of each task was in updates, and how many were scored for pools; of any run.

    Steps that were left out, because their loss was not a number, are no updates.

    >>> from rota.testing import written_run
    >>> data_used(written_run({"rte": [0.6], "mnli": [0.7]}, every=6))["rte"]
    RowsUsed(rows=100, examples=6, unique=6, candidates=0)
    """
    return read_course(run).used


def read_course(run: Run) -> PoolCourse:
    """Read the log once, line by line; row numbers are forgotten once they are counted."""
    known = run.info["tasks"]
    steps, asked, candidates = list[int](), list[int](), Counter[str]()
    batch, unsure = {task: list[int]() for task in known}, {task: list[float]() for task in known}
    rows = {task: set[int]() for task in known}
    path = run.folder / LOG
    for line in read_lines(path) if path.is_file() else ():
        if line["kind"] == "step":
            steps.append(line["step"])
            parts = {line["task"]: line} if line.get("task") is not None else line["tasks"]
            for task in known:
                part = parts.get(task)
                batch[task].append(part["n"] if part else 0)
                if part:
                    rows[task].update(run.row_ids(task, part))
        elif line["kind"] == "pool":
            asked.append(line["step"])
            for task, values in unsure.items():
                found = line["tasks"].get(task, {"candidates": 0, "uncertainty": None})
                candidates[task] += found["candidates"]
                values.append(np.nan if found["uncertainty"] is None else found["uncertainty"])
    sizes = {task: about.get("rows", {}).get("train", 0) for task, about in known.items()}
    used = {task: RowsUsed(sizes[task], sum(batch[task]), len(rows[task]), candidates[task]) for task in known}
    return PoolCourse(used, steps, batch, asked, unsure)


def makes_pools(run: Run) -> bool:
    """Who makes pools makes one for the first step, so the beginning of the log tells."""
    path = run.folder / LOG
    kinds = (line["kind"] for line in (read_lines(path) if path.is_file() else ()))
    return "pool" in islice((kind for kind in kinds if kind in ("step", "pool")), 2)
