"""Would more updates help, and how far can one trust such a prediction?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

from rota.report._foresight import Foresight, foresight
from rota.report._groups import Group
from rota.report._history import History
from rota.report._palette import Look
from rota.report._tables import method_cell, table

GAINS = (
    '<p class="note">What a tenth more updates should bring to the dev score of each task, in points, by the learning '
    "curve of its scores over its visits; mean over seeds, with the 95 % interval of one run. Visits count by the "
    "learning rate that they had, so this is a run that was planned to be longer.</p>"
)
CHECK = (
    '<p class="note">Whether such curves can be trusted: the last dev score, <em>foretold</em> from the first half of '
    "the evaluations, and what it <em>was</em>, in percent; in brackets in how many of the runs it was inside the "
    "95 % interval. Curves never fall, so a task that gets worse is foretold too high.</p>"
)


def outlook(groups: Sequence[Group], histories: Mapping[str, Sequence[History]], looks: dict[str, Look]) -> str:
    """Both tables; nothing where no run was evaluated often enough."""
    found = {
        group.name: [foresight(run, history) for run, history in zip(group.runs, histories[group.name], strict=True)]
        for group in groups
    }
    tasks = list(dict.fromkeys(task for own in found.values() for each in own for task in each))
    if not tasks:
        return ""
    gains, checks = [], []
    for group in groups:
        by_task = {task: [each[task] for each in found[group.name] if task in each] for task in tasks}
        if any(by_task.values()):
            gains.append([method_cell(group, looks), *(_gain(by_task[task]) for task in tasks)])
            checks.append([method_cell(group, looks), *(_check(by_task[task]) for task in tasks)])
    header = ["method", *map(escape, tasks)]
    return GAINS + table(header, gains) + CHECK + table(header, checks)


def _gain(own: Sequence[Foresight]) -> str:
    if not own:
        return "–"
    gain, reach = np.mean([one.gain for one in own]), np.sqrt(np.mean([one.gain_reach**2 for one in own]))
    told = f"{100 * gain:+.1f} <small>{100 * (gain - reach):+.1f} to {100 * (gain + reach):+.1f}</small>"
    return told.replace("-", "−")


def _check(own: Sequence[Foresight]) -> str:
    if not own:
        return "–"
    foretold, was = np.mean([one.foretold for one in own]), np.mean([one.realised for one in own])
    held = sum(one.held for one in own)
    return f"{100 * foretold:.1f}, was {100 * was:.1f} <small>({held} of {len(own)})</small>"
