"""Tables 1 and 2 of Kourdis et al. 2024: scores of a target with every method that has a checkpoint for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rota.analysis._branch_rounds import target_of
from rota.analysis._checkpoint_scores import score
from rota.analysis._groups import Group
from rota.runlog import Run

SPLITS = ("dev", "test")


@dataclass(frozen=True)
class TargetScores:
    """Scores of a target.

    Args:
        target: The task.
        groups: Those that have a checkpoint for it.
        values: By split, then by the name of the group, the scores of its finished runs. Splits in which nobody has a
            score are left out.
        borrowed: Whether a group has no target but several tasks: its checkpoint is the one that was best for this one.

    >>> from rota.analysis import group_runs
    >>> from rota.testing import written_run
    >>> [table] = target_scores(group_runs([written_run({"rte": [0.5], "mnli": [0.7]}, plan={"target": "rte"})]))
    >>> table.target, table.borrowed
    ('rte', False)
    """

    target: str
    groups: list[Group]
    values: dict[str, dict[str, list[float]]]
    borrowed: bool


def target_scores(groups: Sequence[Group]) -> list[TargetScores]:
    """One table for each target that a run has.

    >>> from rota.analysis import group_runs
    >>> from rota.testing import written_run
    >>> for_rte = written_run({"rte": [0.6], "mnli": [0.7]}, "diw", plan={"target": "rte"})
    >>> [table] = target_scores(group_runs([for_rte, written_run({"rte": [0.5]}, "alone")]))
    >>> table.values
    {'dev': {'diw': [0.6], 'alone': [0.5]}}
    """
    targets = dict.fromkeys(target for group in groups if (target := target_of(group.runs[0])) is not None)
    found = []
    for target in targets:
        own = [group for group in groups if _has_checkpoint(group, target)]
        values = {
            split: {
                group.name: [value for run in group.finished if (value := _score(run, split, target)) is not None]
                for group in own
            }
            for split in SPLITS
        }
        known = {split: by_group for split, by_group in values.items() if any(by_group.values())}
        borrowed = any(target_of(group.runs[0]) is None and len(group.runs[0].info["tasks"]) > 1 for group in own)
        found.append(TargetScores(target, own, known, borrowed))
    return found


def _has_checkpoint(group: Group, target: str) -> bool:
    """Whether its runs are for this task, know nothing else, or kept what was best for each."""
    run = group.runs[0]
    aim = target_of(run)
    if aim is not None or list(run.info["tasks"]) == [target]:
        return aim in (None, target)
    return any(_each(own, target) for own in group.finished)


def _score(run: Run, split: str, target: str) -> float | None:
    """Of the checkpoint that is best for the target."""
    if target_of(run) is not None or not (own := _each(run, target)):
        return score(run, split, target)
    found = (own.get(split) or {}).get("score")
    return None if found is None else float(found)


def _each(run: Run, task: str) -> dict[str, Any]:
    """The checkpoint of a task of its own, where the run kept one for each."""
    return (run.summary["best"].get("each") or {}).get(task) or {}
