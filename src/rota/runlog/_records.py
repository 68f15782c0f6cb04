"""What the files of a run must look like, and the sentence where one does not.

Everything that is read back passes here once: a file may have been cut, edited or made up. Fields that no reader
knows are left alone, so that older and newer runs can be read.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, NoReturn, NotRequired

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from rota.errors import RotaError, describe_mistakes
from rota.names import folder_name


class DamagedFileError(RotaError):
    """A file that is not what this library writes.

    Args:
        path: The file.
        sentence: What was expected and found.

    >>> DamagedFileError(Path("runs/a/run.json"), "runs/a/run.json: expected JSON.").path.name
    'run.json'
    """

    def __init__(self, path: Path, sentence: str) -> None:
        super().__init__(sentence)
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:  # it comes back from other processes
        return type(self), (self.path, str(self))


STRICT = ConfigDict(strict=True, extra="allow", allow_inf_nan=False)
Cardinal = Annotated[int, Field(ge=0, le=2**62)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Measured = Finite | None  # null: not a number
OneFolder = Annotated[str, AfterValidator(folder_name)]


class TaskRecord(TypedDict):
    """A task in `run.json`."""

    __pydantic_config__ = STRICT  # type: ignore[misc]

    kind: NotRequired[str]
    rows: NotRequired[dict[str, Cardinal | None]]  # null: a stream's, which is not known
    unit: NotRequired[Finite]
    auxiliary: NotRequired[bool]
    notes: NotRequired[dict[str, Any]]


class RunRecord(TypedDict):
    """`run.json`: what was asked for."""

    __pydantic_config__ = STRICT  # type: ignore[misc]

    schema: int
    id: str
    plan: dict[str, Any]
    tasks: dict[str, TaskRecord]
    created: NotRequired[str]
    policy: NotRequired[str]
    stream: NotRequired[str]
    mixture: NotRequired[dict[str, Measured] | None]
    picking: NotRequired[dict[str, Any] | None]
    trial: NotRequired[dict[str, Any] | None]
    survey: NotRequired[dict[str, Any] | None]
    listen: NotRequired[list[dict[str, Any]]]
    evaluation: NotRequired[dict[str, Any]]
    model: NotRequired[dict[str, Any] | None]
    parameters: NotRequired[Cardinal]
    processes: NotRequired[Cardinal]
    threads: NotRequired[Annotated[int, Field(ge=1, le=2**16)]]
    device: NotRequired[str]
    versions: NotRequired[dict[str, str]]


class TaskScores(TypedDict):
    """What an evaluation found for a task."""

    __pydantic_config__ = STRICT  # type: ignore[misc]

    score: Measured
    loss: NotRequired[Measured]
    metrics: NotRequired[dict[str, Measured]]
    n: NotRequired[Cardinal | None]
    tokens: NotRequired[Cardinal]


class Evaluated(TypedDict):
    """An evaluation."""

    __pydantic_config__ = STRICT  # type: ignore[misc]

    average: Measured
    tasks: dict[str, TaskScores]
    split: NotRequired[str]
    loss: NotRequired[Measured]


class BestOfTask(TypedDict):
    """The model that is best for one task."""

    __pydantic_config__ = STRICT  # type: ignore[misc]

    step: Cardinal
    dev: NotRequired[TaskScores | None]
    test: NotRequired[TaskScores | None]


class BestRecord(TypedDict):
    """The best model of a run."""

    __pydantic_config__ = STRICT  # type: ignore[misc]

    step: Cardinal
    dev: Evaluated
    test: NotRequired[Evaluated | None]
    compared: NotRequired[Evaluated | None]
    each: NotRequired[dict[str, BestOfTask] | None]


class ExposureRecord(TypedDict):
    """What a run was trained on."""

    __pydantic_config__ = STRICT  # type: ignore[misc]

    budget: str
    rows: dict[str, Cardinal]
    rounds: Finite


class SummaryRecord(TypedDict):
    """`summary.json`: how it ended."""

    __pydantic_config__ = STRICT  # type: ignore[misc]

    steps: Cardinal
    best: BestRecord
    updates: dict[str, Cardinal]
    cost: dict[str, Cardinal]
    seconds: Annotated[float, Field(ge=0)]
    stopped: NotRequired[str]
    skipped: NotRequired[Cardinal]
    exposure: NotRequired[ExposureRecord]
    last: NotRequired[dict[str, Evaluated | None]]
    engine: NotRequired[dict[str, Any]]
    listening: NotRequired[Finite]


class StateRecord(TypedDict):
    """`state.json` of a checkpoint; what policies and streams remember they check themselves.

    >>> state = {"step": 4, "log": 120, "generators": ["…"], "seconds": 1.5}
    >>> check_record(state, StateRecord, Path("state.json"))["step"]
    4
    """

    __pydantic_config__ = STRICT  # type: ignore[misc]

    step: Cardinal
    log: Cardinal | None
    generators: Annotated[list[str], Field(min_length=1)]
    seconds: Finite


class TriedRatio(TypedDict):
    """A trial in `search.json`."""

    __pydantic_config__ = STRICT  # type: ignore[misc]

    number: Cardinal
    ratio: dict[str, Finite]
    runs: list[OneFolder]
    value: Measured
    values: list[Measured]
    state: str


class SearchContent(TypedDict):
    """`search.json`: what was tried and found."""

    __pydantic_config__ = STRICT  # type: ignore[misc]

    tried: list[TriedRatio]
    best: Cardinal | None


class SelectionRecord(TypedDict):
    """`selection.json`: which tasks were chosen.

    >>> check_record({"chosen": ["rte", "mnli"]}, SelectionRecord, Path("selection.json"))["chosen"]
    ['rte', 'mnli']
    """

    __pydantic_config__ = STRICT  # type: ignore[misc]

    chosen: Annotated[list[str], Field(min_length=1)]


class ComparisonRecord(TypedDict):
    """`comparison.json`: what was compared.

    >>> check_record({"variants": {"auto": ["auto-0", "auto-1"]}}, ComparisonRecord, Path("comparison.json"))
    {'variants': {'auto': ['auto-0', 'auto-1']}}
    """

    __pydantic_config__ = STRICT  # type: ignore[misc]

    variants: dict[str, list[OneFolder]]
    baseline: NotRequired[str | None]
    about: NotRequired[str]
    budget: NotRequired[str]
    claims: NotRequired[list[dict[str, Any]]]
    chosen: NotRequired[dict[str, list[str]]]


class PlanRecord(TypedDict):
    """`plan.json`: the plan of a run that has only inner runs yet."""

    __pydantic_config__ = STRICT  # type: ignore[misc]

    method: str


def read_record(path: Path, record: type) -> dict[str, Any]:
    """The content of a JSON file, which looks as its record says.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "selection.json").write_text('{"chosen": ["rte"]}')
    ...     read_record(Path(folder) / "selection.json", SelectionRecord)
    {'chosen': ['rte']}
    """
    try:
        content = read_json(path)
    except OSError as error:
        raise DamagedFileError(path, f"Expected a file that can be read at {path}. Found: {error.strerror}.") from error
    return check_record(content, record, path)


def check_record(content: Any, record: type, path: Path) -> dict[str, Any]:
    """What stands in a file, which looks as its record says.

    >>> try:
    ...     check_record({"chosen": []}, SelectionRecord, Path("selection.json"))
    ... except DamagedFileError as error:
    ...     "chosen" in str(error)
    True
    """
    try:
        TypeAdapter(record).validate_python(content)
    except ValidationError as error:
        known = list(record.__annotations__)
        raise DamagedFileError(path, f"{path}: {describe_mistakes(error.errors(), known)}") from error
    return dict(content)


def read_json(path: Path) -> Any:
    """The content of a JSON file; one sentence where it is none.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "run.json").write_text('{"steps": 3}')
    ...     read_json(Path(folder) / "run.json")
    {'steps': 3}
    """
    try:
        return DECODER.decode(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise DamagedFileError(path, f"{path}: expected JSON. Found something else ({error}).") from error


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
