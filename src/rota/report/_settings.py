"""What is needed to run it again: the plan, what differs between runs, versions and device."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from typing import Any

from rota.report._command import command
from rota.report._groups import Group, flat, run_names, shown
from rota.report._palette import Look
from rota.report._tables import table
from rota.runlog import Run

MANY = 8  # methods beyond which their commands are folded away
SURROUNDINGS = ("policy", "parameters", "processes", "threads", "device", "versions")


def settings_section(groups: Sequence[Group], looks: dict[str, Look]) -> str:
    """Commands to run it again, then what differs, then everything about the first run, then one plan per method."""
    runs = [run for group in groups for run in group.runs]
    return _surroundings(runs[0]) + _commands(groups) + _differences(groups, looks) + _first_run(runs) + _plans(groups)


def _surroundings(run: Run) -> str:
    """Device and versions of the first run; where others differ, the table of differences says so."""
    versions = ", ".join(f"{name} {version}" for name, version in run.info.get("versions", {}).items())
    return f"<p>Device: {escape(shown(run.info.get('device')))}. Versions: {escape(versions or '–')}.</p>"


def _commands(groups: Sequence[Group]) -> str:
    """A line per method for its first run; the others differ in their seed."""
    told = ""
    for group in groups:
        found = command(group.runs[0].plan)
        if found is not None:
            seeds = list(dict.fromkeys(shown(run.plan.get("seed", 0)) for run in group.runs))
            others = f" <small>then with --seed {', '.join(seeds[1:])}</small>" if seeds[1:] else ""
            told += f'<h4>{escape(group.name)}{others}</h4><pre class="command">{escape(found)}</pre>'
    if not told:
        return ""
    opened = " open" if len(groups) <= MANY else ""
    return f"<details{opened}><summary>Commands to run it again</summary>{told}</details>"


def _differences(groups: Sequence[Group], looks: dict[str, Look]) -> str:
    """One row per method, one column per field that is not the same in all runs."""
    runs = [run for group in groups for run in group.runs]
    if len(runs) == 1:
        return ""
    fields = dict.fromkeys(field for run in runs for field in _fields(run) if field != "plan.method")
    differing = [field for field in fields if len(_values(runs, field)) > 1]
    if not differing:
        return "<p>All runs have the same settings.</p>"
    rows = [
        [
            f'<th scope="row">{looks[group.name].swatch()} {escape(group.name)}</th>',
            *(f'<td class="text">{escape(_listed(_values(group.runs, field)))}</td>' for field in differing),
        ]
        for group in groups
    ]
    header = ["method", *(f'<th class="text">{escape(_short(field))}</th>' for field in differing)]
    return "<p>Runs differ in these fields, and are the same in all others:</p>" + table(header, rows)


def _first_run(runs: Sequence[Run]) -> str:
    """Every field of the first run."""
    rows = [
        [f'<th scope="row">{escape(_short(field))}</th>', f'<td class="text">{escape(shown(value))}</td>']
        for field, value in _fields(runs[0]).items()
    ]
    name = escape(run_names(runs)[0])
    body = table(["field", '<th class="text">value</th>'], rows)
    return f"<details><summary>All settings of the first run, <code>{name}</code></summary>{body}</details>"


def _plans(groups: Sequence[Group]) -> str:
    """A plan per method that `rota train` reads (JSON is YAML)."""
    planned = [group for group in groups if group.runs[0].plan.get("method")]  # others were started by a program
    if not planned:
        return ""
    plans = "".join(
        f"<h4>{escape(group.name)}</h4><pre>{escape(json.dumps(group.runs[0].plan, ensure_ascii=False))}</pre>"
        for group in planned
    )
    return (
        f"<details><summary>Plans to run again</summary><p>Save one as <code>plan.yaml</code> and run "
        f"<code>rota train plan.yaml</code>; other seeds with <code>--seed</code>.</p>{plans}</details>"
    )


def _fields(run: Run) -> dict[str, Any]:
    plan = flat({"plan": run.plan})
    return {**plan, **flat({name: run.info[name] for name in SURROUNDINGS if name in run.info})}


def _values(runs: Sequence[Run], field: str) -> list[str]:
    """Its values, each once, in the order in which they come."""
    return list(dict.fromkeys(shown(_fields(run).get(field)) for run in runs))


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
