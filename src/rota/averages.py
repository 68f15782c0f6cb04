"""Which metrics are scores, and the averages over groups of tasks that papers print."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

LOWER_IS_BETTER = ("log_loss", "ece")
"""Metrics that are reported but are no part of a score."""

SCORE = ("",)
"""In place of the names of metrics: the score of the task, the mean of all of them."""

GROUPS: dict[str, dict[str, tuple[str, ...]]] = {
    "GLUE": {
        "cola": ("matthews",),
        "mnli": ("accuracy_matched", "accuracy_mismatched"),
        "mrpc": ("f1",),
        "qnli": ("accuracy",),
        "qqp": ("f1",),
        "rte": ("accuracy",),
        "sst2": ("accuracy",),
        "stsb": ("spearman",),
    },
    "SuperGLUE": dict.fromkeys(("boolq", "cb", "copa", "multirc", "record", "rte", "wic", "wsc"), SCORE),
    "MRQA": dict.fromkeys(("squad", "newsqa", "triviaqa", "searchqa", "hotpotqa", "naturalquestions"), ("f1",)),
    "NER": {"wnut2017": ("f1",)},
}
"""The groups of table 4 of Pilault et al. 2021, each with the metrics that count: an entry for each of them. The GLUE
entries are those of its tables 2, 5 and 9, and the 24 entries of all groups have the averages that it prints. It does
not say how the tasks of SuperGLUE (here: as that benchmark does) and MRQA (here: F1) are scored."""

GLUE_TASKS = ("cola", "mnli", "mrpc", "qnli", "qqp", "rte", "sst2", "stsb")
GLUE_METRICS = {
    **{"cola": ("matthews",), "mnli": ("accuracy_matched", "accuracy_mismatched"), "mrpc": ("accuracy", "f1")},
    **{"qqp": ("accuracy", "f1"), "stsb": ("pearson", "spearman")},
}
"""Metrics of these tasks as published; of the others the accuracy."""

ALL_GROUPS = "all four groups"
TWINS = {"rte": "superglue-rte"}  # the same rows under another name


class GroupAverage(NamedTuple):
    """The mean of the entries of a group that there are.

    >>> GroupAverage(0.75, entries=5, of=9).whole
    False
    """

    mean: float
    entries: int
    of: int

    @property
    def whole(self) -> bool:
        """Whether it is what the paper prints, and not one over a part of the tasks."""
        return self.entries == self.of


def is_lower_better(metric: str) -> bool:
    """Whether a metric, or one of a part of the rows, is lower for better models.

    >>> is_lower_better("log_loss_matched"), is_lower_better("auc")
    (True, False)
    """
    return any(metric == name or metric.startswith(f"{name}_") for name in LOWER_IS_BETTER)


def score_entries(result: Mapping[str, Any]) -> list[float | None]:
    """What a task contributes to task σ: each metric of which its score is the mean; the score where none was kept.

    >>> score_entries({"score": 0.8, "metrics": {"accuracy": 0.7, "f1": 0.9, "log_loss": 0.4}})
    [0.7, 0.9]
    """
    kept = [value for name, value in result.get("metrics", {}).items() if not is_lower_better(name)]
    return kept or [result.get("score")]


def group_averages(results: Mapping[str, Mapping[str, Any]]) -> dict[str, GroupAverage]:
    """Of each group with two entries or more, and of all groups together where none of their entries is missing.

    Args:
        results: Score and metrics of each task, as `evaluate` returns them.

    >>> group_averages({name: {"score": 0.75, "metrics": {"accuracy": 0.75}} for name in ("rte", "sst2", "wnli")})
    {'GLUE': GroupAverage(mean=0.75, entries=2, of=9)}
    """
    entries = {name: _entries(tasks, results) for name, tasks in GROUPS.items()}
    sizes = {name: sum(map(len, tasks.values())) for name, tasks in GROUPS.items()}
    found = {
        name: GroupAverage(sum(own) / len(own), len(own), sizes[name]) for name, own in entries.items() if len(own) > 1
    }
    every, total = [value for own in entries.values() for value in own], sum(sizes.values())
    if len(every) == total:
        found[ALL_GROUPS] = GroupAverage(sum(every) / total, total, total)
    return found


def glue_averages(results: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """GLUE averages by name, where all of their tasks are there and measured as published.

    `glue-001` is as Glover & Hokamp 2019 compute it (8 tasks, the mean of each task's metrics), `glue-002` as Pilault
    et al. 2021 do (9 entries, the matched and mismatched rows of MNLI apart).

    Args:
        results: Score and metrics of each task, as `evaluate` returns them.

    >>> glue_averages({"rte": {"score": 0.6, "metrics": {"accuracy": 0.6}}})
    {}
    """
    found = {}
    if all(task in results and _as_published(task, results[task]) for task in GLUE_TASKS):
        found["glue-001"] = sum(results[task]["score"] for task in GLUE_TASKS) / len(GLUE_TASKS)
    nine = group_averages(results).get("GLUE")
    if nine is not None and nine.whole:
        found["glue-002"] = nine.mean
    return found


def _entries(tasks: Mapping[str, tuple[str, ...]], results: Mapping[str, Mapping[str, Any]]) -> list[float]:
    """A task without one of its metrics has no entry: its average would be another one."""
    found: list[float] = []
    for task, metrics in tasks.items():
        own = results.get(task) or results.get(TWINS.get(task, "")) or {}
        values = [own.get("score") if name == "" else own.get("metrics", {}).get(name) for name in metrics]
        present = [float(value) for value in values if value is not None]
        found += present if len(present) == len(metrics) else []
    return found


def _as_published(task: str, result: Mapping[str, Any]) -> bool:
    """Whether its score is made of these metrics and no others."""
    return set(result["metrics"]) <= set(GLUE_METRICS.get(task, ("accuracy",)))
