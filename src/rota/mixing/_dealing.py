"""How the rows of an update are dealt out to batches and processes."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from rota.draws import Shard
from rota.errors import RotaError


@dataclass(frozen=True)
class Dealing:
    """Every update is cut into `accumulation` batches for each of `world` processes.

    Args:
        rank, world: This process among all.
        accumulation: Batches of a process in an update.
        host_shards: Whether the batches of all processes are handed out one after the other.
    """

    rank: int = 0
    world: int = 1
    accumulation: int = 1
    host_shards: bool = False

    @cached_property
    def together(self) -> int:
        """Batches that are handed out for one that this process trains on."""
        return self.world if self.host_shards else 1

    @cached_property
    def handed_out(self) -> int:
        """Batches that are handed out for an update."""
        return self.accumulation * self.together

    def rows_of_an_update(self, batch_sizes: Mapping[str, int]) -> dict[str, int]:
        """Of each task, over all batches and processes."""
        return {task: size * self.accumulation * self.world for task, size in batch_sizes.items()}

    @cached_property
    def shards(self) -> list[Shard]:
        """Which part of the rows each batch has that is handed out for an update."""
        if not self.host_shards:
            return self.own
        ranks = range(self.world)
        return [self._shard(rank, batch) for batch in range(self.accumulation) for rank in ranks]

    @cached_property
    def own(self) -> list[Shard]:
        """Which part of the rows each batch of this process has."""
        return [self._shard(self.rank, batch) for batch in range(self.accumulation)]

    def _shard(self, rank: int, batch: int) -> Shard:
        return Shard(rank * self.accumulation + batch, self.world * self.accumulation)


def processes(rank: int | None, world: int | None) -> tuple[int, int]:
    """This process and their number; as torch.distributed says, where nobody does."""
    if (rank is None) != (world is None):
        raise RotaError(f"A mix expects rank and world together. Found rank={rank} and world={world}.")
    if rank is not None and world is not None:
        if not 0 <= rank < world:
            raise RotaError(f"A mix expects a rank below world. Found rank={rank} and world={world}.")
        return rank, world
    torch = sys.modules.get("torch")  # who has not imported it has one process
    if torch is None or not torch.distributed.is_available() or not torch.distributed.is_initialized():
        return 0, 1
    return torch.distributed.get_rank(), torch.distributed.get_world_size()
