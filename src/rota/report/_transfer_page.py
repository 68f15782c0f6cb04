"""Which task helps which: a matrix with a picture."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rota.analysis import Difference, Ratio, TransferEffect, TransferTable
from rota.report._document import document, write_file
from rota.report._pieces import Panel, Table
from rota.report._plotly_text import label, pointer, shorter
from rota.report._plots import dress, figure_html, plain, plotly_objects
from rota.report._templates import render
from rota.report._words import interval, percent

WORST, SAME, BEST = "#D55E00", "rgba(132,139,148,0.10)", "#0072B2"
SIDE, AROUND = 46, 110  # pixels of a row, and of what stands around all of them

EffectOf = Callable[[str, str], TransferEffect | None]


def write_transfer(table: TransferTable, page: Path, updates: int) -> None:
    """Write one self-contained HTML page with the matrix as points, as a part of what each task lacks, and of both
    directions together.

    Args:
        table: What was found.
        page: The file to write; one that exists is replaced.
        updates: Of each task.

    >>> import tempfile
    >>> from rota.analysis import Pairing, transfer_table
    >>> alone = {"rte": {0: 0.5, 1: 0.52}, "mnli": {0: 0.7, 1: 0.71}}
    >>> table = transfer_table(alone, {Pairing("rte", "mnli"): {0: 0.6, 1: 0.61}})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_transfer(table, Path(folder) / "transfer.html", updates=100)
    ...     "mnli" in (Path(folder) / "transfer.html").read_text()
    True
    """
    panels = []
    for ratio in table.ratios:

        def found(target: str, helper: str, ratio: Ratio = ratio) -> TransferEffect | None:
            return table.effect(target, helper, ratio)

        beside = "" if table.ratios == [Ratio()] else f", {ratio} batches"
        for what, of_the_rest in ((f"points{beside}", False), (f"percent of what the task alone lacks{beside}", True)):
            name = f"transfer-{ratio.own}-{ratio.other}-{of_the_rest:d}"
            panels.append(Panel(what, figure_html(matrix_figure(table, found, of_the_rest), name)))
    if table.mutual:
        both = figure_html(matrix_figure(table, table.mutual_effect, False), "transfer-mutual")
        panels.append(Panel("points, mean of both directions", both))
    seeds = max((effect.gain.n for effect in table.effects), default=0)
    body = render("transfer.html", panels=panels, effects=effects_table(table), updates=updates, seeds=seeds)
    title = f"Which task helps which: {', '.join(table.tasks)}"
    write_file(page, document(title, [("Transfer", body)]))


def matrix_figure(table: TransferTable, found: EffectOf, of_the_rest: bool) -> Any:
    """Targets below each other, helpers side by side: blue where one helps, orange where it harms."""

    def shown(effect: TransferEffect) -> Difference:
        return effect.of_the_rest if of_the_rest else effect.gain

    def written(effect: TransferEffect | None) -> str:
        mark = "" if effect is None or effect.verdict == "cannot tell" else " *"
        return "" if effect is None else f"{percent(shown(effect).mean, signed=True)}{mark}"

    def said(effect: TransferEffect | None, target: str, helper: str) -> str:
        if effect is None:
            return ""
        own = shown(effect)
        return f"{label(target)} beside {label(helper)}: {percent(own.mean, signed=True)}, {interval(own)}"

    go = plotly_objects()
    cells = [[found(target, helper) for helper in table.helpers] for target in table.tasks]
    values = [[math.nan if own is None else 100 * shown(own).mean for own in row] for row in cells]
    most = max((abs(value) for row in values for value in row if not math.isnan(value)), default=0.0)
    figure = go.Figure(
        go.Heatmap(
            z=[plain(row) for row in values],
            zmin=-most or -1.0,
            zmax=most or 1.0,
            colorscale=[[0, WORST], [0.5, SAME], [1, BEST]],
            showscale=False,
            text=[[written(own) for own in row] for row in cells],
            texttemplate="%{text}",
            customdata=[
                [said(own, target, helper) for own, helper in zip(row, table.helpers, strict=True)]
                for target, row in zip(table.tasks, cells, strict=True)
            ],
            hovertemplate=pointer("%{customdata}"),
            xgap=2,
            ygap=2,
        )
    )
    across, down = {**_ticks(table.helpers), "side": "top"}, {**_ticks(table.tasks), "autorange": "reversed"}
    around = dict.fromkeys("lrtb", 10)
    dress(figure, AROUND + SIDE * len(table.tasks), margin=around, xaxis=across, yaxis=down)
    return figure


def _ticks(names: Sequence[str]) -> dict[str, Any]:
    """By number: two names may look the same when they are cut."""
    shown = [shorter(name) for name in names]
    return {"tickvals": list(range(len(names))), "ticktext": shown, "automargin": True, "showgrid": False}


def effects_table(table: TransferTable) -> Table:
    """Every pair with its interval, by target, what helps most first."""
    header = ["task", "beside", "batches", "alone", "gain", "95 %", "of what it lacks", "seeds", "verdict"]
    order = {task: number for number, task in enumerate(table.tasks)}
    effects = sorted(table.effects, key=lambda own: (order[own.pairing.target], -own.gain.mean))
    rows = [
        [
            own.pairing.target,
            own.pairing.helper,
            str(own.pairing.ratio),
            percent(table.alone[own.pairing.target].mean),
            percent(own.gain.mean, signed=True),
            interval(own.gain),
            percent(own.of_the_rest.mean, signed=True),
            str(own.gain.n),
            own.verdict,
        ]
        for own in effects
    ]
    best = [number for number, own in enumerate(effects) if own.verdict == "helps"]
    return Table(header, rows, best=best, rows_of="pairs")
