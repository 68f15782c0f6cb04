"""Which runs belong together: same method, same settings, another seed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rota.analysis._setting_fields import flat, setting_as_text
from rota.runlog import Run

HARMLESS = {
    *("seed", "device", "threads", "engine", "num_workers", "eval_batch_size", "checkpoint_every"),
    "options.logs",  # each seed may learn from a log of its own
}
"""Fields that runs of one group may differ in: the seed, and how a run was executed."""

CHOOSING = {"autosem", "autosem@paper", "educated-guess"}
"""Methods that choose among the tasks of the plan, each seed for itself."""

SAME = 1e-9  # by how much shares of one mixture may differ
SHOWN = 3  # fields that fit into the name of a group


@dataclass(frozen=True)
class Group:
    """Runs that differ in their seed only: one row, one line, one column, one colour.

    Args:
        name: What the user calls it; else the method, with the settings that tell it from others of the same method.
        runs: At least one.

    >>> from rota.testing import written_run
    >>> group = Group("uniform", (written_run({"rte": [0.5]}), written_run({"rte": [0.6]}, seed=1, finished=False)))
    >>> len(group.runs), len(group.finished)
    (2, 1)
    """

    name: str
    runs: tuple[Run, ...]

    @property
    def finished(self) -> list[Run]:
        return [run for run in self.runs if run.finished]


def group_runs(runs: Iterable[Run], names: Mapping[Path, str] | None = None) -> list[Group]:
    """Put runs together that differ in their seed only, in the order in which they come.

    Runs of one method with different settings are never averaged: they become groups of their own. Where the user
    has named runs, those of one name are a group, whatever they are.

    Args:
        runs: Of any methods.
        names: By folder; runs that are not in it are grouped by their settings.

    >>> from rota.testing import written_run
    >>> runs = [written_run({"rte": [0.5]}, seed=seed, plan={"lr": lr}) for lr in (0.1, 0.2) for seed in range(3)]
    >>> {group.name: len(group.runs) for group in group_runs(runs)}
    {'uniform (lr 0.1)': 3, 'uniform (lr 0.2)': 3}
    """
    called = {folder.resolve(): name for folder, name in (names or {}).items()}
    named: dict[str, list[Run]] = {}
    families: dict[str, dict[str, list[Run]]] = {}
    for run in runs:
        if (name := called.get(run.folder.resolve()) if called else None) is not None:
            named.setdefault(name, []).append(run)
        else:
            settings = json.dumps([_identity(run), _fixed_mixture(run)], sort_keys=True)
            families.setdefault(method_of(run), {}).setdefault(settings, []).append(run)
    groups = [Group(name, tuple(own)) for name, own in named.items()]
    for method, members in families.items():
        own_names = _names(method, [_identity(own[0]) for own in members.values()])
        for name, own in zip(own_names, members.values(), strict=True):
            groups.append(Group(f"{name} (unnamed)" if name in named else name, tuple(own)))
    return groups


def method_of(run: Run) -> str:
    """The name of its method; of its policy where a program called `fit` without one. A loop with a fixed mixture
    that a method has as well is called by the name of that method.

    >>> from rota.testing import written_run
    >>> loop = {"stream": "Mix", "policy": "Fixed", "mixture": {"rte": 0.5, "mnli": 0.5}}
    >>> method_of(written_run({"rte": [0.5], "mnli": [0.6]}, method="", **loop))
    'uniform'
    """
    fixed = _fixed_mixture(run)
    rows = {task: (info.get("rows") or {}).get("train") for task, info in run.info["tasks"].items()}
    if fixed and _is_mixture_of(fixed, dict.fromkeys(fixed, 1.0)):
        return "uniform"
    if fixed and all(rows.get(task) for task in fixed) and _is_mixture_of(fixed, rows):
        return "proportional"
    return str(run.plan.get("method") or run.info.get("policy") or "unnamed")


def _fixed_mixture(run: Run) -> dict[str, float]:
    """Of a custom loop that never changes it: its log does not say more about the policy."""
    mixes = run.info.get("stream") == "Mix" and run.info.get("policy") == "Fixed"
    return dict(run.info.get("mixture") or {}) if mixes else {}


def _is_mixture_of(mixture: Mapping[str, float], weights: Mapping[str, Any]) -> bool:
    total = sum(weights[task] for task in mixture)
    return all(abs(share - weights[task] / total) < SAME for task, share in mixture.items())


def tasks_of(runs: Iterable[Run]) -> dict[str, bool]:
    """All tasks of these runs, each with whether it is auxiliary wherever it occurs; those that count come first.

    >>> from rota.testing import written_run
    >>> tasks_of([written_run({"mnli": [0.7], "rte": [0.5]}, auxiliary=["mnli"])])
    {'rte': False, 'mnli': True}
    """
    auxiliary: dict[str, bool] = {}
    for run in runs:
        for task, info in run.info["tasks"].items():
            auxiliary[task] = auxiliary.get(task, True) and bool(info.get("auxiliary"))
    return dict(sorted(auxiliary.items(), key=lambda item: item[1]))


def counted_tasks(run: Run) -> list[str]:
    """The tasks that count in the averages of this run.

    >>> from rota.testing import written_run
    >>> counted_tasks(written_run({"rte": [0.5], "mnli": [0.7]}, auxiliary=["mnli"]))
    ['rte']
    """
    return [task for task, info in run.info["tasks"].items() if not info.get("auxiliary")]


def run_names(runs: Sequence[Run]) -> list[str]:
    """Short names of runs: their folders, with the folder above where two are called the same.

    >>> from rota.testing import written_run
    >>> run_names([written_run({"rte": [0.5]}, seed=seed) for seed in range(2)])
    ['uniform-0', 'uniform-1']
    """
    short = [run.folder.name for run in runs]
    return [
        name if short.count(name) == 1 else f"{run.folder.parent.name}/{name}"
        for run, name in zip(runs, short, strict=True)
    ]


def _identity(run: Run) -> dict[str, Any]:
    """Everything that makes a run another experiment and not another seed."""
    settings = {name: value for name, value in flat(run.plan).items() if name not in HARMLESS}
    if method_of(run) in CHOOSING:
        return settings
    learned = [f"{name}{' (auxiliary)' if info.get('auxiliary') else ''}" for name, info in run.info["tasks"].items()]
    return {**settings, "tasks": learned, "parameters": run.info.get("parameters")}


def _names(method: str, members: list[dict[str, Any]]) -> list[str]:
    """One name per group of a method: nothing to add if there is one, else the settings in which they differ."""
    if len(members) == 1:
        return [method]
    fields = dict.fromkeys(field for member in members for field in member)
    differing = [field for field in fields if len({setting_as_text(member.get(field)) for member in members}) > 1]
    names = [_name(method, member, differing[:SHOWN]) for member in members]
    return [name if names.count(name) == 1 else f"{name} #{k}" for k, name in enumerate(names, start=1)]


def _name(method: str, member: dict[str, Any], fields: list[str]) -> str:
    said = [f"{field.rsplit('.', 1)[-1]} {setting_as_text(member.get(field))}" for field in fields]
    return f"{method} ({', '.join(said)})" if said else method
