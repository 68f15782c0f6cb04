"""Stage 1 of AutoSeM (Guo et al. 2019): which tasks a bandit tried for a target, and their estimated utilities."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import lgamma
from pathlib import Path
from typing import Any

import numpy as np

from rota.analysis._groups import group_runs, method_of
from rota.arrays import Floats
from rota.runlog import INNER, LOG, RUN, SELECTION, STAGE_1, Run, read_lines
from rota.search import Beliefs

BANDIT = "thompson"
POINTS = 200  # of a density


@dataclass(frozen=True)
class BanditOutcome:
    """What one run of the bandit came to.

    Args:
        run: The run.
        beliefs: About its tasks.
        chosen: Which tasks were chosen by them; None if there was no selection.
        rule: How they were chosen.

    >>> from rota.testing import written_run
    >>> rounds = [{"kind": "arm", "step": k, "task": task, "value": 1.0} for k, task in enumerate(["rte", "mnli"])]
    >>> run = written_run({"rte": [0.6], "mnli": [0.7]}, method="thompson", plan={"target": "rte"}, lines=rounds)
    >>> [outcome] = bandit_outcomes([run])["thompson"]
    >>> outcome.beliefs.arms, outcome.chosen
    (('rte', 'mnli'), None)
    """

    run: Run
    beliefs: Beliefs
    chosen: list[str] | None
    rule: dict[str, Any]


def bandit_outcomes(runs: Iterable[Run]) -> dict[str, list[BanditOutcome]]:
    """Of every bandit that has finished a round, each once, by the method that it was for; with its settings where
    they differ.

    Args:
        runs: Of any methods; those of method autosem have the bandit inside of them.

    >>> from rota.testing import written_run
    >>> rounds = [{"kind": "arm", "step": 5, "task": "mnli", "value": 1.0}]
    >>> run = written_run({"rte": [0.6], "mnli": [0.7]}, method="thompson", plan={"target": "rte"}, lines=rounds)
    >>> {method: len(outcomes) for method, outcomes in bandit_outcomes([run]).items()}
    {'thompson': 1}
    """
    methods: dict[str, dict[Path, Run]] = {}
    for run in runs:
        for folder in (run.folder, run.folder / INNER / STAGE_1):
            if (folder / RUN).is_file() and _has_rounds(own := Run(folder)):
                methods.setdefault(method_of(run), {})[folder.resolve()] = own
    return {
        method + group.name.removeprefix(BANDIT): [_read(run) for run in group.runs]
        for method, bandits in methods.items()
        for group in group_runs(bandits.values())
    }


def by_utility(outcomes: Sequence[BanditOutcome]) -> list[str]:
    """The target, then the other tasks, the most useful first; mean over seeds.

    >>> from rota.testing import written_run
    >>> heard = [("mnli", 1.0), ("wnli", 0.0)]
    >>> rounds = [{"kind": "arm", "step": k, "task": task, "value": value} for k, (task, value) in enumerate(heard)]
    >>> scores = {"wnli": [0.5], "mnli": [0.7], "rte": [0.6]}
    >>> run = written_run(scores, method="thompson", plan={"target": "rte"}, lines=rounds)
    >>> by_utility(bandit_outcomes([run])["thompson"])
    ['rte', 'mnli', 'wnli']
    """
    beliefs = [one.beliefs for one in outcomes]
    useful = {task: float(np.mean([own.averaged[task] for own in beliefs])) for task in beliefs[0].tasks}
    return sorted(useful, key=lambda task: (task != beliefs[0].primary, -useful[task]))


def beta_density(successes: float, failures: float) -> tuple[Floats, Floats]:
    """Where, and how dense: in the middle of equal cells of [0, 1], so that no end is infinite.

    >>> at, dense = beta_density(2.0, 1.0)
    >>> float(at[-1]), round(float(dense[-1]), 3)
    (0.9975, 1.995)
    """
    at = (np.arange(POINTS) + 0.5) / POINTS
    whole = lgamma(successes + failures) - lgamma(successes) - lgamma(failures)
    return at, np.exp(whole + (successes - 1) * np.log(at) + (failures - 1) * np.log1p(-at))


def _read(run: Run) -> BanditOutcome:
    """Hear again what the bandit heard, and read what was chosen by it."""
    path = run.folder / SELECTION
    told: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return BanditOutcome(run, Beliefs.of(run), told.get("chosen"), told.get("rule") or {})


def _has_rounds(run: Run) -> bool:
    """Whether a round is over; the beginning of the log tells."""
    path = run.folder / LOG
    if run.plan.get("method") != BANDIT or not path.is_file():
        return False
    return any(line["kind"] == "arm" for line in read_lines(path))
