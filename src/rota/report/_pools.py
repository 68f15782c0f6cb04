"""What was picked from pools of candidates, and how much of the data that took. The diagnostics of paper 002."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from html import escape
from itertools import islice

import numpy as np

from rota.report._balance import Reached, reached, scores_alone, sigma
from rota.report._curves import panel
from rota.report._groups import Group, counted_tasks
from rota.report._history import History
from rota.report._numbers import Floats, mean_curve, spread
from rota.report._page import legend
from rota.report._palette import Look
from rota.report._plots import to_html
from rota.report._tables import method_cell, table
from rota.report._words import names
from rota.runlog import LOG, Run, read_lines

WINDOW = 10  # steps that a curve is smoothed over
POINTS = 300  # of a curve, at most: a long run must not make a large page

DRAWN = (
    '<p class="note">From left to right: examples of each task in the batch; how uncertain the model was of the '
    "candidates of each task (their mean, normalised); its dev score. Lines are means over seeds, bands reach from the "
    f"smallest to the largest. The first two are smoothed, over {WINDOW} steps or the distance between two points.</p>"
)
USED = (
    '<p class="note">Means ± standard deviations over the finished runs. <em>share</em>: of the examples in updates. '
    "<em>unique</em>: different training rows among them, of those there are. <em>epochs</em>: examples in updates for "
    "each row. <em>scored</em>: candidates that were looked at for each row. <em>first peak</em>: the first step at "
    f"which the task's examples in the batch, smoothed over {WINDOW} steps, are at a local maximum and no fewer than "
    "an equal share.</p>"
)
COMPARED = (
    '<p class="note">The same of all tasks together, for every method with several tasks. <em>task σ</em>: standard '
    "deviation across the dev scores at the best checkpoint of the tasks that count ({tasks}), in points; it says how "
    "unequal the tasks are, not how much seeds differ. {alone}</p>"
)
ALONE = (
    "<em>as good as alone</em>: how many tasks have a dev score no lower than where they were trained alone, of those "
    "that were (the mean over seeds; of several such methods, the best)."
)
COLUMNS = ("unique<small>% of rows</small>", "epochs", "scored<small>for each row</small>")
Looks = dict[str, Look]


@dataclass(frozen=True)
class Used:
    """What a run used of the training rows of one task; added up, of several.

    Args:
        rows: How many there are.
        examples: How many were in updates; a row counts each time.
        unique: Different rows among these.
        candidates: How many were scored for a pool; a row counts each time.
    """

    rows: int = 0
    examples: int = 0
    unique: int = 0
    candidates: int = 0

    def __add__(self, other: Used) -> Used:
        return Used(*(one + more for one, more in zip(astuple(self), astuple(other), strict=True)))

    def per_row(self, count: int) -> float:
        """Not a number where nobody knows how many rows there are."""
        return count / self.rows if self.rows else np.nan


@dataclass(frozen=True)
class Course:
    """What the log of one run says about pools and about the rows in its updates.

    Args:
        used: By task.
        steps, batch: All steps, and by task how many examples it had in each.
        pools, unsure: Steps that a pool was made at (one pool may serve several steps), and by task the mean
            uncertainty of its candidates; not a number where there is none.
    """

    used: dict[str, Used]
    steps: list[int]
    batch: dict[str, list[int]]
    pools: list[int]
    unsure: dict[str, list[float]]

    @property
    def total(self) -> Used:
        return sum(self.used.values(), Used())

    def first_peak(self, task: str) -> float | None:
        """The step of the task's first peak that is no lower than an equal share of the batch, b/T."""
        at = first_peak(self.batch[task], least=float(np.mean([*self.batch.values()]))) if self.steps else None
        return None if at is None else float(self.steps[at])


