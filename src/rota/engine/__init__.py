"""How a step is executed. The loop, streams, signals and policies do not know it."""

from rota.engine._blocks import can_compile
from rota.engine._captured_probes import captured_probes as captured_probes  # for other rooms; needs a GPU
from rota.engine._eager import EagerEngine
from rota.engine._engine import AfterUpdate, Engine
from rota.engine._graph import Several
from rota.engine._learner import Learner
from rota.engine._make import make_engine
from rota.engine._members import StreamSurroundings, TorchSurroundings, own_generator, wait_here
from rota.engine._optimizer import make_optimizer, renumbered
from rota.engine._own_objects import Trainer
from rota.engine._probe import Passes, Probe, RowMeasure, probe
from rota.engine._repeatable import repeatable, repeatably
from rota.engine._sharding import gathered, gathered_parts, is_sharded
from rota.engine._stack_engine import why_not_stacked
from rota.engine._step import AsyncScalars, Outcome, StepPlan, TaskBatch, at_least_float
from rota.engine._text_seats import BYTES_IN_STACK

__all__ = [
    "BYTES_IN_STACK",
    "AfterUpdate",
    "AsyncScalars",
    "EagerEngine",
    "Engine",
    "Learner",
    "Outcome",
    "Passes",
    "Probe",
    "RowMeasure",
    "Several",
    "StepPlan",
    "StreamSurroundings",
    "TaskBatch",
    "TorchSurroundings",
    "Trainer",
    "at_least_float",
    "can_compile",
    "gathered",
    "gathered_parts",
    "is_sharded",
    "make_engine",
    "make_optimizer",
    "own_generator",
    "probe",
    "renumbered",
    "repeatable",
    "repeatably",
    "wait_here",
    "why_not_stacked",
]
