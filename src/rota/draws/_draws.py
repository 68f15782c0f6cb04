"""Whose batch is next, which rows it has, and which of these belong to this process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rota.arrays import Ids, from_json, to_json
from rota.draws._queue import Queue
from rota.feedback import Choice
from rota.policies import Policy
from rota.seeds import generator


class Drawn(NamedTuple):
    """One draw.

    Args:
        choice: The task that was drawn.
        number: Of the batch, in the queue of its task.
        ids: Row numbers of the whole batch, over all processes.

    >>> from rota.policies import uniform
    >>> drawn = Draws(uniform(["rte"]), {"rte": Queue("rte", 10, 4, seed=0)}, seed=0).draw(step=0)
    >>> drawn.choice.task, drawn.number, len(drawn.ids)
    ('rte', 0, 4)
    """

    choice: Choice
    number: int
    ids: Ids


class Draws:
    """A policy, the generator that it draws with, and the rows of its tasks: what `fit` and `Mix` have in common. It
    never looks ahead; its memory leaves out the policy's, which keeps its own.

    Args:
        policy: Over the same tasks.
        queues: The rows of each task.
        seed: Of the draws.

    >>> from rota.policies import Fixed
    >>> queues = {task: Queue(task, 10, 4, seed=0) for task in ("rte", "mnli")}
    >>> draws = Draws(Fixed({"rte": 0.25, "mnli": 0.75}), queues, seed=0)
    >>> [draws.draw(step).choice.task for step in range(5)]
    ['mnli', 'mnli', 'mnli', 'rte', 'mnli']
    >>> draws.state_dict()["consumed"]
    {'rte': 1, 'mnli': 4}
    """

    def __init__(self, policy: Policy, queues: Mapping[str, Queue], seed: int) -> None:
        self.policy, self.queues, self.rng = policy, queues, generator(seed, "choice")

    def draw(self, step: int) -> Drawn:
        """The task of a step and its next batch."""
        choice = self.policy.choose(step, self.rng)
        queue = self.queues[choice.task]
        return Drawn(choice, queue.consumed, queue.next())

    def state_dict(self) -> dict[str, Any]:
        """Counters and a generator, whatever the number of draws."""
        consumed = np.array([queue.consumed for queue in self.queues.values()], dtype=np.int64)
        return {"rng": self.rng.bit_generator.state, "consumed": to_json(tuple(self.queues), consumed)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from there."""
        self.rng.bit_generator.state = state["rng"]
        consumed = from_json(tuple(self.queues), state["consumed"], np.int64).tolist()
        for queue, own in zip(self.queues.values(), consumed, strict=True):
            queue.consumed = own

    def carried(self, state: Mapping[str, Any], tasks: Sequence[str]) -> dict[str, Any]:
        """The state of draws of other tasks as one of these: who stays keeps its place in its rows, who is new begins
        with its first.

        Args:
            state: Of the others.
            tasks: Theirs.
        """
        before = dict(zip(tasks, from_json(tuple(tasks), state["consumed"], np.int64).tolist(), strict=True))
        consumed = np.array([before.get(task, 0) for task in self.queues], dtype=np.int64)
        return {"rng": state["rng"], "consumed": to_json(tuple(self.queues), consumed)}


@dataclass(frozen=True)
class Shard:
    """Which part of every batch this process works on.

    Args:
        rank: This process.
        world: How many there are.
        together: Whether each of them holds a part of the model: then none can do a forward pass without the others.

    >>> import numpy as np
    >>> Shard(rank=1, world=2).of(np.arange(5))  # rows, and how many of them count
    (array([3, 4]), 2)
    """

    rank: int = 0
    world: int = 1
    together: bool = False

    def of(self, ids: Ids) -> tuple[Ids, int]:
        """This process's rows, and how many of them count.

        A batch with fewer rows than processes leaves a process without a row; it computes the
        first row of the batch, which then counts nothing. Padding stays inside the task.
        """
        if self.world == 1:
            return ids, len(ids)
        least, more = divmod(len(ids), self.world)  # the first `more` processes have a row more
        first = self.rank * least + min(self.rank, more)
        own = ids[first : first + least + (self.rank < more)]
        return (own, len(own)) if len(own) else (ids[:1], 0)

    def passes(self, count: int) -> Iterator[tuple[int, bool]]:
        """Which of so many forward passes are this process's, and whether they count. Processes that work together do
        equally many: who has none left repeats the last one, which then counts nothing.

        >>> list(Shard(rank=1, world=2, together=True).passes(3))
        [(1, True), (2, False)]
        """
        for first in range(0, count, self.world):
            number = first + self.rank
            if number < count or self.together:
                yield min(number, count - 1), number < count