def pools(groups: Sequence[Group], histories: Mapping[str, Sequence[History]], methods: Looks, tasks: Looks) -> str:
    """Curves and accounts of the methods that pick from pools, then the accounts of all; nothing without a pool.

    Args:
        groups: Of all runs on the page.
        histories: Of the runs of each group.
        methods, tasks: How each looks.
    """
    several = [group for group in groups if len(group.runs[0].info["tasks"]) > 1]
    if not any(_makes_pools(run) for group in several for run in group.runs):
        return ""
    told, rows, drawn = "", [], Looks()
    alone = scores_alone(groups, "dev")
    for number, group in enumerate(several):
        courses = [read_course(run) for run in group.runs]
        finished = [course for run, course in zip(group.runs, courses, strict=True) if run.finished]
        if any(course.pools for course in courses):
            told += f"<h3>{methods[group.name].swatch()} {escape(group.name)}</h3>"
            told += _figures(group, courses, histories[group.name], tasks, f"pools-{number}")
            told += _by_task(finished) if finished else "<p>No run is finished, so there is no account yet.</p>"
            drawn |= {task: tasks[task] for task in group.runs[0].info["tasks"]}
        row = [method_cell(group, methods), *_account([course.total for course in finished])]
        row.append(_cell((sigma(run, "dev") for run in group.finished), 1, 100))
        rows.append([*row, _reached(reached(group, alone, "dev"))] if alone else row)
    counted = dict.fromkeys(task for group in several for task in counted_tasks(group.runs[0]))
    compared = COMPARED.format(tasks=names(counted), alone=ALONE if alone else "")
    header = ["method", *COLUMNS, "task σ<small>points</small>", *(["as good as alone"] if alone else [])]
    buttons = legend(drawn, {task: task for task in drawn})
    return DRAWN + USED + buttons + told + "<h3>All methods</h3>" + compared + table(header, rows)


def data_used(run: Run) -> dict[str, Used]:
    """How much of the training rows of each task was in updates, and how many were scored for pools; of any run.

    Steps that were left out, because their loss was not a number, are no updates.
    """
    return read_course(run).used


def read_course(run: Run) -> Course:
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
                part = parts.get(task, {"n": 0, "ids": ()})
                batch[task].append(part["n"])
                rows[task].update(part["ids"])
        elif line["kind"] == "pool":
            asked.append(line["step"])
            for task, values in unsure.items():
                found = line["tasks"].get(task, {"candidates": 0, "uncertainty": None})
                candidates[task] += found["candidates"]
                values.append(np.nan if found["uncertainty"] is None else found["uncertainty"])
    sizes = {task: about.get("rows", {}).get("train", 0) for task, about in known.items()}
    used = {task: Used(sizes[task], sum(batch[task]), len(rows[task]), candidates[task]) for task in known}
    return Course(used, steps, batch, asked, unsure)


def smoothed(values: Sequence[float] | Floats, window: int = WINDOW) -> Floats:
    """Means over a window around each value, cut off at the ends; values that are not a number are left out.

    >>> smoothed([0, 3, 6, 0], window=2).tolist()
    [0.0, 1.5, 4.5, 3.0]
    """
    values = np.asarray(values, dtype=np.float64)
    present = np.isfinite(values)
    totals = np.concatenate([[0.0], np.cumsum(np.where(present, values, 0.0))])
    counts = np.concatenate([[0], np.cumsum(present)])
    first = np.arange(len(values)) - window // 2
    start, end = np.maximum(first, 0), np.minimum(first + window, len(values))
    among = counts[end] - counts[start]
    return np.divide(totals[end] - totals[start], among, out=np.full(len(values), np.nan), where=among > 0)


def first_peak(counts: Sequence[float], least: float, window: int = WINDOW) -> int | None:
    """Where a count, smoothed, first reaches a local maximum of at least `least`.

    A maximum is higher than what comes before it and what comes after it, so the ends are none; where it stays at
    its height for a while, its beginning counts.

    >>> first_peak([0, 2, 0, 3, 3, 1], least=3, window=1)
    3
    """
    level = smoothed(counts, window)
    begins = np.flatnonzero(np.diff(level, prepend=np.nan) != 0)
    heights = level[begins]
    inner = heights[1:-1]
    peaks = np.flatnonzero((inner >= least) & (inner > heights[:-2]) & (inner > heights[2:]))
    return int(begins[1 + peaks[0]]) if len(peaks) else None


