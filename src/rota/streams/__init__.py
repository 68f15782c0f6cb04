"""From a policy to batches."""

from rota.deprecation import renamed_names
from rota.streams._mixed import MixedStream, PoolStream
from rota.streams._mt_uncertainty import MTUncertainty
from rota.streams._selectors import CandidateQuery, MostTogether, Selector, Top
from rota.streams._streams import (
    Ended,
    JointStream,
    Stream,
    Streams,
    TaskStream,
    batches_per_pass,
    rows_per_step,
)

__all__ = [
    "CandidateQuery",
    "Ended",
    "JointStream",
    "MTUncertainty",
    "MixedStream",
    "MostTogether",
    "PoolStream",
    "Selector",
    "Stream",
    "Streams",
    "TaskStream",
    "Top",
    "batches_per_pass",
    "rows_per_step",
]

__getattr__ = renamed_names(
    __name__,
    {
        "Part": "rota.engine.TaskBatch",
        "Question": "rota.streams.CandidateQuery",
        "Queue": "rota.draws.Queue",
        "Shard": "rota.draws.Shard",
        "Turn": "rota.engine.StepPlan",
    },
)
