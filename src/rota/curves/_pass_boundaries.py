"""How much of the fall of a training loss is overfitting."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rota.arrays import Floats
from rota.curves._by_task import ByTask

QUARTERS = 4
SPREAD_OF_JUMP = 13.0  # variance of a jump, in units of that of one loss over the visits in a pass
ASSUMED, DOUBT, APART = 0.75, 0.25, 0.1  # the share before anything is seen; how far it and those of tasks may be off


class PassBoundaries(ByTask):
    """How far the loss of a task falls where one pass over its rows ends and the next begins.

    Inside a pass every row is new to that pass, so a loss falls as the task is learned. A row of the next pass was
    seen once more: what its own memory is worth shows as a step at the boundary. With q the means of the quarters of a
    pass and q′ those of the next one, the step beyond the slope on both sides of it, and the whole fall from one last
    quarter to the next, are

        jump = 5/4 (q4 - q1′) - 1/4 (q2 - q3′),    fall = q4 - q4′:

    a straight line has no jump, and a staircase nothing else.

    It has to be true that a pass shows every row once, as the streams of `rota` do.

    Args:
        tasks: Their names.
        lengths: Visits in a pass over each task's rows; those of less than four say nothing.

    >>> staircase = PassBoundaries(["rte"], np.array([8.0]))
    >>> for visit in range(32):
    ...     staircase.add(0, 2.0 - visit // 8 * 0.5)
    >>> staircase.shares(scales=np.array([2.0]), noise=np.array([0.01])).round(2)
    array([1.])
    """

    def __init__(self, tasks: Sequence[str], lengths: Floats) -> None:
        super().__init__(tasks)
        self._lengths = [max(1, int(np.ceil(length))) for length in lengths]
        count = len(tasks)
        self._visits: Floats = np.zeros(count)
        self._sums: Floats = np.zeros((count, QUARTERS))  # of the losses of this pass
        self._before: Floats = np.zeros((count, QUARTERS))  # means of the pass before
        self.jumps: Floats = np.zeros(count)
        self.falls: Floats = np.zeros(count)
        self.passed: Floats = np.zeros(count)  # borders that were measured

    def add(self, k: int, loss: float) -> None:
        """One more visit of task number `k`."""
        length = self._lengths[k]
        if length < QUARTERS:
            return
        place = int(self._visits[k]) % length
        self._sums[k, QUARTERS * place // length] += loss
        self._visits[k] += 1
        if place == length - 1:
            self._end_pass(k, length)

    def _end_pass(self, k: int, length: int) -> None:
        starts = np.ceil(np.arange(QUARTERS + 1) * length / QUARTERS)
        means, before = self._sums[k] / np.diff(starts), self._before[k]
        if self._visits[k] > length:
            self.jumps[k] += 1.25 * (before[3] - means[0]) - 0.25 * (before[1] - means[2])
            self.falls[k] += before[3] - means[3]
            self.passed[k] += 1
        self._before[k], self._sums[k] = means, 0.0

    def shares(self, scales: Floats, noise: Floats) -> Floats:
        """The share of each loss's fall that is overfitting, between 0 and 1.

        The prior is that tasks are similar and that all of them overfit; their losses correct it. Posterior means of
        normal distributions, in closed form.

        Args:
            scales: What a loss of each task is divided by, so that they can be compared.
            noise: Standard deviation of one loss of each task.
        """
        jumps, falls = self.jumps / scales, np.maximum(self.falls / scales, 0.0)
        spread = SPREAD_OF_JUMP * np.maximum(self.passed, 1.0) * (noise / scales) ** 2 / np.array(self._lengths)
        spread = np.maximum(spread, 1e-9)
        known = np.where(self.passed > 0, falls**2 / spread, 0.0)  # how well a share is known, as a precision
        said = np.where(self.passed > 0, jumps * falls / spread, 0.0)
        # What one task says about the others is worth no more than they are alike.
        heard = 1.0 / (APART + 1.0 / np.maximum(known, 1e-12))
        own = np.divide(said, known, out=np.zeros_like(said), where=known > 0)
        common = ((heard * own).sum() + ASSUMED / DOUBT) / (heard.sum() + 1.0 / DOUBT)
        return np.asarray(np.clip((said + common / APART) / (known + 1.0 / APART), 0.0, 1.0))
