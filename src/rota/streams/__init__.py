"""From a policy to batches."""

from rota.deprecation import renamed_names
from rota.streams._batches_in_round import batches_in_round, steps_of_round, takes_part
from rota.streams._expected_updates import expected_updates, with_expected_steps
from rota.streams._joint_rounds import JointRounds
from rota.streams._mixed import MixedStream, PoolStream
from rota.streams._mt_uncertainty import MTUncertainty
from rota.streams._selectors import CandidateQuery, MostTogether, Selector, Top
from rota.streams._streams import (
    Ended,
    JointStream,
    StepKind,
    Stream,
    Streams,
    TaskStream,
    batches_per_pass,
    rows_per_step,
)

__all__ = [
    "CandidateQuery",
    "Ended",
    "JointRounds",
    "JointStream",
    "MTUncertainty",
    "MixedStream",
    "MostTogether",
    "PoolStream",
    "Selector",
    "StepKind",
    "Stream",
    "Streams",
    "TaskStream",
    "Top",
    "batches_in_round",
    "batches_per_pass",
    "expected_updates",
    "rows_per_step",
    "steps_of_round",
    "takes_part",
    "with_expected_steps",
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
