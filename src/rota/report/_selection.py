"""Which tasks a bandit tried for a target, and what it came to believe about them: stage 1 of paper 004."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from math import lgamma
from pathlib import Path
from typing import Any

import numpy as np

from rota.report._curves import panel
from rota.report._groups import group_runs, method_of, tasks_of
from rota.report._numbers import Floats, mean_curve, spread
from rota.report._page import legend
from rota.report._palette import GREY, Look, task_looks
from rota.report._plots import dress, label, plain, plotly_objects, shorter, to_html
from rota.report._tables import table
from rota.runlog import INNER, LOG, RUN, SELECTION, STAGE_1, Run, read_lines
from rota.search import Beliefs

BANDIT = "thompson"
SHOWN = 3  # runs of a group that are drawn
POINTS = 200  # of a density
MARKS = 500  # rounds that are drawn, at most: many must not make a large page
THICK, THIN = 3.5, 1.5  # lines of the target and of the others
DENSITY, ROW, MARGINS = 150, 18, {"r": 14, "t": 6, "b": 30}  # heights and margins in pixels
LETTERS = 12  # of a task's name beside its row
TICK = 0.4  # of the distance between two rows
DRAWN = (
    '<p class="note">A bandit gives one task after the other a round of a few updates and remembers after whose rounds '
    "the target's dev score did not fall (or, if its option <code>reward</code> says so, rose). <em>utility</em>: how "
    "often a round of the task does good. From left to right: what is believed about the utilities at the end, with "
    "the interval that holds the central 80 % and a mark at the mean; whose turn it was, with a tick above the line "
    "for each good round and a grey one below it for each bad one; the mean of what was believed after each round. "
    "What was learned long ago is forgotten, so that tasks without a turn go back to the middle. The target is drawn "
    "thick.</p>"
)
TABLE = (
    '<p class="note"><em>good</em>: its good rounds, or the sum of what the bandit heard where that is a number in '
    "between. <em>second half</em>: the utility on average over the second half of the rounds, which is less noisy "
    "than the one at the end. {seeds}{rule}</p>"
)
SEEDS = "Means ± standard deviations over the seeds; of intervals, the mean of each end. "
UTILITIES = {"averaged": "over the second half", "last": "at the end"}
Looks = dict[str, Look]


@dataclass(frozen=True)
class Selection:
    """What one run of the bandit came to.

    Args:
        seed: Of the run.
        beliefs: About its tasks.
        chosen: Which tasks were chosen by them; None where nobody chose.
        rule: How they were chosen.
    """

    seed: int
    beliefs: Beliefs
    chosen: list[str] | None
    rule: dict[str, Any]


def selection(runs: Sequence[Run]) -> str:
    """Figure 3 of paper 004 with what led to it, then a table; for each method whose bandit has finished a round.

    Args:
        runs: All runs on the page; those of method autosem have the bandit inside of them.
    """
    bandits = _bandits(runs)
    if not bandits:
        return ""
    known = tasks_of(runs)
    for task, auxiliary in tasks_of(run for own in bandits.values() for run in own).items():
        known.setdefault(task, auxiliary)  # behind those that have a colour elsewhere on the page
    looks = {task: replace(look, dash="solid", width=THIN) for task, look in task_looks(known).items()}
    drawn, told = Looks(), ""
    for number, (title, own) in enumerate(bandits.items()):
        found = [read_selection(run) for run in own]
        order, target = _ranked(found), found[0].beliefs.primary
        drawn |= {task: looks[task] for task in order}
        told += f"<h3>{escape(title)} <small>target: {escape(target)}</small></h3>"
        for place, one in enumerate(found[:SHOWN]):
            told += f"<h4>seed {one.seed}</h4>" if len(found) > 1 else ""
            told += _figures(one.beliefs, order, looks, f"selection-{number}-{place}")
        if len(found) > SHOWN:
            told += f'<p class="note">Drawn are {SHOWN} of {len(found)} seeds; the table is over all of them.</p>'
        told += _table(found, order)
    return DRAWN + legend(drawn, {task: task for task in drawn}) + told


def read_selection(run: Run) -> Selection:
    """Hear again what the bandit heard, and read what was chosen by it."""
    path = run.folder / SELECTION
    told: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return Selection(run.plan.get("seed", 0), Beliefs.of(run), told.get("chosen"), told.get("rule") or {})


def beta_density(successes: float, failures: float) -> tuple[Floats, Floats]:
    """Where, and how dense: in the middle of equal cells of [0, 1], so that no end is infinite.

    >>> at, dense = beta_density(2.0, 1.0)
    >>> float(at[-1]), round(float(dense[-1]), 3)
    (0.9975, 1.995)
    """
    at = (np.arange(POINTS) + 0.5) / POINTS
    whole = lgamma(successes + failures) - lgamma(successes) - lgamma(failures)
    return at, np.exp(whole + (successes - 1) * np.log(at) + (failures - 1) * np.log1p(-at))


def _bandits(runs: Iterable[Run]) -> dict[str, list[Run]]:
    """Runs of the bandit, each once, by the method that they were for; with its settings where they differ."""
    methods: dict[str, dict[Path, Run]] = {}
    for run in runs:
        for folder in (run.folder, run.folder / INNER / STAGE_1):
            if (folder / RUN).is_file() and _has_rounds(own := Run(folder)):
                methods.setdefault(method_of(run), {})[folder.resolve()] = own
    return {
        method + group.name.removeprefix(BANDIT): list(group.runs)
        for method, own in methods.items()
        for group in group_runs(own.values())
    }


def _has_rounds(run: Run) -> bool:
    """Whether a round is over; the beginning of the log tells."""
    path = run.folder / LOG
    if run.plan.get("method") != BANDIT or not path.is_file():
        return False
    return any(line["kind"] == "arm" for line in read_lines(path))


def _ranked(found: Sequence[Selection]) -> list[str]:
    """The target, then the others, the most useful first."""
    useful = {task: np.mean([one.beliefs.averaged[task] for one in found]) for task in found[0].beliefs.tasks}
    return sorted(useful, key=lambda task: (task != found[0].beliefs.primary, -useful[task]))


def _figures(beliefs: Beliefs, order: Sequence[str], looks: Looks, name: str) -> str:
    """One row: what is believed in the end, whose turn it was, what was believed before."""
    own = {task: replace(looks[task], width=THICK) if task == beliefs.primary else looks[task] for task in order}
    stride = -(-len(beliefs.arms) // MARKS)
    thinned = "" if stride == 1 else f", one round in {stride}"
    panels = {
        "utility at the end <small>density, and 80 % interval</small>": _densities(beliefs, own),
        f"whose turn <small>above: good, below: bad{thinned}</small>": _turns(beliefs, own, stride),
        "utility <small>after each round</small>": _courses(beliefs, own, stride),
    }
    told = (
        f'<figure class="panel"><figcaption>{caption}</figcaption>{to_html(figure, f"{name}-{number}")}</figure>'
        for number, (caption, figure) in enumerate(panels.items())
    )
    return f'<div class="panels">{"".join(told)}</div>'


def _densities(beliefs: Beliefs, looks: Mapping[str, Look]) -> Any:
    """Densities, and under them an interval for each task."""
    go = plotly_objects()
    figure = go.Figure(layout={"yaxis": {}, "yaxis2": {}})
    for row, (task, look) in enumerate(looks.items()):
        at, dense = beta_density(beliefs.successes[task], beliefs.failures[task])
        low, high = beliefs.interval(task)
        said = f"{label(task)}: {beliefs.last[task]:.2f}, from {low:.2f} to {high:.2f}<extra></extra>"
        common = {"legendgroup": task, "name": label(task)}
        line = {"color": look.colour, "width": look.width}
        about = {**common, "x": plain(at), "y": plain(dense), "mode": "lines"}
        figure.add_trace(go.Scatter(**about, line=line, hovertemplate="%{y:.2f} at %{x:.2f}"))
        below = {**common, "yaxis": "y2", "hovertemplate": said}
        figure.add_trace(go.Scatter(**below, x=plain([low, high]), y=[row, row], mode="lines", line=line))
        mark = {"color": look.colour, "size": 9, "symbol": look.symbol}
        figure.add_trace(go.Scatter(**below, x=plain([beliefs.last[task]]), y=[row], mode="markers", marker=mark))
    dress(figure, _height(looks), margin=_margin(looks), hovermode="closest")
    share = ROW * len(looks) / (_height(looks) - MARGINS["t"] - MARGINS["b"])
    figure.update_xaxes(range=[0, 1], anchor="y2")
    figure.update_layout(yaxis={"domain": [share + 0.02, 1], "rangemode": "tozero", "nticks": 4})
    figure.update_layout(yaxis2={**_rows(looks, beliefs.primary), "domain": [0, share - 0.02]})
    return figure


def _turns(beliefs: Beliefs, looks: Mapping[str, Look], stride: int) -> Any:
    """A line for each task, with a tick up or down for each of its rounds."""
    go = plotly_objects()
    figure = go.Figure()
    rounds = list(enumerate(zip(beliefs.arms, beliefs.values, strict=True)))[::stride]
    for row, (task, look) in enumerate(looks.items()):
        for good in (True, False):
            own = [at for at, (arm, value) in rounds if arm == task and (value >= 0.5) == good]
            end = row - TICK if good else row + TICK
            trace = go.Scatter(
                x=[x for at in own for x in (at, at, None)],
                y=[y for _ in own for y in (row, end, None)],
                mode="lines",
                line={"color": look.colour if good else GREY, "width": 2},
                legendgroup=task,
                name=label(task),
                hovertemplate=f"{label(task)}: round %{{x}}, {'good' if good else 'bad'}<extra></extra>",
            )
            figure.add_trace(trace)
    dress(figure, _height(looks), margin=_margin(looks), hovermode="closest")
    figure.update_xaxes(range=[-0.5, len(beliefs.arms) - 0.5], showgrid=False)
    figure.update_yaxes(**_rows(looks, beliefs.primary))
    return figure


def _courses(beliefs: Beliefs, looks: Looks, stride: int) -> Any:
    history = dict(zip(beliefs.tasks, beliefs.history.T, strict=True))
    curves = {task: mean_curve([dict(list(enumerate(history[task].tolist()))[::stride])]) for task in looks}
    figure = panel(curves, looks, 1.0)
    figure.update_traces(hovertemplate="%{y:.2f}")
    figure.update_layout(height=_height(looks))
    figure.update_xaxes(range=[-0.5, len(beliefs.arms) - 0.5])
    figure.update_yaxes(range=[0, 1])
    figure.add_hline(y=0.5, line={"color": GREY, "width": 1, "dash": "dot"})
    return figure


def _height(tasks: Mapping[str, Look]) -> int:
    return MARGINS["t"] + DENSITY + ROW * len(tasks) + MARGINS["b"]


def _margin(tasks: Iterable[str]) -> dict[str, int]:
    return {**MARGINS, "l": 14 + 7 * min(max(map(len, tasks)), LETTERS)}


def _rows(tasks: Iterable[str], target: str) -> dict[str, Any]:
    """An axis with a row for each task, the target in bold."""
    names = [f"<b>{shorter(task, LETTERS)}</b>" if task == target else shorter(task, LETTERS) for task in tasks]
    ticks = {"tickmode": "array", "tickvals": list(range(len(names))), "ticktext": names}
    return {**ticks, "range": [len(names) - 0.5, -0.5]}


def _table(found: Sequence[Selection], order: Sequence[str]) -> str:
    decided = [one for one in found if one.chosen is not None]
    header = ["task", "turns", "good", "utility<small>second half</small>", "utility<small>at the end</small>"]
    header += ["80 % interval", *(["chosen"] if decided else [])]
    rows = []
    for task in order:
        own = [one.beliefs for one in found]
        aim = " <small>target</small>" if task == own[0].primary else ""
        low, high = np.mean([beliefs.interval(task) for beliefs in own], axis=0)
        row = [
            f'<th scope="row">{escape(task)}{aim}</th>',
            _mean([beliefs.turns(task) for beliefs in own], 1),
            _mean([beliefs.good(task) for beliefs in own], 1),
            _mean([beliefs.averaged[task] for beliefs in own], 2),
            _mean([beliefs.last[task] for beliefs in own], 2),
            f"{low:.2f} to {high:.2f}",
        ]
        rows.append([*row, _chosen(task, decided)] if decided else row)
    rule = _rule(decided[0].rule) if decided else ""
    return table(header, rows) + TABLE.format(seeds=SEEDS if len(found) > 1 else "", rule=rule)


def _chosen(task: str, decided: Sequence[Selection]) -> str:
    times = sum(task in (one.chosen or ()) for one in decided)
    if len(decided) == 1:
        return "yes" if times else "no"
    return f"{times} of {len(decided)}"


def _rule(rule: Mapping[str, Any]) -> str:
    """How tasks were chosen, in a sentence."""
    if not rule:
        return ""
    best = f"the {rule['top']} most useful others and " if rule["top"] else ""
    by = UTILITIES.get(rule["utility"], rule["utility"])
    return f"Chosen are the target, {best}all whose utility ({escape(by)}) is above {rule['above']:g}."


def _mean(values: Sequence[float], digits: int) -> str:
    """Mean ± standard deviation over seeds; a whole number of one seed as it is."""
    over = spread(values)
    if over.n > 1:
        return f"{over.mean:.{digits}f} <small>± {over.std:.{digits}f}</small>"
    return f"{over.mean:.0f}" if digits == 1 and over.mean == round(over.mean) else f"{over.mean:.{digits}f}"
