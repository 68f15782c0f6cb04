"""Do two runs differ in nothing but what is compared?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rota.analysis._groups import HARMLESS
from rota.analysis._setting_fields import flat
from rota.budgets import UPDATES
from rota.errors import unknown_name

UNCOMPARED = HARMLESS | {"data", "keep", "delay", "log_rows", "frozen_cache"}
"""Fields of a plan that say where and how a run was executed and what is kept of it, not what is trained."""

USUALLY = ("method", "options")
"""In what variants may differ where a claim does not say."""


def other_fields(one: Mapping[str, Any], other: Mapping[str, Any], may: Iterable[str]) -> list[str]:
    """Fields in which two plans differ although they may not.

    Args:
        one, other: Plans.
        may: Fields in which they may differ, with all that is inside them: "options" stands for "options.eta".

    >>> one = {"method": "exp3s", "lr": 0.1, "options": {"eta": 1}, "seed": 0}
    >>> other_fields(one, {"method": "uniform", "lr": 0.2, "options": {}, "seed": 1}, ["method", "options"])
    ['lr']
    """
    allowed = tuple(may)
    for name in set(allowed) - set(USUALLY):
        if name.partition(".")[0] not in {**one, **other}:
            raise unknown_name("field in which variants may differ", name, {**one, **other})
    if UPDATES not in (one.get("budget", UPDATES), other.get("budget", UPDATES)):
        allowed = (*allowed, "steps")  # which follow from the budget
    shared = one.keys() & other.keys()  # another version of rota may have had other fields
    plans = tuple(flat({name: plan[name] for name in plan if name in shared}) for plan in (one, other))
    fields = dict.fromkeys(field for plan in plans for field in plan)
    return [
        field
        for field in fields
        if field not in UNCOMPARED
        and not any(field == name or field.startswith(f"{name}.") for name in allowed)
        and plans[0].get(field) != plans[1].get(field)
    ]
