"""Numbers as dots with their intervals, one below the other: what one sees before one reads a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rota.report._palette import LineStyle
from rota.report._pieces import Text

TICKS = 5  # numbers below a plot, about
MARGIN = 0.04  # of the range, on each side


@dataclass(frozen=True)
class Dot:
    """A number and how far it can be trusted.

    Args:
        name: Whose it is.
        style: How that is drawn.
        value: The number; not a number where there is none.
        low, high: Ends of its interval; not numbers where there is none.
        told: The same in words.
    """

    name: Text
    style: LineStyle
    value: float
    low: float
    high: float
    told: Text

    @property
    def known(self) -> bool:
        return bool(np.isfinite(self.value))

    @property
    def sure(self) -> bool:
        """Whether it has an interval."""
        return bool(np.isfinite(self.low) and np.isfinite(self.high))


@dataclass(frozen=True)
class DotPlot:
    """Dots above one axis.

    Args:
        caption: What they are.
        dots: One in each row.
        mark: A number that they are compared with, as an upright line.
    """

    caption: Text
    dots: Sequence[Dot]
    mark: float | None = None

    @property
    def _numbers(self) -> list[float]:
        """All that is drawn."""
        found = [number for dot in self.dots for number in (dot.value, dot.low, dot.high, self.mark)]
        return [number for number in found if number is not None and np.isfinite(number)]

    @property
    def reach(self) -> tuple[float, float]:
        """Where the axis begins and ends."""
        known = self._numbers or [0.0, 1.0]
        wide = max(known) - min(known) or 1.0
        return min(known) - MARGIN * wide, max(known) + MARGIN * wide

    @property
    def ticks(self) -> list[tuple[str, str]]:
        """Place and name of each number below the plot."""
        if len(same := set(self._numbers)) == 1:  # all are equal: a scale would show differences that are none
            return [(self.at(number), f"{number:.4g}".replace("-", "−")) for number in same]
        low, high = self.reach
        step = round_step((high - low) / TICKS)
        first, last = int(np.ceil(low / step)), int(np.floor(high / step))
        digits = max(0, -int(np.floor(np.log10(step))))
        return [(self.at(k * step), f"{k * step:.{digits}f}".replace("-", "−")) for k in range(first, last + 1)]

    def at(self, number: float) -> str:
        """Where a number is, in percent of the width."""
        low, high = self.reach
        return f"{100 * (number - low) / (high - low):.4g}%"


def round_step(least: float) -> float:
    """The smallest of 1, 2, 5, 10, 20, … (and tenths of them) that is no smaller.

    >>> round_step(3.2), round_step(0.6), round_step(0.02)
    (5.0, 1.0, 0.02)
    """
    power = 10.0 ** np.floor(np.log10(least))
    return float(next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9)))
