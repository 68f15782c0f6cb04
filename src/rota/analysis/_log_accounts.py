"""Table 3 of Glover & Hokamp 2019: mixtures beside the sizes of data sets, and what logs said about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rota.analysis._checkpoint_scores import score, split_of
from rota.analysis._groups import Group
from rota.analysis._spreads import spread
from rota.arrays import Floats
from rota.curves import Curve
from rota.errors import RotaError
from rota.offpolicy import planned, read_logs, value
from rota.runlog import INNER, Run, find_runs


@dataclass(frozen=True)
class LogAccount:
    """Estimated and realised rewards of the mixtures of a group. Means over its finished runs.

    Args:
        earned: The mean reward of the log itself.
        estimated, low, high: That of the mixture, by weighted importance sampling, with its 95 % interval.
        effective: As many decisions of the mixture's own would say as much as the log.
        realised: The mean reward in the run itself.
        before, after: The average score of the log, and with the mixture.

    >>> rewards = {"earned": 0.010, "estimated": 0.014, "low": 0.008, "high": 0.020, "realised": 0.013}
    >>> account = LogAccount(**rewards, effective=310.0, before=0.61, after=0.64)
    >>> account.low <= account.realised <= account.high  # whether the interval held what was then earned
    True
    """

    earned: float
    estimated: float
    low: float
    high: float
    effective: float
    realised: float
    before: float
    after: float


@dataclass(frozen=True)
class MixtureAccounts:
    """Fixed mixtures of runs.

    Args:
        rows: Training rows of each task of the first mixture.
        shares: By the name of the group, then by task; means over seeds.
        doubled: By how much the score of a task's batches should rise with twice as many visits, by its learning curve
            in the first log; empty where there is no log.
        accounts: By the name of the group, where its mixture can be judged by a log.

    >>> from rota.analysis import group_runs
    >>> from rota.testing import written_run
    >>> fixed = {"policy": "Fixed", "stream": "TaskStream", "mixture": {"rte": 0.75, "mnli": 0.25}}
    >>> found = mixture_accounts(group_runs([written_run({"rte": [0.5], "mnli": [0.6]}, "counterfactual", **fixed)]))
    >>> found.rows, found.accounts  # there is no log to judge the mixture by
    ({'rte': 100.0, 'mnli': 100.0}, {})
    """

    rows: dict[str, float]
    shares: dict[str, dict[str, float]]
    doubled: dict[str, float]
    accounts: dict[str, LogAccount]


def mixture_accounts(groups: Sequence[Group]) -> MixtureAccounts | None:
    """None where no run has a fixed mixture of its own.

    >>> from rota.analysis import group_runs
    >>> from rota.testing import written_run
    >>> fixed = {"policy": "Fixed", "stream": "TaskStream", "mixture": {"rte": 0.75, "mnli": 0.25}}
    >>> run = written_run({"rte": [0.5], "mnli": [0.6]}, method="counterfactual", **fixed)
    >>> mixture_accounts(group_runs([run])).shares
    {'counterfactual': {'rte': 0.75, 'mnli': 0.25}}
    """
    mixed = [group for group in groups if _has_mixture(group.runs[0])]
    if not mixed:
        return None
    even = {run.plan.get("seed"): run for group in groups for run in group.runs if _samples_evenly(run)}
    loggers = {run.folder: _logger(run, even) for group in mixed for run in group.runs}
    accounts = {}
    for group in mixed:
        pairs = [(log, run) for run in group.finished if (log := loggers[run.folder]) is not None]
        if pairs:
            accounts[group.name] = _account(pairs, split_of(groups))
    first = next((log for log in loggers.values() if log is not None), None)
    tasks = dict.fromkeys(task for group in mixed for task in group.runs[0].info["mixture"])
    run = mixed[0].runs[0]
    return MixtureAccounts(
        dict(zip(run.info["mixture"], _rows(run).tolist(), strict=True)),
        {group.name: _shares(group, list(tasks)) for group in mixed},
        _doubled(planned(first.folder).curves) if first else {},
        accounts,
    )


def _shares(group: Group, tasks: Sequence[str]) -> dict[str, float]:
    return {task: float(np.mean([run.info["mixture"].get(task, 0.0) for run in group.runs])) for task in tasks}


def _doubled(curves: Mapping[str, Curve]) -> dict[str, float]:
    return {task: float(curve(2 * curve.visits) - curve(curve.visits)) for task, curve in curves.items()}


def _account(pairs: Sequence[tuple[Run, Run]], split: str) -> LogAccount:
    """Of runs, each behind the run whose log its mixture is judged by."""
    earned, estimated, realised = [], [], []
    for log, run in pairs:
        then, now = read_logs([log.folder]), read_logs([run.folder])
        earned.append(value(then, then.mixture).value)
        estimated.append(value(then, run.info["mixture"]))
        realised.append(value(now, now.mixture).value)
    low, high = np.mean([one.interval() for one in estimated], axis=0)
    return LogAccount(
        float(np.mean(earned)),
        float(np.mean([one.value for one in estimated])),
        float(low),
        float(high),
        float(np.mean([one.effective_sample_size for one in estimated])),
        float(np.mean(realised)),
        spread(score(log, split) for log, _ in pairs).mean,
        spread(score(run, split) for _, run in pairs).mean,
    )


def _logger(run: Run, even: Mapping[int | None, Run]) -> Run | None:
    """Whose log its mixture is judged by, if that can be learned from."""
    own = find_runs([run.folder / INNER]) if (run.folder / INNER).is_dir() else []
    last = max(own, key=lambda inner: inner.info.get("created", ""), default=even.get(run.plan.get("seed")))
    if last is None or not last.finished or set(last.info["mixture"]) != set(run.info["mixture"]):
        return None
    try:
        planned(last.folder)
    except RotaError:
        return None  # too short, or nothing got better
    return last


def _has_mixture(run: Run) -> bool:
    """Whether it sampled from a mixture that is neither uniform nor that of the sizes."""
    if not _samples(run):
        return False
    shares = _array(run)
    return not _alike(shares, np.ones(len(shares))) and not _alike(shares, _rows(run))


def _samples_evenly(run: Run) -> bool:
    return _samples(run) and _alike(_array(run), np.ones(len(run.info["mixture"])))


def _samples(run: Run) -> bool:
    return run.info.get("policy") == "Fixed" and run.info.get("stream") == "TaskStream"


def _array(run: Run) -> Floats:
    return np.array(list(run.info["mixture"].values()), dtype=np.float64)


def _rows(run: Run) -> Floats:
    return np.array([run.info["tasks"][task]["rows"]["train"] for task in run.info["mixture"]], dtype=np.float64)


def _alike(one: Floats, other: Floats) -> bool:
    return bool(np.allclose(one / one.sum(), other / other.sum(), atol=1e-6))
