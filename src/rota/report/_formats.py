"""The report for other programs: CSV and JSON. The numbers are those of the page."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from rota.analysis import Cost, Group, GroupScore, Spread, method_of, named_averages, run_names, train_command
from rota.report._page import ReportPage
from rota.runlog import Run

HEADER = ("method", "seed", "split", "task", "metric", "value")
AVERAGE = "average"  # stands where the name of a task stands
SPLITS = ("dev", "test")


def as_csv(page: ReportPage) -> str:
    """A row for each number of the best checkpoint of each finished run."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    for group in page.groups:
        for run in group.finished:
            writer.writerows((group.name, run.plan.get("seed"), *row) for row in _numbers(run))
    return text.getvalue()


def as_json(page: ReportPage) -> str:
    """Groups with their scores, differences and costs, and the runs that they are made of."""
    found, costs = page.scores, {cost.group.name: cost for cost in page.costs}
    runs = [(group, run) for group in page.groups for run in group.runs]
    against = found.ranking.baseline
    content = {
        "split": found.ranking.split,
        "best": found.ranking.best.name if found.ranking.best else None,
        "baseline": against.name if against else None,
        "tasks": {
            task: {"auxiliary": auxiliary, "split": found.splits[task]} for task, auxiliary in found.tasks.items()
        },
        "groups": [_group(row, costs.get(row.group.name), found.ranking.split) for row in found.rows],
        "runs": [_run(*own, name) for own, name in zip(runs, run_names([run for _, run in runs]), strict=True)],
    }
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _numbers(run: Run) -> Iterator[tuple[str, str, str, float]]:
    """Split, task, metric and value; numbers that are none are left out."""
    for split in SPLITS:
        result: dict[str, Any] = run.summary["best"].get(split) or {"average": None, "tasks": {}}
        for task, own in result["tasks"].items():
            for metric, value in {"score": own.get("score"), **own.get("metrics", {})}.items():
                if value is not None:
                    yield split, task, metric, value
        if result["average"] is not None:
            yield split, AVERAGE, "score", result["average"]


def _group(row: GroupScore, cost: Cost | None, split: str) -> dict[str, Any]:
    group, difference = row.group, row.difference
    return {
        "name": group.name,
        "method": method_of(group.runs[0]),
        "best": row.best,
        "runs": len(group.runs),
        "finished": len(group.finished),
        "average": _spread(row.average),
        "dev": _spread(row.dev),
        "difference": None
        if difference is None
        else {
            "mean": _finite(difference.mean),
            "interval": [_finite(difference.low), _finite(difference.high)],
            "seeds": difference.n,
            "tells": difference.tells,
            "seeds_needed": row.seeds_needed,
        },
        "tasks": {task: _spread(over) for task, over in row.tasks.items()},
        "averages": {
            name: {**_spread(own.over), "entries": own.entries, "of": own.of}
            for name, own in named_averages(group, split).items()
        },
        "task_sigma": _finite(row.sigma.mean),
        "as_good_as_alone": float(np.mean(row.reached.counts)) if row.reached else None,
        "cost": None
        if cost is None
        else {
            **cost.counts,
            "forward_equivalents": cost.forward_equivalents,
            "relative": _finite(cost.relative),
            "seconds": cost.seconds,
        },
        "command": train_command(group.runs[0].plan),
    }


def _run(group: Group, run: Run, name: str) -> dict[str, Any]:
    scores: dict[str, dict[str, dict[str, float]]] = {}
    for split, task, metric, value in _numbers(run) if run.finished else ():
        scores.setdefault(split, {}).setdefault(task, {})[metric] = value
    ended = {"cost": run.summary["cost"], "seconds": run.summary["seconds"]} if run.finished else {}
    about = {"name": name, "group": group.name, "seed": run.plan.get("seed"), "finished": run.finished}
    return {**about, "scores": scores, **ended}


def _spread(over: Spread) -> dict[str, Any]:
    return {"mean": _finite(over.mean), "std": _finite(over.std), "n": over.n}


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
