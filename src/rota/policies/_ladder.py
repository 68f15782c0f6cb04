"""A plan for thousands of tasks: a few of them are looked at in a step, and all that is remembered of a look is how
much each rung of a ladder of shares would bring."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rota.arrays import Floats, Ids
from rota.curves import ByTask

RUNGS = np.array([0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
"""Shares beyond the least one, as multiples of a task's prior share."""
SLICE = 128  # tasks that are looked at together
PACE = 8  # steps between two looks: what they cost is spread
UNSEEN = -1.0  # of a task that nobody has looked at: it keeps its prior share
EQUAL = 0.05  # rates that differ by no more than this share: one of them was looked at earlier


class Ladder(ByTask):
    """What was seen of each task when it was looked at last.

    Args:
        tasks: Their names.
    """

    def __init__(self, tasks: Sequence[str]) -> None:
        super().__init__(tasks)
        by_name = np.array(sorted(range(len(tasks)), key=tasks.__getitem__))
        self._looks = np.array_split(by_name, -(-len(tasks) // SLICE))
        # Half as long as other numbers: a look is a guess, and there are many of them to save.
        self._least = np.full(len(tasks), UNSEEN, np.float32)
        self._gains = np.zeros((len(tasks), len(RUNGS) - 1), np.float32)

    def turn(self, heard: int, every: int, begun: float) -> Ids | None:
        """The tasks to look at now, after so much was heard; None for no task. A round of looks begins after `every`
        steps, or when the one before is over."""
        period = max(every, len(self._looks) * PACE)
        phase = heard % period
        look, between = divmod(phase, PACE)
        return None if between or look >= len(self._looks) or heard - phase < begun else self._looks[look]

    def is_last(self, rows: Ids) -> bool:
        """Whether all tasks were looked at."""
        return rows is self._looks[-1]

    def shares(self, least: Floats, prior: Floats) -> Floats:
        """The shares at which gains are asked for, [T, rungs]."""
        return np.asarray(least[:, None] + prior[:, None] * RUNGS)

    def note(self, rows: Ids, least: Floats, gains: Floats) -> None:
        """What a look at some tasks has shown: what they must have, and what each further rung brings."""
        self._least[rows], self._gains[rows] = least, _falling(gains)

    def filled(self, prior: Floats, kept: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Floats:
        """The plan: rungs are given away from the one that brings most for its length, until nothing is left. Rungs
        that bring equally much get equal parts; what brings nothing to any task is spread as the prior is."""
        least = np.where(self._least == UNSEEN, prior, self._least)
        least /= max(1.0, least.sum())
        rest = 1.0 - least.sum()
        lengths = prior[:, None] * np.diff(RUNGS)
        rates = np.where(kept[:, None] | (lengths == 0), 0.0, self._gains / np.where(lengths > 0, lengths, 1.0))
        order = np.argsort(-rates, axis=None, kind="stable")
        sums = lengths.ravel()[order].cumsum()
        last = int(np.searchsorted(sums, rest))
        level = rates.ravel()[order[last]] if last < len(order) else 0.0
        won = np.where(rates > level * (1 + EQUAL), lengths, 0.0)
        tied = np.where((np.abs(rates - level) <= level * EQUAL) & (rates > 0), lengths, 0.0)
        left = max(0.0, rest - won.sum())
        part = min(1.0, left / tied.sum()) if tied.any() else 0.0
        plan = least + (won + part * tied).sum(axis=1)
        return np.asarray(plan + max(0.0, 1.0 - plan.sum()) * prior)


def _falling(gains: Floats) -> Floats:
    """The same total with rates that never rise: a rung that brings something only with the next ones is worth its part
    of them (the least concave curve above)."""
    ends = np.concatenate([np.zeros((len(gains), 1)), gains.cumsum(axis=1)], axis=1)
    lengths = np.diff(RUNGS)
    rates = np.empty_like(gains)
    for rung in range(gains.shape[1]):
        best = [
            np.max([(ends[:, b] - ends[:, a]) / (RUNGS[b] - RUNGS[a]) for b in range(rung + 1, len(RUNGS))], axis=0)
            for a in range(rung + 1)
        ]
        rates[:, rung] = np.min(best, axis=0)
    return rates * lengths
