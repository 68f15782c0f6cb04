"""How alike the tasks of a group of runs look to their first layers, over its seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rota.analysis._spreads import Spread, spread


@dataclass(frozen=True)
class GroupSimilarity:
    """Mean covariance similarity of each task with the others, before and after conditional alignment.

    Args:
        name: Of the group.
        rows: By task, how many were read.
        before: Of each seed, by task.
        after: The same after alignment; empty where there is none.

    >>> found = GroupSimilarity("camtl", {"a": 9}, before=[{"a": 0.5}, {"a": 0.5}], after=[{"a": 0.5}, {"a": 0.75}])
    >>> found.of("a").before.mean, found.of("a").after.mean, found.of("a").change.mean
    (0.5, 0.625, 0.125)
    """

    name: str
    rows: Mapping[str, int]
    before: Sequence[Mapping[str, float]]
    after: Sequence[Mapping[str, float]]

    def of(self, task: str) -> Aligned:
        """One task, over the seeds."""
        return _over(self, [task])

    @property
    def mean(self) -> Aligned:
        """The mean over all tasks, over the seeds."""
        return _over(self, list(self.rows))


@dataclass(frozen=True)
class Aligned:
    """Over seeds: before alignment, after it, and what it changes, seed by seed; none of them where it is not there.

    >>> Aligned(spread([0.5]), spread([]), spread([])).after.n
    0
    """

    before: Spread
    after: Spread
    change: Spread


def _over(group: GroupSimilarity, tasks: Sequence[str]) -> Aligned:
    """The mean over these tasks in each seed, then over the seeds."""
    before, after = ([sum(own[task] for task in tasks) / len(tasks) for own in s] for s in (group.before, group.after))
    changes = [end - begin for begin, end in zip(before, after, strict=True)] if after else []
    return Aligned(spread(before), spread(after), spread(changes))
