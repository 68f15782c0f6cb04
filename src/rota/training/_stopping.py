"""At which step a run ends that was asked to end: the same one in all processes."""

from __future__ import annotations

import itertools

import torch

from rota.interrupts import is_asked
from rota.training._distributed import DistributedContext

_runs = itertools.count()  # in this process, and so in all of them


class Stopping:
    """Says at the end of each step whether the run ends there.

    No process waits for another before there is a signal, and all processes get one: torchrun and SLURM pass it on.
    They may receive it at different steps. So each leaves in the store of the group at which step it did, and goes on
    until all have done so. A loss is that of all processes and is read `delay` steps late: a process that is
    `delay` + 1 steps ahead of another knows what that one has left. So all end that many steps after the last one
    received it.

    Args:
        context: Who else trains.
        delay: Steps after which a loss is read.
    """

    def __init__(self, context: DistributedContext, delay: int) -> None:
        self._rank, self._world, self._ahead = context.shard.rank, context.shard.world, delay + 1
        self._run = next(_runs)
        self._last: int | None = None

    def ends_at(self, done: int) -> bool:
        """Whether the run ends after step `done`."""
        if not is_asked():
            return False
        return self._world == 1 or self._agreed(done)

    def _agreed(self, done: int) -> bool:
        store = torch.distributed.distributed_c10d._get_default_store()
        keys = [f"rota/stop/{self._run}/{rank}" for rank in range(self._world)]
        if self._last is None:
            if not store.check([keys[self._rank]]):
                store.set(keys[self._rank], str(done))
            if not store.check(keys):
                return False
            self._last = max(int(store.get(key)) for key in keys) + self._ahead
        return done == self._last
