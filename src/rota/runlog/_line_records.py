"""What the lines of a log must look like, and the sentence where one does not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NotRequired

from pydantic import Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from rota.errors import describe_mistakes
from rota.runlog._records import DECODER, STRICT, Cardinal, DamagedFileError, Evaluated, Finite, Measured, TaskRecord


class TaskStep(TypedDict):
    """What a step did with one task."""

    __pydantic_config__ = STRICT  # type: ignore[misc]

    n: NotRequired[Cardinal]
    tokens: NotRequired[Cardinal]
    ids: NotRequired[list[Any]]
    loss: NotRequired[Measured]
    value: NotRequired[Measured]
    weight: NotRequired[Measured]


class StepLine(TypedDict):
    """A step: of one task with its probability, or of several."""

    __pydantic_config__ = STRICT  # type: ignore[misc]

    step: Cardinal
    task: str | None
    probability: NotRequired[Annotated[float, Field(ge=0)] | None]
    round: NotRequired[Cardinal | None]
    loss: NotRequired[Measured]
    value: NotRequired[Measured]
    n: NotRequired[Cardinal]
    tokens: NotRequired[Cardinal]
    ids: NotRequired[list[Any]]
    tasks: NotRequired[dict[str, TaskStep]]


class EvalLine(Evaluated):
    """An evaluation during training."""

    step: Cardinal
    mixture: NotRequired[dict[str, Measured] | None]


class TasksLine(TypedDict):
    """A survey, a pool, what was observed or skipped: something about tasks."""

    __pydantic_config__ = STRICT  # type: ignore[misc]

    step: Cardinal
    tasks: dict[str, Any]


class SurveyLine(TypedDict):
    """A survey, a pool of candidates, or gradients."""

    __pydantic_config__ = STRICT  # type: ignore[misc]

    step: Cardinal
    tasks: dict[str, dict[str, Measured]]


class ArmLine(TypedDict):
    """A round of turns."""

    __pydantic_config__ = STRICT  # type: ignore[misc]

    step: Cardinal
    task: str
    value: Finite


class RoundLine(TypedDict):
    """A round of branches."""

    __pydantic_config__ = STRICT  # type: ignore[misc]

    step: Cardinal
    round: Cardinal
    method: str
    target: str
    weights: dict[str, Measured]


class SinceThen(TypedDict):
    """What `run.json` would say from a change of the tasks on, where it would say something else."""

    __pydantic_config__ = STRICT  # type: ignore[misc]

    tasks: dict[str, TaskRecord]  # those that came
    plan: dict[str, Any]  # the fields that changed
    mixture: dict[str, Measured]
    evaluation: dict[str, Any]
    model: dict[str, Any] | None
    parameters: Cardinal


class TaskChangeLine(TypedDict):
    """Tasks that came and left before a step, and the shares after that."""

    __pydantic_config__ = STRICT  # type: ignore[misc]

    step: Cardinal
    added: list[str]
    dropped: list[str]
    rows: dict[str, Cardinal | None]  # of those that came
    mixture: dict[str, Measured]
    run: NotRequired[SinceThen]  # of a run; a mix knows no more than the rows


class ParkedLine(TypedDict):
    """A task that is not drawn from a step on, and why; or drawn again."""

    __pydantic_config__ = STRICT  # type: ignore[misc]

    step: Cardinal
    task: str
    reason: NotRequired[str]


class MixtureLine(TypedDict):
    """Weights that were given, or why they cannot be used; and the mixture then."""

    __pydantic_config__ = STRICT  # type: ignore[misc]

    step: Cardinal
    file: str
    weights: NotRequired[dict[str, Measured]]
    reason: NotRequired[str]
    mixture: dict[str, Measured]


class RateLine(TypedDict):
    """The learning rate has fallen, since evaluations did not improve: to this share of what its schedule says."""

    __pydantic_config__ = STRICT  # type: ignore[misc]

    step: Cardinal
    factor: Finite


class AnyLine(TypedDict):
    """A line of an unknown kind."""

    __pydantic_config__ = STRICT  # type: ignore[misc]

    step: Cardinal
    kind: str


LINES: Mapping[str, TypeAdapter[Any]] = {
    "step": TypeAdapter(StepLine),
    "eval": TypeAdapter(EvalLine),
    "survey": TypeAdapter(SurveyLine),
    "pool": TypeAdapter(SurveyLine),
    "gradient": TypeAdapter(SurveyLine),
    "skip": TypeAdapter(TasksLine),
    "observed": TypeAdapter(TasksLine),
    "arm": TypeAdapter(ArmLine),
    "round": TypeAdapter(RoundLine),
    "tasks": TypeAdapter(TaskChangeLine),
    "mixture": TypeAdapter(MixtureLine),
    "rate": TypeAdapter(RateLine),
    "parked": TypeAdapter(ParkedLine),
    "unparked": TypeAdapter(ParkedLine),
}
UNKNOWN = TypeAdapter(AnyLine)


def read_line(raw: bytes, path: Path, number: int) -> dict[str, Any]:
    """One line of a log.

    Args:
        raw: As it stands there.
        path: The log.
        number: Of the line, from 1.
    """
    try:
        line = DECODER.decode(raw.decode())
    except (ValueError, RecursionError) as error:
        raise DamagedFileError(
            path, f"{path}, line {number}: expected a JSON object with a kind. Found {raw[:40]!r}."
        ) from error
    kind = line.get("kind") if isinstance(line, dict) else None
    adapter = LINES.get(kind, UNKNOWN) if isinstance(kind, str) else UNKNOWN
    try:
        adapter.validate_python(line)
    except ValidationError as error:
        raise DamagedFileError(path, f"{path}, line {number}: {describe_mistakes(error.errors(), ())}") from error
    if kind == "step" and line["task"] is None and "tasks" not in line:
        raise DamagedFileError(path, f"{path}, line {number}: 1 wrong field: 'tasks' is missing.")
    return dict(line)
