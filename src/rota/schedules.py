"""Functions from the step to a number. Time is an argument: nothing here owns a clock."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

__all__ = [
    "RateShape",
    "Schedule",
    "annealed_power",
    "as_schedule",
    "constant",
    "cosine",
    "learning_rate",
    "linear",
    "warmup_linear",
]

Schedule = Callable[[int], float]
"""A number for each step."""
RateShape = Literal["linear", "constant", "cosine", "inverse_sqrt", "plateau"]
"""How a learning rate goes on after its warm-up; plateau: it stays, and falls where evaluations do not improve."""


@dataclass(frozen=True)
class constant:  # noqa: N801 - reads as a function, prints as its definition
    """The same value at every step.

    >>> constant(0.5)(1000)
    0.5
    """

    value: float

    def __call__(self, step: int) -> float:
        return self.value


@dataclass(frozen=True)
class linear:  # noqa: N801
    """From `start` to `end` in `steps` steps along a straight line, then `end`.

    >>> [linear(1.0, 0.0, steps=4)(step) for step in (0, 1, 4, 9)]
    [1.0, 0.75, 0.0, 0.0]
    """

    start: float
    end: float
    steps: int

    def __call__(self, step: int) -> float:
        done = min(max(step / self.steps, 0.0), 1.0) if self.steps > 0 else 1.0
        return self.start + (self.end - self.start) * done


@dataclass(frozen=True)
class cosine:  # noqa: N801
    """From `start` to `end` in `steps` steps along half a cosine, then `end`.

    >>> [round(cosine(1.0, 0.0, steps=4)(step), 3) for step in (0, 2, 4)]
    [1.0, 0.5, 0.0]
    """

    start: float
    end: float
    steps: int

    def __call__(self, step: int) -> float:
        done = min(max(step / self.steps, 0.0), 1.0) if self.steps > 0 else 1.0
        return self.end + (self.start - self.end) * 0.5 * (1.0 + math.cos(math.pi * done))


@dataclass(frozen=True)
class annealed_power:  # noqa: N801
    """The exponent of the data set sizes in annealed sampling (PALs, Stickland & Murray 2019).

    In epoch e = 1 … E the exponent is 1 - 0.8 (e - 1) / (E - 1): the first epoch samples by size, the
    last one nearly evenly.

    >>> [round(annealed_power(epochs=5, steps_per_epoch=10)(step), 2) for step in (0, 9, 10, 49, 99)]
    [1.0, 1.0, 0.8, 0.2, 0.2]
    """

    epochs: int
    steps_per_epoch: int

    def __call__(self, step: int) -> float:
        epoch = min(step // max(self.steps_per_epoch, 1), self.epochs - 1)  # e - 1
        return 1.0 - 0.8 * epoch / max(self.epochs - 1, 1)


@dataclass(frozen=True)
class warmup_linear:  # noqa: N801
    """A factor for the learning rate: up to 1 in `warmup` steps, then down to 0 at `steps`.

    >>> [warmup_linear(warmup=2, steps=6)(step) for step in range(6)]
    [0.5, 1.0, 1.0, 0.75, 0.5, 0.25]
    """

    warmup: int
    steps: int

    def __call__(self, step: int) -> float:
        if step < self.warmup:
            return (step + 1) / self.warmup
        return max(self.steps - step, 0) / max(self.steps - self.warmup, 1)


@dataclass(frozen=True)
class learning_rate:  # noqa: N801
    """A factor for the learning rate: up to 1 in `warmup` steps, then down to 0 at `steps` along a line or half a
    cosine, as it is (where it follows evaluations, these scale it further), or with the root of the steps.

    >>> [round(learning_rate("inverse_sqrt", warmup=2, steps=8)(step), 3) for step in (0, 1, 3, 7)]
    [0.5, 1.0, 0.707, 0.5]
    """

    shape: RateShape
    warmup: int
    steps: int

    def __call__(self, step: int) -> float:
        if step < self.warmup or self.shape == "linear":
            return warmup_linear(self.warmup, self.steps)(step)
        if self.shape == "cosine":
            return cosine(1.0, 0.0, max(self.steps - self.warmup, 1))(step - self.warmup)
        return 1.0 if self.shape in ("constant", "plateau") else math.sqrt(max(self.warmup, 1) / (step + 1))


def as_schedule(value: float | Schedule) -> Schedule:
    """A number as a schedule; a schedule as itself.

    >>> as_schedule(0.5)(100)
    0.5
    """
    return value if callable(value) else constant(float(value))
