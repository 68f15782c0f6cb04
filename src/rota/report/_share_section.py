"""Which share of the updates each task had, beside what plain mixtures would have given it: what a method did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from rota.analysis import MeanCurve, departure, mean_curve
from rota.report._many_tasks import DRAWN, foremost, left_out
from rota.report._page import ReportPage
from rota.report._palette import PLAIN
from rota.report._panels import curves_figure
from rota.report._pieces import LegendButton, Panel, Table, TableCell, Text, legend_buttons, small
from rota.report._plotly_text import label, pointer
from rota.report._plots import dress, figure_html, plain, plotly_objects
from rota.report._sparks import spark
from rota.report._templates import render
from rota.report._words import number, percent

if TYPE_CHECKING:
    from markupsafe import Markup

TALL = 300  # height in pixels of the figure with all tasks


def share_section(page: ReportPage) -> Markup | None:
    """A panel for each task with a line for each method, then a table; None where no log has a turn."""
    if not any(own.courses for own in page.shares.values()):
        return None
    tasks = list(dict.fromkeys(task for own in page.shares.values() for task in own.courses))
    drawn = foremost(tasks, lambda task: _departure(page, task))
    references = [LegendButton(f"plain {name}", name, PLAIN[name], "plain mixture") for name in page.plain]
    return render(
        "shares.html",
        buttons=[*legend_buttons({name: page.method_styles[name] for name in page.shares}), *references],
        everything=figure_html(_all_tasks(page, tasks), "shares-all") if len(tasks) > DRAWN else None,
        by_size="size" in page.plain,
        panels=[_panel(page, task, f"share-{place}") for place, task in enumerate(drawn)],
        left_out=left_out(len(tasks), "those whose share is farthest from every plain mixture"),
        unsure=_surveys(page, drawn),
        table_of_shares=_table(page, tasks),
        events=_events(page),
        counted=[name for name, own in page.shares.items() if own.courses and not own.intended],
        all_counted=not any(own.intended for own in page.shares.values()),
        seeds=page.repeated,
    )


def _departure(page: ReportPage, task: str) -> float:
    plain_shares = [own[task] for own in page.plain.values() if task in own]
    return max(departure(own.courses[task], plain_shares) for own in page.shares.values() if task in own.courses)


def _panel(page: ReportPage, task: str, name: str) -> Panel:
    curves = {method: own.courses[task] for method, own in page.shares.items() if task in own.courses}
    figure = curves_figure(curves, page.method_styles, 100.0, page.columns)
    ends = [min(curve.steps[0] for curve in curves.values()), max(curve.steps[-1] for curve in curves.values())]
    for kind, shares in page.plain.items():
        if task in shares:
            figure.add_trace(_reference(kind, [int(end) for end in ends], [100 * shares[task]] * 2))
    figure.update_yaxes(rangemode="tozero", ticksuffix=" %")
    return Panel(_caption(page, task), figure_html(figure, name))


def _caption(page: ReportPage, task: str) -> Text:
    return (task, " ", small("auxiliary")) if page.tasks.get(task) else task


def _reference(kind: str, x: list[Any], y: list[float], told: str = "%{y:.3g} %") -> Any:
    style = PLAIN[kind]
    line = {"color": style.colour, "dash": style.dash, "width": style.width}
    about = {"mode": "lines", "name": kind, "hovertemplate": told, "legendgroup": f"plain {kind}"}
    return plotly_objects().Scatter(x=x, y=plain(y), line=line, **about)


def _all_tasks(page: ReportPage, tasks: list[str]) -> Any:
    """The whole run at a glance: tasks from left to right by their size, a dot for each method."""
    go = plotly_objects()
    figure = go.Figure()
    sizes = page.plain.get("size", {})
    order = sorted(tasks, key=lambda task: -sizes.get(task, 0.0))
    for kind, shares in page.plain.items():
        own = [100 * shares.get(task, np.nan) for task in order]
        figure.add_trace(_reference(kind, list(range(len(order))), own, pointer(f"{kind}: %{{y:.3g}} %")))
    for method, courses in page.shares.items():
        figure.add_trace(
            go.Scatter(
                x=list(range(len(order))),
                y=plain([100 * courses.overall.get(task, np.nan) for task in order]),
                text=[label(task) for task in order],
                mode="markers",
                marker={"color": page.method_styles[method].colour, "size": 5, "opacity": 0.75},
                hovertemplate=pointer(f"%{{text}}, {label(method)}: %{{y:.3g}} %"),
                legendgroup=method,
            )
        )
    dress(figure, TALL, margin={"l": 46, "r": 14, "t": 6, "b": 34}, hovermode="closest")
    figure.update_xaxes(title={"text": "tasks, the largest first" if sizes else "tasks", "standoff": 6})
    figure.update_yaxes(rangemode="tozero", ticksuffix=" %")
    return figure


def _surveys(page: ReportPage, tasks: list[str]) -> list[Panel]:
    """What surveys measured, where there were any."""
    panels = []
    for place, task in enumerate(tasks):
        curves: dict[str, MeanCurve] = {
            name: mean_curve([history.uncertainty.get(task, {}) for history in own])
            for name, own in page.histories.items()
        }
        if any(len(curve.steps) for curve in curves.values()):
            figure = curves_figure(curves, page.method_styles, columns=page.columns)
            panels.append(Panel(_caption(page, task), figure_html(figure, f"unsure-{place}")))
    return panels


def _table(page: ReportPage, tasks: list[str]) -> Table:
    """A row for each task; where there are many, those first whose share is farthest from every plain mixture."""
    order = tasks if len(tasks) <= DRAWN else sorted(tasks, key=lambda task: -_departure(page, task))
    rows_of_tasks = {
        task: rows
        for run in page.runs
        for task, info in run.info["tasks"].items()
        if (rows := (info.get("rows") or {}).get("train")) is not None
    }
    sized, digits = "size" in page.plain, 1 if len(tasks) <= DRAWN else 2
    header: list[Text] = ["task", *(["training rows"] if sized else [])]
    header += [(name, small("plain mixture")) for name in page.plain] + [page.named(name) for name in page.shares]
    rows = []
    for task in order:
        row: list[Text] = [task, *([number(rows_of_tasks.get(task, np.nan), 0)] if sized else [])]
        row += [percent(shares.get(task, np.nan), digits) for shares in page.plain.values()]
        row += [_cell(page, name, task, digits) for name in page.shares]
        rows.append(row)
    return Table(header, rows, rows_of="tasks")


def _events(page: ReportPage) -> Table | None:
    """Which tasks came, left or were parked, and when; None where nothing of that happened."""
    rows: list[list[TableCell | Text]] = [
        [page.named(name), number(line["step"], 0), TableCell(_told(line), "text")]
        for name, histories in page.histories.items()
        for history in histories
        for line in history.events
    ]
    return Table(["method", "from update", TableCell("what happened", "text")], rows) if rows else None


def _told(line: Mapping[str, Any]) -> str:
    """
    >>> _told({"kind": "tasks", "added": ["sst2"], "dropped": ["rte", "mrpc"]})
    'came: sst2; left: rte, mrpc'
    """
    if line["kind"] == "tasks":
        both = (("came", line["added"]), ("left", line["dropped"]))
        return "; ".join(f"{word}: {', '.join(tasks)}" for word, tasks in both if tasks)
    return f"parked: {line['task']}, because {line['reason']}" if line["kind"] == "parked" else f"again: {line['task']}"


def _cell(page: ReportPage, name: str, task: str, digits: int) -> Text:
    """The share of the whole run, and how it went; curves of one row are equally high."""
    own = page.shares[name]
    told = percent(own.overall.get(task, np.nan), digits)
    if task not in own.courses:
        return told
    return (told, " ", spark(own.courses[task], page.method_styles[name], _highest(page, task)))


def _highest(page: ReportPage, task: str) -> float:
    return max(float(own.courses[task].mean.max()) for own in page.shares.values() if task in own.courses)
