"""Going on with a run on other hardware: an update keeps its rows, and they are divided anew."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rota.errors import RotaError
from rota.runlog import Run
from rota.settings import Settings
from rota.tasks import Task

HARDWARE = ("processes", "device", "engine")
"""What may be another one where a run goes on, of what `run.json` and its plan say."""


def hardware_of(description: Mapping[str, Any]) -> dict[str, Any]:
    """Of a run as `run.json` describes it."""
    return {**{name: description[name] for name in ("processes", "device")}, "engine": description["plan"]["engine"]}


def as_begun(settings: Settings, folder: Path) -> Settings:
    """The settings with what the run in `folder` took for `auto` when it began: other hardware would mean another
    precision, or losses that are read at another time."""
    plan = Run(folder).plan
    unsaid = {"precision": settings.precision == "auto", "delay": settings.delay is None}
    return settings.model_copy(update={name: plan[name] for name, left in unsaid.items() if left})


def divided(settings: Settings, tasks: Sequence[Task], then: int, now: int) -> Settings:
    """The settings with which so many processes now train the rows of an update that others did then: with forward
    passes of the same size where possible, else smaller ones.

    >>> settings = divided(Settings(batch_size=24), [], then=1, now=3)
    >>> settings.batch_size, settings.accumulate
    (8, 1)
    >>> settings = divided(Settings(batch_size=8), [], then=3, now=1)
    >>> settings.batch_size, settings.accumulate
    (8, 3)
    """
    if then == now:
        return settings
    passes = settings.accumulate * then
    sizes = {task.batch_size or settings.batch_size for task in tasks if task.trained} or {settings.batch_size}
    rows = math.gcd(*sizes) * passes
    if rows % now:
        able = ", ".join(str(count) for count in range(1, rows + 1) if rows % count == 0)
        raise RotaError(
            f"A run goes on in a number of processes that divides the {rows} rows of its updates: {able}. Found {now}."
        )
    accumulate = next(count for count in range(math.ceil(passes / now), rows + 1) if rows % (now * count) == 0)
    if settings.clip_each and accumulate > 1:
        raise RotaError(
            f"Settings(clip_each=True) expects whole batches. Found {now} processes, which would have to accumulate "
            f"them. Go on in {then}."
        )
    size = max(1, settings.batch_size * passes // (now * accumulate))
    return settings.model_copy(update={"batch_size": size, "accumulate": accumulate})


def told(then: Mapping[str, Any], now: Mapping[str, Any], divided: Settings) -> str:
    """What has changed, as a notice."""
    changed = [f"{name} {now[name]} (was {then[name]})" for name in HARDWARE if then[name] != now[name]]
    return (
        f"goes on with {', '.join(changed)}; {divided.batch_size * divided.accumulate * now['processes']} rows per "
        f"update as before, {divided.batch_size} × {divided.accumulate} in each process"
    )
