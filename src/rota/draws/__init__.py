"""Which rows come next: a task's rows in random order, and each process's part of a batch."""

from rota.draws._queue import Queue
from rota.draws._shard import Shard

__all__ = ["Queue", "Shard"]
