"""From a policy to batches."""

from rota.streams._loader import Shard
from rota.streams._mixed import MixedStream, PoolStream, Question
from rota.streams._mt_uncertainty import MTUncertainty
from rota.streams._queue import Queue
from rota.streams._select import MostTogether, Selector, Top
from rota.streams._streams import (
    BranchStream,
    JointStream,
    Part,
    Stream,
    Streams,
    TaskStream,
    Turn,
    batches_per_pass,
    rows_per_step,
)

__all__ = [
    "BranchStream",
    "JointStream",
    "MTUncertainty",
    "MixedStream",
    "MostTogether",
    "Part",
    "PoolStream",
    "Question",
    "Queue",
    "Selector",
    "Shard",
    "Stream",
    "Streams",
    "TaskStream",
    "Top",
    "Turn",
    "batches_per_pass",
    "rows_per_step",
]
