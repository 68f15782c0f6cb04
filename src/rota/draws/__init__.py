"""Whose rows come next: a policy's draws, each task's rows in random order, and each process's part of a batch."""

from rota.draws._draws import Drawn, Draws, Shard
from rota.draws._parking import Parking, Unparked
from rota.draws._queue import Partial, Queue, pass_order

__all__ = ["Drawn", "Draws", "Parking", "Partial", "Queue", "Shard", "Unparked", "pass_order"]
