"""Numbers of one run that claims are about, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rota.analysis._balance import sigma
from rota.analysis._checkpoint_scores import score
from rota.analysis._data_use import data_used
from rota.analysis._groups import counted_tasks
from rota.analysis._run_history import AVERAGE, read_history
from rota.errors import RotaError, unknown_name
from rota.runlog import INNER, SELECTION, STAGE_1, Run, SelectionRecord, read_record
from rota.search import Beliefs


@dataclass(frozen=True)
class RunMeasure:
    """How a number of a run is found and shown.

    Args:
        about: What it is.
        find: From the run, the split, and what stands after the colon of its name; None where there is none.
        unit: "percent", "updates" or "nats".
        argued: Whether something stands after the colon.

    >>> from rota.analysis import MEASURES
    >>> from rota.testing import written_run
    >>> MEASURES["share"].about
    'share of the updates that a task got'
    >>> MEASURES["share"].find(written_run({"rte": [0.5], "mnli": [0.6]}), "dev", "rte")
    0.5
    """

    about: str
    find: Callable[[Run, str, str], float | None]
    unit: str = "percent"
    argued: bool = True


def measured(run: Run, name: str, split: str) -> float | None:
    """A number of a run: `average`, `score:rte`, `metric:mrpc.f1`, `share:wnli`, …"""
    known, _, argument = name.partition(":")
    check_measure(name)
    return MEASURES[known].find(run, split, argument)


def unit_of(name: str) -> str:
    """What it is counted in."""
    return MEASURES[name.partition(":")[0]].unit


UNITS = {"percent": (100.0, 1), "updates": (1.0, 0), "nats": (1.0, 4), "factor": (1.0, 3)}
"""By name of the unit: what a number of a run is multiplied with, and how many digits are shown behind the point."""


def check_measure(name: str) -> None:
    """Refuse what is no measure."""
    known, _, argument = name.partition(":")
    if known not in MEASURES:
        raise unknown_name("measure", known, MEASURES)
    if MEASURES[known].argued != bool(argument):
        shape = f"{known}:NAME" if MEASURES[known].argued else known
        raise RotaError(f"A measure expects the form {shape}. Found '{name}'.")


def _average(run: Run, split: str, _: str) -> float | None:
    return score(run, split)


def _score(run: Run, split: str, task: str) -> float | None:
    return score(run, split, task)


def _scores(run: Run, split: str, names: str) -> float | None:
    """Of a group of tasks."""
    found = [score(run, split, task) for task in names.split("+")]
    present = [value for value in found if value is not None]
    return float(np.mean(present)) if present and len(present) == len(found) else None


def _metric(run: Run, split: str, name: str) -> float | None:
    task, _, metric = name.rpartition(".")
    found = (run.summary["best"].get(split) or {"tasks": {}})["tasks"].get(task, {}).get("metrics", {}).get(metric)
    return None if found is None else float(found)


def _mean_metric(run: Run, split: str, metric: str) -> float | None:
    """Of one metric, over the tasks that count."""
    found = [_metric(run, split, f"{task}.{metric}") for task in counted_tasks(run)]
    present = [value for value in found if value is not None]
    return float(np.mean(present)) if present and len(present) == len(found) else None


def _sigma(run: Run, split: str, _: str) -> float | None:
    return sigma(run, split)


def _share(run: Run, _: str, task: str) -> float | None:
    updates: dict[str, int] = run.summary["updates"]
    return float(updates.get(task, 0)) / max(1, sum(updates.values()))


def _rows(run: Run, _: str, task: str) -> float | None:
    """The share of the examples in updates that were rows of a task: where a batch has rows of several."""
    used = data_used(run)
    examples = {name: own.examples for name, own in used.items()}
    return examples.get(task, 0) / max(1, sum(examples.values()))


def _unique(run: Run, _: str, __: str) -> float | None:
    used = data_used(run).values()
    rows = sum(own.rows for own in used)
    return sum(own.unique for own in used) / rows if rows else None


def _minimum(run: Run, _: str, task: str) -> float | None:
    losses = read_history(run).loss.get(task, {})
    return float(min(losses, key=lambda step: (losses[step], step))) if losses else None


def _loss(run: Run, _: str, task: str) -> float | None:
    return min(read_history(run).loss.get(task, {}).values(), default=None)


def _mean_loss(run: Run, _: str, __: str) -> float | None:
    return min(read_history(run).loss.get(AVERAGE, {}).values(), default=None)


def _pooled_loss(run: Run, _: str, __: str) -> float | None:
    return min(read_history(run).pooled_loss.values(), default=None)


def _excess(run: Run, _: str, task: str) -> float | None:
    """Of a task above its own lowest loss, where that of all dev rows together is lowest."""
    history = read_history(run)
    pooled, own = history.pooled_loss, history.loss.get(task, {})
    at = min(pooled, key=lambda step: (pooled[step], step), default=None)
    return own[at] - min(own.values()) if at in own else None


def _apart(run: Run, split: str, _: str) -> float | None:
    found = [_minimum(run, split, task) for task in counted_tasks(run)]
    present = [step for step in found if step is not None]
    return max(present) - min(present) if present else None


def _weight(run: Run, _: str, name: str) -> float | None:
    """The probability that the method gave a task at its last evaluation, or at a share of the updates."""
    task, _, when = name.partition("@")
    mixture = read_history(run).mixture.get(task, {})
    if not mixture:
        return None
    wanted = float(when or 1) * run.summary["steps"]
    return mixture[min(mixture, key=lambda step: abs(step - wanted))]


def _reached(run: Run, _: str, level: str) -> float | None:
    """Updates until the average dev score was first this high; None where it never was."""
    scores = read_history(run).score.get(AVERAGE, {})
    return next((float(step) for step, value in sorted(scores.items()) if value >= float(level)), None)


def _alpha(run: Run, _: str, name: str) -> float | None:
    """Of a task in a round, counted from 1; the last one without a number."""
    task, _, number = name.partition("@")
    alphas = [line["alpha"].get(task) for line in run.lines("round") if "alpha" in line]
    wanted = int(number) if number else len(alphas)
    return float(alphas[wanted - 1]) if 0 < wanted <= len(alphas) and alphas[wanted - 1] is not None else None


def _selected(run: Run) -> tuple[dict[str, float], list[str] | None]:
    """The utilities by which stage 1 of AutoSeM chose, and whom; None where it has not chosen."""
    stage = run.folder / INNER / STAGE_1
    bandit = Run(stage if stage.is_dir() else run.folder)
    beliefs = Beliefs.of(bandit)
    if not (bandit.folder / SELECTION).is_file():
        return beliefs.averaged, None
    told = read_record(bandit.folder / SELECTION, SelectionRecord)
    last = dict(told).get("rule", {}).get("utility") == "last"
    return beliefs.last if last else beliefs.averaged, told["chosen"]


def _utility(run: Run, _: str, task: str) -> float | None:
    return _selected(run)[0].get(task)


def _ahead(run: Run, _: str, task: str) -> float | None:
    utilities = _selected(run)[0]
    others = [value for name, value in utilities.items() if name != task]
    return utilities[task] - max(others) if task in utilities and others else None


def _chosen(run: Run, _: str, task: str) -> float | None:
    """1 or 0; None where it was no candidate."""
    utilities, chosen = _selected(run)
    return None if chosen is None or task not in utilities else float(task in chosen)


MEASURES: dict[str, RunMeasure] = {
    "average": RunMeasure("average score of the tasks that count", _average, argued=False),
    "score": RunMeasure("score of a task", _score),
    "scores": RunMeasure("mean score of a group of tasks, such as cb+copa+wic", _scores),
    "metric": RunMeasure("a metric of a task, such as mrpc.f1", _metric),
    "mean": RunMeasure("a metric, averaged over the tasks that count", _mean_metric),
    "sigma": RunMeasure("standard deviation across the metrics of all tasks that count", _sigma, argued=False),
    "share": RunMeasure("share of the updates that a task got", _share),
    "rows": RunMeasure("share of the examples that were a task's", _rows),
    "unique": RunMeasure("share of the training rows that were in an update", _unique, argued=False),
    "minimum": RunMeasure("update at which a task's dev loss is lowest", _minimum, "updates"),
    "apart": RunMeasure("updates between the first and the last of these minima", _apart, "updates", argued=False),
    "loss": RunMeasure("lowest dev loss of a task", _loss, "nats"),
    "mean-loss": RunMeasure("lowest dev loss, averaged over the tasks that count", _mean_loss, "nats", argued=False),
    "pooled-loss": RunMeasure(
        "lowest dev loss, averaged over all dev rows of the tasks that count", _pooled_loss, "nats", argued=False
    ),
    "excess": RunMeasure("dev loss of a task above its lowest, where the pooled loss is lowest", _excess, "nats"),
    "weight": RunMeasure("probability of a task at a share of the updates, such as rte@0.5", _weight),
    "alpha": RunMeasure("α of a task in a round of αVIL, such as rte@1; the last for rte alone", _alpha, "factor"),
    "reached": RunMeasure("updates until the average dev score is this high", _reached, "updates"),
    "utility": RunMeasure("utility of a task by which stage 1 of AutoSeM chose", _utility),
    "ahead": RunMeasure("that utility above the highest of any other task", _ahead),
    "chosen": RunMeasure("how often stage 1 of AutoSeM chose a task", _chosen),
}
"""What a claim may be about, by name."""