def _makes_pools(run: Run) -> bool:
    """Who makes pools makes one for the first step, so the beginning of the log tells."""
    path = run.folder / LOG
    kinds = (line["kind"] for line in (read_lines(path) if path.is_file() else ()))
    return "pool" in islice((kind for kind in kinds if kind in ("step", "pool")), 2)


def _figures(group: Group, courses: Sequence[Course], histories: Sequence[History], looks: Looks, name: str) -> str:
    """Figures 8 and 5 of paper 002 in one row: who is in the batch, who is uncertain, and what became of it."""
    tasks = list(group.runs[0].info["tasks"])
    stride = max(1, -(-max(run.plan["steps"] for run in group.runs) // POINTS))
    panels: dict[str, list[list[dict[int, float]]]] = {  # of each task, of each run
        "examples in the batch": [[_thin(c.steps, c.batch[task], stride) for c in courses] for task in tasks],
        "uncertainty of the candidates": [[_thin(c.pools, c.unsure[task], stride) for c in courses] for task in tasks],
        "dev score": [[history.score.get(task, {}) for history in histories] for task in tasks],
    }
    last = max((step for series in panels.values() for own in series for curve in own for step in curve), default=0)
    told = ""
    for number, (caption, series) in enumerate(panels.items()):
        if any(curve for own in series for curve in own):
            figure = panel(dict(zip(tasks, map(mean_curve, series), strict=True)), looks, 1.0)
            figure.update_xaxes(range=[0, last or 1])  # the same for all three, so that they can be compared
            drawn = to_html(figure, f"{name}-{number}")
            told += f'<figure class="panel"><figcaption>{caption}</figcaption>{drawn}</figure>'
    return f'<div class="panels">{told}</div>'


def _thin(steps: Sequence[int], values: Sequence[float], stride: int) -> dict[int, float]:
    """A smooth curve with one point in each stretch of `stride` steps, at the same steps in every run."""
    apart = max(1.0, float(np.mean(np.diff(steps)))) if len(steps) > 1 else 1.0
    smooth = smoothed(values, max(1, round(max(WINDOW, stride) / apart)))
    kept = np.unique(np.array(steps, dtype=np.int64) // stride, return_index=True)[1]
    return {steps[at]: float(smooth[at]) for at in kept if np.isfinite(smooth[at])}


def _by_task(courses: Sequence[Course]) -> str:
    """A row for each task, and one for all of them together."""
    totals = [course.total for course in courses]
    rows = []
    for task in courses[0].used:
        own = [course.used[task] for course in courses]
        share = [used.examples / total.examples for used, total in zip(own, totals, strict=True) if total.examples]
        peaks = [course.first_peak(task) for course in courses]
        rows.append([f'<th scope="row">{escape(task)}</th>', _cell(share, 1, 100), *_account(own), _cell(peaks, 0)])
    rows.append(['<th scope="row">all tasks</th>', "", *_account(totals), ""])
    return table(["task", "share<small>% of examples</small>", *COLUMNS, "first peak<small>step</small>"], rows)


def _account(used: Sequence[Used]) -> list[str]:
    return [
        _cell((own.per_row(own.unique) for own in used), 1, 100),
        _cell((own.per_row(own.examples) for own in used), 2),
        _cell((own.per_row(own.candidates) for own in used), 2),
    ]


def _reached(found: Reached) -> str:
    return f"{_cell(found.counts, 0 if len(found.counts) == 1 else 1)} of {found.tasks}" if found else "–"


def _cell(values: Iterable[float | None], digits: int, scale: float = 1.0) -> str:
    """Mean ± standard deviation over seeds, or a dash."""
    over = spread(scale * value for value in values if value is not None and np.isfinite(value))
    if not over.n:
        return "–"
    return f"{over.mean:,.{digits}f}" + (f" <small>± {over.std:,.{digits}f}</small>" if over.n > 1 else "")
