"""From a policy to batches."""

from rota.streams._loader import Shard
from rota.streams._queue import Queue
from rota.streams._streams import JointStream, Part, Stream, TaskStream, Turn, batches_per_pass, rows_per_step

__all__ = ["JointStream", "Part", "Queue", "Shard", "Stream", "TaskStream", "Turn", "batches_per_pass", "rows_per_step"]
