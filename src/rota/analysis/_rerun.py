"""The command that starts a run again, from what `run.json` says about its plan."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

FIRST, LAST = ("tasks", "only", "method", "options", "target"), ("seed",)


def train_command(plan: Mapping[str, Any]) -> str | None:
    """`rota train` with a flag for each field that is not as it is by default; None where flags cannot say it.

    Defaults are known of the settings of a training. Of the other fields those are left out that hold nothing.

    >>> train_command({"tasks": ["left", "right"], "method": "exp3s", "options": {"eta": 1e-05}, "seed": 1, "lr": None})
    'rota train --tasks left,right --method exp3s --option eta=1.0e-05 --seed 1'
    """
    if not plan.get("method") or not plan.get("tasks"):
        return None  # a program started it
    from rota.settings import Settings  # late: it takes a moment

    usual = {name: field.default for name, field in Settings.model_fields.items() if name not in LAST}
    told = ["rota", "train"]
    for name in sorted(plan, key=lambda name: (name in LAST, FIRST.index(name) if name in FIRST else len(FIRST))):
        value = plan[name]
        if value == usual[name] if name in usual else value is None or value is False or value in ({}, [], ()):
            continue
        flags = _flags(name, value)
        if flags is None:
            return None
        told += flags
    return shlex.join(told)


def _flags(name: str, value: Any) -> list[str] | None:
    """What to write on the command line; None where a comma inside of it would be taken for the end of a part."""
    flag = f"--{name.replace('_', '-')}"
    if value is True:
        return [flag]
    if name == "options":
        return [part for key, own in value.items() for part in ("--option", f"{key}={_yaml(own)}")]
    if name == "per_task":
        value = {
            f"{task}.{field}": own
            for task, changes in value.items()
            for field, own in changes.items()
            if own is not None and own is not False
        }
    if isinstance(value, Mapping):
        return _joined(flag, [f"{key}={_yaml(own)}" for key, own in value.items()])
    if isinstance(value, list | tuple):
        return _joined(flag, map(str, value))
    return [flag, "none" if value is None else str(value)]


def _joined(flag: str, parts: Iterable[str]) -> list[str] | None:
    found = list(parts)
    return None if any("," in part for part in found) else [flag, ",".join(found)]


def _yaml(value: Any) -> str:
    """As the command line reads it: 1.0e-05 is a number there, 1e-05 is not."""
    import yaml  # late: not every page has an option

    text: str = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=float("inf"))
    return text.strip().removesuffix("...").strip()
