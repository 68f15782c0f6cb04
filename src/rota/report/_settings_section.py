"""What is needed to run it again: commands, what differs between runs, versions and device."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rota.analysis import (
    Group,
    differing_fields,
    field_values,
    run_names,
    setting_as_text,
    setting_fields,
    train_command,
)
from rota.report._page import ReportPage
from rota.report._pieces import Table, TableCell, Text
from rota.report._templates import render
from rota.runlog import Run

if TYPE_CHECKING:
    from markupsafe import Markup

MANY = 8  # methods beyond which their commands are folded away


@dataclass(frozen=True)
class Rerun:
    """How to start the runs of a method again.

    Args:
        name: Of the method.
        command: For its first run.
        seeds: Of the others.
    """

    name: str
    command: str
    seeds: list[str]


def settings_section(page: ReportPage) -> Markup:
    """Commands to run it again, then what differs, then everything about the first run, then one plan per method."""
    runs = [run for group in page.groups for run in group.runs]
    about = runs[0].info
    return render(
        "settings.html",
        device=about.get("device"),
        versions=", ".join(f"{name} {version}" for name, version in about.get("versions", {}).items()),
        commands=[found for group in page.groups if (found := _rerun(group)) is not None],
        unfolded=len(page.groups) <= MANY,
        several=len(runs) > 1,
        differences=_differences(page, runs),
        first=run_names(runs)[0],
        fields=_fields(runs[0]),
        plans={  # others were started by a program
            group.name: json.dumps(group.runs[0].plan, ensure_ascii=False)
            for group in page.groups
            if group.runs[0].plan.get("method") and group.runs[0].plan.get("tasks")
        },
    )


def _rerun(group: Group) -> Rerun | None:
    """The command of the first run; the others differ in their seed."""
    found = train_command(group.runs[0].plan)
    if found is None:
        return None
    seeds = dict.fromkeys(setting_as_text(run.plan.get("seed", 0)) for run in group.runs)
    return Rerun(group.name, found, list(seeds)[1:])


def _differences(page: ReportPage, runs: Sequence[Run]) -> Table:
    """One row per method, one column per field that is not the same in all runs; no row where there is none."""
    differing = differing_fields(runs)
    if not differing:
        return Table([], [])
    rows: list[list[TableCell | Text]] = [
        [
            page.named(group.name),
            *(TableCell(_listed(field_values(group.runs, field)), "text") for field in differing),
        ]
        for group in page.groups
    ]
    return Table(["method", *(TableCell(_short(field), "text") for field in differing)], rows)


def _fields(run: Run) -> Table:
    rows: list[list[TableCell | Text]] = [
        [_short(field), TableCell(setting_as_text(value), "text")] for field, value in setting_fields(run).items()
    ]
    return Table(["field", TableCell("value", "text")], rows)


def _listed(values: Sequence[str]) -> str:
    """
    >>> _listed(["0", "1"]), _listed(["left, right", "left"])
    ('0, 1', 'left, right; left')
    """
    return ("; " if any("," in value for value in values) else ", ").join(values)


def _short(field: str) -> str:
    """
    >>> _short("plan.options.eta"), _short("versions.torch"), _short("plan.threads"), _short("threads")
    ('eta', 'torch', 'threads', 'threads used')
    """
    last = field.rsplit(".", 1)[-1].replace("_", " ")
    return f"{last} used" if field in ("device", "threads") else last  # what came of the plan's "auto"
