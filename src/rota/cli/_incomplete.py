"""What `--dry-run` prints where data or encoders are missing: which, and a rough cost. Nothing is fetched."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from rota.cli._console import open_console
from rota.cli._dry_run import Trainings, time_told
from rota.cli._tables import print_whole
from rota.hub import offline
from rota.plans import Plan

if TYPE_CHECKING:
    from rota.runs import Missing, RoughCost

NOT_SETTINGS = {"seed", "keep", "data", "tasks", "steps"}
"""Fields of a plan that have a line of their own, or say nothing about the training."""


def show_commands(commands: Sequence[str]) -> None:
    """The commands of an experiment that is no comparison."""
    console = open_console()
    console.print("This experiment is not one comparison. Its commands:", highlight=False)
    for command in commands:
        console.print(command, highlight=False, markup=False, soft_wrap=True)
    console.print("Nothing was trained.", highlight=False)


def show_incomplete(planned: Sequence[Trainings], folder: Path) -> bool:
    """The plan, the data and encoders that it needs, and what it would roughly cost, if some of them are missing;
    whether they are.

    Args:
        planned: What there is to train.
        folder: Where.
    """
    from rota.runs import missing_of, operations_per_second, rough_cost  # late: they load torch

    missing = missing_of([own.plan for own in planned])
    if not missing:
        return False
    console, speed = open_console(), operations_per_second()
    found = {own.name: rough_cost(own.plan, speed) for own in planned}
    common = _common([own.plan for own in planned])
    for name, told in (("tasks", _tasks(planned)), ("settings", _told(common))):
        console.print(f"{name}: {told}", highlight=False, markup=False, soft_wrap=True)
    print_whole(console, _table(planned, found, common))
    runs = [found[own.name] for own in planned for _ in range(own.runs)]
    seconds = [own.seconds for own in runs if own.seconds is not None]
    console.print(
        f"{len(runs)} run{'' if len(runs) == 1 else 's'}: {sum(own.updates for own in runs):,} updates, "
        f"{sum(own.forwards for own in runs):,.0f} forward passes of a row"
        + (f", very roughly {hours_told(sum(seconds))} on this machine, one at a time." if seconds else "."),
        highlight=False,
    )
    if seconds:
        console.print(
            f"Hours are the encoder's matrix products for texts of the most tokens, at {speed / 1e9:,.0f} billion "
            f"operations per second as measured now, without evaluations.",
            highlight=False,
        )
    for line in _missing(missing):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    console.print(f"Nothing was fetched or trained. The folder would be {folder}.", highlight=False, markup=False)
    return True


def _table(planned: Sequence[Trainings], found: dict[str, RoughCost], common: dict[str, Any]) -> Table:
    table = Table(title="Runs", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for column in ("name", "differs in", "runs", "updates", "time of one"):
        table.add_column(column, justify="left" if column in ("name", "differs in") else "right")
    for own in planned:
        cost = found[own.name]
        differs = {name: value for name, value in _given(own.plan).items() if name not in common}
        time = "–" if cost.seconds is None else hours_told(cost.seconds)
        table.add_row(escape(own.name), escape(_told(differs)), str(own.runs), f"{cost.updates:,}", time)
    return table


def _given(plan: Plan) -> dict[str, Any]:
    """What the file and the flags say, as far as it is worth a line."""
    given = plan.model_dump(mode="json", exclude_unset=True)
    return {name: value for name, value in given.items() if name not in NOT_SETTINGS and value not in ({}, None)}


def _common(plans: Sequence[Plan]) -> dict[str, Any]:
    given = [_given(plan) for plan in plans]
    return {name: value for name, value in given[0].items() if all(own.get(name) == value for own in given)}


def _tasks(planned: Sequence[Trainings]) -> str:
    return "; or ".join(dict.fromkeys(", ".join(own.plan.tasks) for own in planned))


def _told(fields: dict[str, Any]) -> str:
    return ", ".join(f"{name} {_plain(value)}" for name, value in fields.items()) or "–"


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {_plain(own)}" for name, own in value.items()) + "}"
    if isinstance(value, list):
        return "+".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _missing(missing: Missing) -> list[str]:
    places: dict[str, list[str]] = {}
    for task, place in (missing.tasks or {}).items():
        places.setdefault(place, []).append(task)
    lines = [f"Missing data: {', '.join(tasks)} ({place})." for place, tasks in places.items()]
    lines += [f"Missing encoder: {name} (on the hub)." for name in missing.encoders]
    if not missing.encoders and not any(place.endswith("on the hub") for place in places):
        return lines
    reason = offline()
    lines.append(
        f"The hub cannot be asked: {reason}. Put files into a folder and name it: --data."
        if reason
        else "Training would fetch from the hub what is there."
    )
    return lines


def hours_told(seconds: float) -> str:
    """Hours where it takes long, as costs are counted.

    >>> hours_told(75), hours_told(5_400), hours_told(4_000_000)
    ('1 min 15 s', '1.5 h', '1,111 h')
    """
    if seconds < 3600:
        return time_told(seconds)
    hours = seconds / 3600
    return f"{hours:,.0f} h" if hours >= 10 else f"{hours:.1f} h"
