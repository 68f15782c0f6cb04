"""What was picked from pools of candidates, and how much of the data that took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rota.analysis import (
    SMOOTHING_WINDOW,
    DataShare,
    PoolAccount,
    Reached,
    RunHistory,
    Spread,
    counted_tasks,
    mean_curve,
    pool_accounts,
    smoothed,
    spread,
)
from rota.report._page import ReportPage
from rota.report._panels import curves_figure
from rota.report._pieces import Panel, Table, Text, legend_buttons, small
from rota.report._plots import figure_html
from rota.report._templates import render
from rota.report._words import listed, number

if TYPE_CHECKING:
    from markupsafe import Markup

POINTS = 300  # of a curve, at most: a long run must not make a large page
COLUMNS: tuple[Text, ...] = (("unique", small("% of rows")), "epochs", ("scored", small("for each row")))


@dataclass(frozen=True)
class DrawnPools:
    """What the template shows of a method that picks.

    Args:
        title: Its name.
        panels: Its figures.
        account: A row for each task; None where no run is finished.
    """

    title: Text
    panels: list[Panel]
    account: Table | None


def pool_section(page: ReportPage) -> Markup | None:
    """Curves and accounts of the methods that pick from pools, then the accounts of all; None without a pool."""
    accounts = pool_accounts(page.groups)
    if not accounts:
        return None
    picking = {number: own for number, own in enumerate(accounts) if own.picks}
    alone = any(own.reached.tasks for own in accounts)
    tasks = dict.fromkeys(task for own in picking.values() for task in own.group.runs[0].info["tasks"])
    return render(
        "pools.html",
        seeds=page.repeated,
        window=SMOOTHING_WINDOW,
        buttons=legend_buttons({task: page.task_styles[task] for task in tasks}),
        methods=[
            DrawnPools(page.named(own.group.name), _panels(page, own, f"pools-{number}"), _by_task(own))
            for number, own in picking.items()
        ],
        counted=listed(dict.fromkeys(task for own in accounts for task in counted_tasks(own.group.runs[0]))),
        alone=alone,
        compared=_compared(page, accounts, alone),
    )


def _panels(page: ReportPage, own: PoolAccount, name: str) -> list[Panel]:
    """Figures 8 and 5 of Pilault et al. 2021: who is in the batch, who is uncertain, and what became of it."""
    tasks, runs, courses = list(own.group.runs[0].info["tasks"]), own.group.runs, own.courses
    histories: list[RunHistory] = page.histories[own.group.name]
    stride = max(1, -(-max(run.plan["steps"] for run in runs) // POINTS))
    curves: dict[str, list[list[dict[int, float]]]] = {  # of each task, of each run
        "examples in the batch": [[_thin(c.steps, c.batch[task], stride) for c in courses] for task in tasks],
        "uncertainty of the candidates": [[_thin(c.pools, c.unsure[task], stride) for c in courses] for task in tasks],
        "dev score": [[history.score.get(task, {}) for history in histories] for task in tasks],
    }
    last = max((step for series in curves.values() for each in series for curve in each for step in curve), default=0)
    panels = []
    for place, (caption, series) in enumerate(curves.items()):
        if any(curve for each in series for curve in each):
            figure = curves_figure(dict(zip(tasks, map(mean_curve, series), strict=True)), page.task_styles)
            figure.update_xaxes(range=[0, last or 1])  # the same for all three, so that they can be compared
            panels.append(Panel(caption, figure_html(figure, f"{name}-{place}")))
    return panels


def _thin(steps: Sequence[int], values: Sequence[float], stride: int) -> dict[int, float]:
    """A smooth curve with one point in each stretch of `stride` steps, at the same steps in every run."""
    apart = max(1.0, float(np.mean(np.diff(steps)))) if len(steps) > 1 else 1.0
    smooth = smoothed(values, max(1, round(max(SMOOTHING_WINDOW, stride) / apart)))
    kept = np.unique(np.array(steps, dtype=np.int64) // stride, return_index=True)[1]
    return {steps[at]: float(smooth[at]) for at in kept if np.isfinite(smooth[at])}


def _by_task(own: PoolAccount) -> Table | None:
    """A row for each task, and one for all of them together."""
    if not own.tasks:
        return None
    rows: list[list[Text]] = [
        [task, _spread(use.share, 1, 100), *_shares(use.data), _spread(use.first_peak, 0)]
        for task, use in own.tasks.items()
    ]
    rows.append(["all tasks", "", *_shares(own.total), ""])
    return Table(["task", ("share", small("% of examples")), *COLUMNS, ("first peak", small("step"))], rows)


def _compared(page: ReportPage, accounts: Sequence[PoolAccount], alone: bool) -> Table:
    """A row for each method with several tasks; with a column for tasks that were trained alone, where some were."""
    rows = []
    for own in accounts:
        row = [page.named(own.group.name), *_shares(own.total), _spread(own.sigma, 1, 100)]
        rows.append([*row, _reached(own.reached)] if alone else row)
    header = ["method", *COLUMNS, ("task σ", small("points")), *(["as good as alone"] if alone else [])]
    return Table(header, rows)


def _shares(data: DataShare) -> list[Text]:
    return [_spread(data.unique, 1, 100), _spread(data.epochs, 2), _spread(data.scored, 2)]


def _reached(found: Reached) -> Text:
    if not found:
        return "–"
    over = spread(found.counts)
    return (_spread(over, 0 if over.n == 1 else 1), f" of {found.tasks}")


def _spread(over: Spread, digits: int, scale: float = 1.0) -> Text:
    """Mean ± standard deviation over seeds, or a dash."""
    mean = number(scale * over.mean, digits)
    return (mean, " ", small(f"± {number(scale * over.std, digits)}")) if over.n > 1 else mean
