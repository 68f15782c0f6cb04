"""What runs were asked for, field by field, and in which fields they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rota.runlog import Run

SURROUNDINGS = ("policy", "parameters", "processes", "threads", "device", "versions")


def setting_fields(run: Run) -> dict[str, Any]:
    """The plan of a run and what it ran on, each field by its path, such as `plan.options.eta`.

    >>> from rota.testing import written_run
    >>> fields = setting_fields(written_run({"rte": [0.5]}, "exp3s", plan={"options": {"eta": 0.1}}, device="cpu"))
    >>> fields["plan.options.eta"], fields["device"]
    (0.1, 'cpu')
    """
    return {**flat({"plan": run.plan}), **flat({name: run.info[name] for name in SURROUNDINGS if name in run.info})}


def field_values(runs: Sequence[Run], field: str) -> list[str]:
    """The values of a field as a person writes them, each once, in the order in which they come.

    >>> from rota.testing import written_run
    >>> field_values([written_run({"rte": [0.5]}, seed=seed) for seed in (0, 1, 1)], "plan.seed")
    ['0', '1']
    """
    return list(dict.fromkeys(setting_as_text(setting_fields(run).get(field)) for run in runs))


def differing_fields(runs: Sequence[Run]) -> list[str]:
    """Fields that are not the same in all runs; the method is none of them.

    >>> from rota.testing import written_run
    >>> differing_fields([written_run({"rte": [0.5]}, plan={"lr": lr, "steps": 600}) for lr in (0.1, 0.2)])
    ['plan.lr']
    """
    fields = dict.fromkeys(field for run in runs for field in setting_fields(run) if field != "plan.method")
    return [field for field in fields if len(field_values(runs, field)) > 1]


def flat(content: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings as one level.

    >>> flat({"steps": 600, "options": {"eta": 0.1}, "rows": {}})
    {'steps': 600, 'options.eta': 0.1}
    """
    found: dict[str, Any] = {}
    for name, value in content.items():
        found.update(flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {prefix + name: value})
    return found


def setting_as_text(value: Any) -> str:
    """A setting as a person writes it.

    >>> setting_as_text(["left", "right"]), setting_as_text(None), setting_as_text(0.5)
    ('left, right', '–', '0.5')
    """
    if value is None:
        return "–"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
