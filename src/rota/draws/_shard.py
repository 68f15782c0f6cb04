"""Which rows of a batch belong to this process."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rota.arrays import Ids


@dataclass(frozen=True)
class Shard:
    """Which part of every batch this process works on."""

    rank: int = 0
    world: int = 1

    def of(self, ids: Ids) -> tuple[Ids, int]:
        """This process's rows, and how many of them count.

        A batch with fewer rows than processes leaves somebody without a row; that process computes the
        first row of the batch, which then counts nothing. Padding stays inside the task.
        """
        if self.world == 1:
            return ids, len(ids)
        own = np.array_split(ids, self.world)[self.rank]
        return (own, len(own)) if len(own) else (ids[:1], 0)
