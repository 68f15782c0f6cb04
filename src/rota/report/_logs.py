"""Table 3 of paper 001: mixtures beside the sizes of data sets, and what logs said about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from rota.curves import Curve
from rota.errors import RotaError
from rota.offpolicy import Estimate, planned, read_logs, value
from rota.report._groups import Group
from rota.report._numbers import spread
from rota.report._palette import Look
from rota.report._scores import score, split_of
from rota.report._tables import method_cell, table
from rota.report._words import percent
from rota.runlog import INNER, Run, find_runs

SHARES = (
    '<p class="note">Fixed mixtures of these runs (means over seeds) beside the share that each task has of all '
    "training rows. <em>twice the visits</em>: by how much the score of its batches (0: as bad as the worst, 1: "
    "nothing left to learn) should rise if a task got twice as many visits, by its learning curve in the log.</p>"
)
ESTIMATES = (
    '<p class="note"><em>estimated</em>: the mean reward of the mixture by weighted importance sampling, from its '
    "inner run or else from the uniform run of its seed, with the 95 % interval. <em>effective decisions</em>: as many "
    "of its own would say as much as the log. <em>realised</em>: the mean reward in the run itself. A reward is "
    "1 − e<sup>−loss</sup> where a task's loss fell since its last visit, else 0: it says how much there still is to "
    "learn, so a mixture that teaches well may earn less than the log promised.</p>"
)


@dataclass(frozen=True)
class _Account:
    """What the log of one run said about the mixture of another, and what came of it."""

    log: Run
    run: Run
    earned: Estimate
    estimated: Estimate
    realised: Estimate


def mixtures_from_logs(groups: Sequence[Group], looks: dict[str, Look]) -> str:
    """Both tables; nothing where no run has a fixed mixture of its own."""
    mixed = [group for group in groups if _has_mixture(group.runs[0])]
    if not mixed:
        return ""
    even = {run.plan.get("seed"): run for group in groups for run in group.runs if _samples_evenly(run)}
    loggers = {run.folder: _logger(run, even) for group in mixed for run in group.runs}
    rows = []
    for group in mixed:
        pairs = [(log, run) for run in group.finished if (log := loggers[run.folder]) is not None]
        if accounts := [_account(log, run) for log, run in pairs]:
            rows.append([method_cell(group, looks), *_summed(accounts, split_of(groups))])
    first = next((log for log in loggers.values() if log is not None), None)
    told = SHARES + _shares(mixed, looks, planned(first.folder).curves if first else {})
    if rows:
        header = ["method", "reward<small>of the log</small>", "estimated<small>for the mixture</small>"]
        header += ["effective<small>decisions</small>", "realised<small>reward</small>"]
        header += ["score<small>of the log</small>", "score<small>with the mixture</small>"]
        told += ESTIMATES + table(header, rows)
    return told


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


def _array(run: Run) -> np.ndarray:
    return np.array(list(run.info["mixture"].values()))


def _rows(run: Run) -> np.ndarray:
    return np.array([run.info["tasks"][task]["rows"]["train"] for task in run.info["mixture"]], dtype=np.float64)


def _alike(one: np.ndarray, other: np.ndarray) -> bool:
    return bool(np.allclose(one / one.sum(), other / other.sum(), atol=1e-6))


def _logger(run: Run, even: dict[int | None, Run]) -> Run | None:
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


def _account(log: Run, run: Run) -> _Account:
    then, now = read_logs([log.folder]), read_logs([run.folder])
    mixture = run.info["mixture"]
    return _Account(log, run, value(then, then.mixture), value(then, mixture), value(now, now.mixture))


def _summed(accounts: Sequence[_Account], split: str) -> list[str]:
    """One row: means over the runs of a group; of the intervals too."""
    low, high = np.mean([account.estimated.interval() for account in accounts], axis=0)
    before = spread(score(account.log, split) for account in accounts)
    after = spread(score(account.run, split) for account in accounts)
    return [
        f"{np.mean([account.earned.value for account in accounts]):.3f}",
        f"{np.mean([account.estimated.value for account in accounts]):.3f} <small>{low:.3f} to {high:.3f}</small>",
        f"{np.mean([account.estimated.effective_sample_size for account in accounts]):,.0f}",
        f"{np.mean([account.realised.value for account in accounts]):.3f}",
        percent(before.mean),
        percent(after.mean),
    ]


def _shares(mixed: Sequence[Group], looks: dict[str, Look], curves: Mapping[str, Curve]) -> str:
    run = mixed[0].runs[0]
    tasks = dict.fromkeys(task for group in mixed for task in group.runs[0].info["mixture"])
    rows = dict(zip(run.info["mixture"], _rows(run), strict=True))
    header = ["task", "training rows", "share of rows"]
    header += [f"{looks[group.name].swatch()} {escape(group.name)}" for group in mixed]
    header += ["twice the visits"] if curves else []
    body = []
    for task in tasks:
        size = rows.get(task, np.nan)
        line = [f'<th scope="row">{escape(task)}</th>', f"{size:,.0f}", f"{size / sum(rows.values()):.3f}"]
        line += [f"{np.mean([own.info['mixture'].get(task, 0.0) for own in group.runs]):.3f}" for group in mixed]
        line += [_doubled(curves.get(task))] if curves else []
        body.append(line)
    return table(header, body)


def _doubled(curve: Curve | None) -> str:
    return "–" if curve is None else f"{float(curve(2 * curve.visits) - curve(curve.visits)):+.3f}"
