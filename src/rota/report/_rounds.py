"""What rounds of branches did: α, weights and changes of each task, and the target's score. The diagnostics of paper
003."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

import numpy as np

from rota.report._curves import panel
from rota.report._groups import Group
from rota.report._numbers import mean_curve, spread
from rota.report._page import legend
from rota.report._palette import GREY, Look
from rota.report._plots import to_html
from rota.report._scores import score
from rota.report._tables import method_cell, table
from rota.report._words import count, percent
from rota.runlog import Run

POINTS = 100  # of a curve, at most: many rounds must not make a large page
FEW = 6  # rounds up to which each has its tick
THICK = 3.5  # the line of the target
BEFORE, AFTER, KEPT, TRIES = "at α = 1", "at the tuned α", "kept joint try", "joint tries"
LINES = {
    BEFORE: Look(GREY, "dot"),
    AFTER: Look(GREY),
    KEPT: Look(GREY, "dash"),
    TRIES: Look(GREY),
}
"""Of those that are no tasks."""

PANELS = {
    "alpha": "α",
    "weight": "weight, as a share",
    "loss": f"dev loss <small>{LINES[BEFORE].swatch()} {BEFORE} {LINES[AFTER].swatch()} {AFTER}</small>",
    "norm": "length of δ",
    "cosine": "cosine of δ with the target's",
    "score": f"dev score <small>in percent, {LINES[KEPT].swatch()} {KEPT}</small>",
    "tries": "joint tries",
}
"""Captions, in the order of the panels. A run has those that its log knows."""

DRAWN = (
    '<p class="note">Rounds are numbered from 0. Lines are means over seeds, bands reach from the smallest to the '
    "largest; the line of the target is thick. <em>weight</em>: of the task's loss after the round, as a share of all "
    "weights. "
)
ALPHAVIL = (
    "<em>α</em>: how much to take over of δ, the change that a branch with this task alone made to the parameters "
    "(1: all of it); tuned on the target's dev rows. <em>dev loss</em>: of the target, with every α at 1 and with "
    "those that were tuned. <em>length</em>: ‖δ‖. <em>cosine</em>: 1 where a task pulls with the target, below 0 where "
    "against it. "
)
DIW = (
    "<em>dev score</em>: of the target, after a branch with this task alone, and after the joint try that was kept. "
    "<em>joint tries</em>: how often the round trained all tasks together, with other weights each time. "
)
TABLES = (
    '<p class="note">Scores of the target in percent at the best checkpoint, over the seeds of finished runs. Rounds '
    "learn from the target's dev rows, so dev scores flatter their methods. {each}</p>"
)
EACH = "Methods without a target have the checkpoint that was best for this task."
SPLITS = ("dev", "test")
Looks = dict[str, Look]
Lines = dict[str, dict[int, float]]


@dataclass(frozen=True)
class Rounds:
    """What the log of one run says about its rounds. A number that is none is absent.

    Args:
        target: The task that they are for.
        panels: By panel, then by line (a task, or one of `LINES`), then by round.
        diverged: In how many rounds the branch of a task diverged.
        number: How many rounds there are.
    """

    target: str | None
    panels: dict[str, Lines] = field(default_factory=dict)
    diverged: Counter[str] = field(default_factory=Counter)
    number: int = 0


def rounds(groups: Sequence[Group], methods: Looks, tasks: Looks) -> str:
    """Curves of the methods that work in rounds, then the target's scores with all methods; nothing without a round.

    Args:
        groups: Of all runs on the page.
        methods, tasks: How each looks.
    """
    courses = {group.name: [read_rounds(run) for run in group.runs] for group in groups}
    told, drawn = "", Looks()
    for place, group in enumerate(groups):
        own = courses[group.name]
        if any(course.number for course in own):
            told += f"<h3>{methods[group.name].swatch()} {escape(group.name)}{_aim(own[0].target)}</h3>"
            told += _figures(own, tasks, f"rounds-{place}") + _diverged(own)
            drawn |= {task: tasks[task] for task in group.runs[0].info["tasks"]}
    if not told:
        return ""
    seen = {name for own in courses.values() for course in own for name in course.panels}
    note = DRAWN + (ALPHAVIL if "alpha" in seen else "") + (DIW if "tries" in seen else "")
    return f"{note}</p>" + legend(drawn, {task: task for task in drawn}) + told + _tables(groups, methods)


def read_rounds(run: Run) -> Rounds:
    """Read the log, if `run.json` says that there are rounds in it."""
    found = Rounds(target_of(run))
    lines = run.lines("round") if run.info.get("trial") else []
    for line in lines:
        for name, values in _values(line).items():
            for key, value in values.items():
                if value is not None and np.isfinite(value):
                    found.panels.setdefault(name, {}).setdefault(key, {})[line["round"]] = float(value)
        found.diverged.update(line.get("diverged") or ())
    return replace(found, number=len(lines))


def target_of(run: Run) -> str | None:
    """The task that the run is for; None where all count alike."""
    found = run.plan.get("target") or (run.info.get("trial") or {}).get("target")
    return None if found is None else str(found)


def _values(line: Mapping[str, Any]) -> dict[str, dict[str, float | None]]:
    """By panel, then by line. αVIL has α and what belongs to it, DIW has tries."""
    weights = {task: weight for task, weight in line["weights"].items() if weight is not None}
    total = sum(weights.values())
    values = {"weight": {task: weight / total for task, weight in weights.items()} if total > 0 else {}}
    if "alpha" in line:
        others = {task: value for task, value in line["cosine"].items() if task != line["target"]}  # its own is 1
        loss = line.get("loss") or {}
        values |= {"alpha": line["alpha"], "norm": line["norm"], "cosine": others}
        values |= {"loss": {BEFORE: loss.get("before"), AFTER: loss.get("after")}}
    if "tries" in line:
        kept = None if line["kept"] is None else line["tries"][line["kept"]]
        percents = {task: None if own is None else 100 * own for task, own in {**line["scores"], KEPT: kept}.items()}
        values |= {"score": percents, "tries": {TRIES: len(line["tries"])}}
    return values


def _figures(courses: Sequence[Rounds], tasks: Looks, name: str) -> str:
    """Figure 3 of paper 003 (α and weights), then what they come from and what came of them."""
    target = courses[0].target
    looks = LINES | {task: replace(look, width=THICK) if task == target else look for task, look in tasks.items()}
    series = [course.panels for course in courses]
    last = max(
        (at for panels in series for lines in panels.values() for curve in lines.values() for at in curve), default=0
    )
    stride = -(-(last + 1) // POINTS)
    told = ""
    for number, (key, caption) in enumerate(PANELS.items()):
        lines = dict.fromkeys(line for panels in series for line in panels.get(key, {}))
        if not lines:
            continue
        curves = {
            line: mean_curve([_thin(panels.get(key, {}).get(line, {}), stride) for panels in series]) for line in lines
        }
        figure = panel(curves, looks, 1.0)
        if last:
            figure.update_xaxes(range=[0, last])  # the same for all, so that they can be compared
        if last <= FEW:
            figure.update_xaxes(dtick=1)
        if key == "alpha":
            figure.add_hline(y=1, line={"color": GREY, "width": 1, "dash": "dot"})
        if key in ("norm", "tries"):
            figure.update_yaxes(rangemode="tozero")
        drawn = to_html(figure, f"{name}-{number}")
        told += f'<figure class="panel"><figcaption>{caption}</figcaption>{drawn}</figure>'
    return f'<div class="panels">{told}</div>'


def _thin(curve: Mapping[int, float], stride: int) -> dict[int, float]:
    """Every so many rounds, the same in every run; not smoothed, for each round stands for itself."""
    return {at: value for at, value in curve.items() if at % stride == 0}


def _aim(target: str | None) -> str:
    return "" if target is None else f" <small>target: {escape(target)}</small>"


def _diverged(courses: Sequence[Rounds]) -> str:
    found = sum((course.diverged for course in courses), Counter[str]())
    if not found:
        return ""
    told = ", ".join(f"{escape(task)} in {times}" for task, times in sorted(found.items()))
    everywhere = count(sum(course.number for course in courses), "round")
    return f'<p class="note">Training diverged: {told} of {everywhere}.</p>'


def _tables(groups: Sequence[Group], methods: Looks) -> str:
    """Tables 1 and 2 of paper 003: for each target, every method that has a checkpoint for it."""
    targets = dict.fromkeys(target for group in groups if (target := target_of(group.runs[0])) is not None)
    told, borrowed = "", False
    for target in targets:
        own = [group for group in groups if _has_checkpoint(group, target)]
        told += f"<h3>Scores of {escape(target)}</h3>{_table(own, target, methods)}"
        borrowed |= any(target_of(group.runs[0]) is None and len(group.runs[0].info["tasks"]) > 1 for group in own)
    return TABLES.format(each=EACH if borrowed else "") + told if told else ""


def _table(groups: Sequence[Group], target: str, methods: Looks) -> str:
    """Smallest, largest, mean and deviation over seeds; the highest mean stands out."""
    found = {
        split: [
            [value for run in group.finished if (value := _score(run, split, target)) is not None] for group in groups
        ]
        for split in SPLITS
    }
    splits = [split for split in SPLITS if any(found[split])]
    if not splits:
        return "<p>No run is finished with a score, so there is nothing to compare yet.</p>"
    top = {split: max(spread(values).mean for values in found[split] if values) for split in splits}
    header = [f"{what}<small>{split}</small>" for split in splits for what in ("min", "max", "mean", "std")]
    rows = []
    for place, group in enumerate(groups):
        row = [method_cell(group, methods)]
        for split in splits:
            values = found[split][place]
            over = spread(values)
            mean = percent(over.mean)
            row += [percent(min(values, default=np.nan)), percent(max(values, default=np.nan))]
            row += [f"<strong>{mean}</strong>" if over.mean == top[split] else mean, percent(over.std)]
        rows.append([*row, f"{len(group.finished)}"])
    return table(["method", *header, "runs"], rows)


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
