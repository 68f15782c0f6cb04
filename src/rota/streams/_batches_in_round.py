"""Rounds that take a share of every task's rows: how many batches each has, and in which steps."""

from __future__ import annotations

import math
from collections.abc import Mapping


def batches_in_round(batches: Mapping[str, int], fraction: float, number: int) -> dict[str, int]:
    """Batches of each task in round `number`, so that after k rounds a task has had the share k · `fraction` of its
    batches, rounded once; one in each round at least.

    >>> [batches_in_round({"rte": 5, "cb": 1}, 0.5, number) for number in range(2)]
    [{'rte': 3, 'cb': 1}, {'rte': 2, 'cb': 1}]
    """
    return {
        task: max(1, _until(count, fraction, number + 1) - _until(count, fraction, number))
        for task, count in batches.items()
    }


def steps_of_round(batches: Mapping[str, int]) -> int:
    """Joint steps of a round with so many batches of each task: the largest task has a batch in every one.

    >>> steps_of_round({"rte": 3, "cb": 1})
    3
    """
    return max(batches.values())


def takes_part(batches: int, steps: int, place: int) -> bool:
    """Whether a task with so many batches has one in step `place` of a round: they are spread evenly, and all tasks
    have their last one in the last step.

    >>> [place for place in range(6) if takes_part(2, 6, place)]
    [2, 5]
    """
    return (place + 1) * batches // steps > place * batches // steps


def _until(batches: int, fraction: float, rounds: int) -> int:
    return math.floor(rounds * fraction * batches + 0.5)
