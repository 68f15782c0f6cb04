"""What `rota headroom` prints."""

from __future__ import annotations

import math
from collections.abc import Mapping

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from rota.surfaces import Gain, Headroom, HeldOut


def points(value: float) -> str:
    """
    >>> points(-0.0123)
    '−1.2'
    """
    return f"{100 * value:+.1f}".replace("-", "−")


def told(gain: Gain) -> str:
    """
    >>> told(Gain(0.012, -0.001, 0.025))
    '+1.2 [−0.1, +2.5]'
    """
    return f"{points(gain.mean)} [{points(gain.low)}, {points(gain.high)}]"


def mixtures_table(found: Headroom, plain: Mapping[str, Mapping[str, float]]) -> Table:
    """Shares of the recommended mixture beside the plain ones, and what it gains over each of them."""
    table = Table(title="Share of the updates, percent", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("")
    for name in ("recommended", *plain):
        table.add_column(name, justify="right", no_wrap=True)
    for task, share in found.mixture.items():
        others = (f"{100 * mixture[task]:.1f}" for mixture in plain.values())
        table.add_row(escape(task), f"{100 * share:.1f}", *others)
    table.add_section()
    table.add_row("expected gain [95 %]", "", *(told(found.over[name]) for name in plain), style="bold")
    return table


def gains_table(found: Headroom, known: HeldOut) -> Table:
    """What each task gains or pays, and whether its law knows mixtures that it was not fitted to."""
    title = f"What each task gains or pays, compared with {found.plain}, points"
    table = Table(title=escape(title), title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("task")
    columns = ["gain [95 %]", "held-out\nrank correlation"]
    columns += ["stretch at the\nfull budget"] if found.stretch else []
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    for task, gain in found.by_task.items():
        rank = known.ranks[task]
        cells = [told(gain), "–" if math.isnan(rank) else f"{rank:.2f}".replace("-", "−")]
        if found.stretch:
            own = found.stretch[task]
            cells.append(f"{own.mean:.1f} [{own.low:.1f}, {own.high:.1f}]")
        table.add_row(escape(task), *cells)
    return table


def verdict_told(found: Headroom, known: HeldOut) -> str:
    """What follows from it, and how far the laws can be trusted.

    >>> gain = Gain(0.001, -0.002, 0.002)
    >>> found = Headroom({"a": 1.0}, "uniform", {"uniform": gain}, {}, {"uniform": 0.7}, {})
    >>> import numpy as np
    >>> print(verdict_told(found, HeldOut(np.array([0.5, 0.6]), np.array([0.5, 0.7]), {}, 0.95)))
    The plain mixture uniform is within 0.3 points of the best: stop here.
    Held-out mixtures: rank correlation 1.00; 95 % of their scores are in their 95 % intervals.
    """
    enough, gain = f"{100 * found.enough:g} points", found.gain
    if found.advice == "stop here":
        said = f"The plain mixture {found.plain} is within {enough} of the best: stop here."
        if gain.high > found.enough:
            said = (
                f"Nothing better than the plain mixture {found.plain} by {enough} is expected: stop here. "
                f"The runs do not exclude a gain of {100 * gain.high:.1f}; more --seeds or --mixtures would."
            )
    elif found.advice == "worth it":
        said = f"The recommended mixture is better than {found.plain}, the best plain one, by {told(gain)}: worth it."
    else:
        said = f"The recommended mixture may be better than {found.plain} by {told(gain)}: more seeds would tell."
    rank = f"{known.rank:.2f}".replace("-", "−")
    covered = f"{100 * known.covered:.0f} % of their scores are in their 95 % intervals"
    return f"{said}\nHeld-out mixtures: rank correlation {rank}; {covered}."
