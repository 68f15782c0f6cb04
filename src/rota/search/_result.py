"""What a search found."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from rota.search._model import FEWEST, RatioModel
from rota.search._space import Mixtures

Number = int | float


@dataclass(frozen=True, slots=True)
class RatioTrial:
    """One ratio that was tried.

    Attributes:
        number: Its place in the search, from 0.
        ratio: Batches of each task per cycle, or shares that sum to one.
        value: The mean score over the seeds; of a pruned trial what it last reported, or None.
        values: The score of each seed.
        state: `done`, `pruned` (stopped early, or its training diverged) or `reused` (the same ratio was known).
        acquisition: Which acquisition proposed it: `PI`, `EI` or `UCB`; None for random points and grids.
        steps: Training steps that it reported, over all seeds.
        seconds: How long it took.

    >>> trial = RatioTrial(0, {"rte": 1, "mrpc": 2}, 0.7, (0.6, 0.8), "done", None, steps=200, seconds=1.5)
    >>> trial.value, trial.state
    (0.7, 'done')
    """

    number: int
    ratio: Mapping[str, Number]
    value: float | None
    values: tuple[float, ...]
    state: Literal["done", "pruned", "reused"]
    acquisition: str | None
    steps: int
    seconds: float


@dataclass(frozen=True, slots=True)
class RatioSearch:
    """A search, finished or under way.

    Attributes:
        name: The study's name in its storage.
        trials: What was tried, in the order of the search.
        space: What could have been tried.

    >>> from rota.search import search_ratio
    >>> search = search_ratio(lambda ratio, seed, trial: 1 / sum(ratio.values()), ["rte", "mrpc"], trials=4)
    >>> len(search.trials), search.value == max(trial.value for trial in search.trials)
    (4, True)
    """

    name: str
    trials: tuple[RatioTrial, ...]
    space: Mixtures

    def model(self) -> RatioModel | None:
        """Predicted scores of other ratios; None as long as too few were tried."""
        own = [trial for trial in self.trials if trial.state == "done"]
        return RatioModel(self.space, own) if len(own) >= FEWEST else None

    @property
    def best(self) -> RatioTrial | None:
        """The trial with the largest value, the first of several; None as long as none has finished."""
        finished = [trial for trial in self.trials if trial.state != "pruned" and trial.value is not None]
        return max(finished, key=lambda trial: trial.value or 0.0, default=None)

    @property
    def ratio(self) -> dict[str, Number] | None:
        """The best ratio."""
        return dict(self.best.ratio) if self.best else None

    @property
    def value(self) -> float | None:
        """The value of the best ratio."""
        return self.best.value if self.best else None

    @property
    def best_so_far(self) -> tuple[float, ...]:
        """The largest value after each trial; −∞ as long as none has finished."""
        values = (trial.value if trial.state != "pruned" else None for trial in self.trials)
        return tuple(itertools.accumulate((-math.inf if value is None else value for value in values), max))
