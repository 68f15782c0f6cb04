"""Which tasks a bandit tried for a target, and the utilities it estimated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rota.analysis import BanditOutcome, bandit_outcomes, by_utility, spread, tasks_of
from rota.report._bandit_figures import bandit_panels
from rota.report._page import ReportPage
from rota.report._palette import LineStyle, task_styles
from rota.report._pieces import Panel, Table, Text, legend_buttons, small
from rota.report._templates import render

if TYPE_CHECKING:
    from markupsafe import Markup

DRAWN = 3  # runs of a group that are drawn
THICK, THIN = 3.5, 1.5  # lines of the target and of the others
UTILITIES = {"averaged": "over the second half", "last": "at the end"}


@dataclass(frozen=True)
class DrawnBandit:
    """What the template shows of a method.

    Args:
        title: Its name.
        target: The task that others are tried for.
        seeds: Figures by seed, of the first ones.
        runs: How many there are.
        table: A row for each task.
        rule: How tasks were chosen, in a sentence.
    """

    title: str
    target: str
    seeds: list[tuple[int, list[Panel]]]
    runs: int
    table: Table
    rule: str


def bandit_section(page: ReportPage) -> Markup | None:
    """Figure 3 of Guo et al. 2019, then a table; for each method whose bandit has finished a round."""
    bandits = bandit_outcomes(page.runs)
    if not bandits:
        return None
    styles = _styles(page, bandits)
    order = {title: by_utility(found) for title, found in bandits.items()}
    return render(
        "selection.html",
        buttons=legend_buttons({task: styles[task] for tasks in order.values() for task in tasks}),
        methods=[
            _drawn(title, found, {task: styles[task] for task in order[title]}, f"selection-{number}")
            for number, (title, found) in enumerate(bandits.items())
        ],
    )


def _styles(page: ReportPage, bandits: Mapping[str, Sequence[BanditOutcome]]) -> dict[str, LineStyle]:
    known = dict(page.tasks)
    for task, auxiliary in tasks_of(one.run for found in bandits.values() for one in found).items():
        known.setdefault(task, auxiliary)  # behind those that have a colour elsewhere on the page
    return {task: replace(style, dash="solid", width=THIN) for task, style in task_styles(known).items()}


def _drawn(title: str, found: Sequence[BanditOutcome], styles: Mapping[str, LineStyle], name: str) -> DrawnBandit:
    target = found[0].beliefs.primary
    own = {task: replace(style, width=THICK) if task == target else style for task, style in styles.items()}
    decided = [one for one in found if one.chosen is not None]
    return DrawnBandit(
        title,
        target,
        [
            (one.run.plan.get("seed", 0), bandit_panels(one.beliefs, own, f"{name}-{place}"))
            for place, one in enumerate(found[:DRAWN])
        ],
        len(found),
        _table(found, decided, list(styles)),
        _rule(decided[0].rule) if decided else "",
    )


def _table(found: Sequence[BanditOutcome], decided: Sequence[BanditOutcome], order: Sequence[str]) -> Table:
    header: list[Text] = ["task", "turns", "good", ("utility", small("second half")), ("utility", small("at the end"))]
    header += ["80 % interval", *(["chosen"] if decided else [])]
    rows = []
    for task in order:
        own = [one.beliefs for one in found]
        low, high = np.mean([beliefs.interval(task) for beliefs in own], axis=0)
        row: list[Text] = [
            (task, " ", small("target")) if task == own[0].primary else task,
            _mean([beliefs.turns(task) for beliefs in own], 1),
            _mean([beliefs.good(task) for beliefs in own], 1),
            _mean([beliefs.averaged[task] for beliefs in own], 2),
            _mean([beliefs.last[task] for beliefs in own], 2),
            f"{low:.2f} to {high:.2f}",
        ]
        rows.append([*row, _chosen(task, decided)] if decided else row)
    return Table(header, rows)


def _chosen(task: str, decided: Sequence[BanditOutcome]) -> str:
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
    return f"Chosen are the target, {best}all whose utility ({by}) is above {rule['above']:g}."


def _mean(values: Sequence[float], digits: int) -> Text:
    """Mean ± standard deviation over seeds; a whole number of one seed as it is."""
    over = spread(values)
    if over.n > 1:
        return (f"{over.mean:.{digits}f}", " ", small(f"± {over.std:.{digits}f}"))
    return f"{over.mean:.0f}" if digits == 1 and over.mean == round(over.mean) else f"{over.mean:.{digits}f}"
