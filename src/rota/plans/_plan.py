"""Everything that one run is asked for: what to train on, by which method, how."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic_core import PydanticCustomError

from rota.budgets import UPDATES
from rota.errors import RotaError, describe_mistakes
from rota.settings import Settings


class TaskChanges(BaseModel):
    """What one task may have for itself.

    >>> TaskChanges(batch_size=8).loss_weight
    1.0
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    batch_size: int | None = Field(None, ge=1)
    loss_weight: float = Field(1.0, ge=0)
    stop_after: int | None = Field(None, ge=1)
    auxiliary: bool = False
    metrics: tuple[str, ...] | None = Field(None, min_length=1)
    shuffled: bool = False
    mislabelled: float = Field(0.0, ge=0, le=1)
    duplicated: int = Field(1, ge=1, le=1000)

    @field_validator("metrics", mode="before")
    @classmethod
    def _one_is_enough(cls, names: Any) -> Any:
        """`metrics: auc, f1` as well as `metrics: [auc, f1]`."""
        return [name.strip() for name in names.split(",")] if isinstance(names, str) else names


USUAL, USUAL_FOR_TARGET = "auto", "uniform"
"""The default method: above `uniform` on GLUE and SuperGLUE at the same cost (docs/results/auto.md); for one target it
was not measured."""


class Plan(Settings):
    """Settings of the training, and what to train. A YAML file and the flags of `rota train` have these fields.

    >>> Plan(tasks=("digits",), target="left").method
    'uniform'
    """

    tasks: tuple[str, ...] = Field(
        ("digits",), min_length=1, description="tasks, suites (see `rota tasks`), YAML files"
    )
    only: tuple[str, ...] = Field((), description="use only these of the tasks")
    method: str = Field(
        USUAL, description="how the next task is chosen (see `rota methods`); default auto, uniform with a target"
    )
    options: dict[str, Any] = Field({}, description="options of the method")
    observe: dict[str, dict[str, Any]] | None = Field(
        None,
        description="what is also measured and logged, and told to nobody, by whatever method: uncertainty, "
        "uncertainty.score=bald, … (see `rota.sources`); it costs what it costs",
    )
    target: str | None = Field(
        None, description="the task that counts and picks the best checkpoint; the others are auxiliary"
    )
    model: str = Field(
        "auto",
        description="auto, minilm, lenet, bilstm, or a pretrained encoder: folder or name on the hub; camtl, or "
        "camtl:ENCODER: conditioned on the task; smollm2 or another language model; scratch: a small new one",
    )
    parts: dict[str, Any] | Literal["released"] = Field(
        {}, description="of camtl: norm=off, bottleneck=off, attention=trainable, …, or released: as its code has them"
    )
    adapter: str | None = Field(
        None,
        description="parts of each task in a pretrained encoder: houlsby, pals, lora, with options as houlsby:size=64; "
        "of a language model lora:r=16,alpha=32,on=all, shared by all tasks",
    )
    freeze: Annotated[int, Field(ge=0)] | Literal["half"] | None = Field(
        None,
        description="freeze the embeddings and so many layers of a pretrained encoder; default none, half of camtl's, "
        "and with an adapter as in its paper",
    )
    frozen_cache: int | None = Field(
        None,
        ge=0,
        le=2**60,
        description="bytes for cached outputs of frozen layers; default 2 GiB on a CPU, none on a GPU",
    )
    start: str | None = Field(None, description="a run folder: start from its best model, with heads for new tasks")
    embedding: str = Field(
        "average",
        description="with `start` of a camtl run: initial vector of a new task: as a task's, average, random, xavier",
    )
    pooling: Literal["mean", "first", "pooled"] | None = Field(
        None,
        description="vector of a text: mean of its tokens, first token, the encoder's pooler; default as pretrained",
    )
    head_hidden: int | None = Field(
        None, ge=1, le=2**20, description="width of a hidden ReLU layer in the heads; default none"
    )
    dropout: float | None = Field(None, ge=0, lt=1, description="dropout of the encoder; default its own")
    checkpointing: bool = Field(
        False, description="of a language model: compute activations again in the backward pass, to save memory"
    )
    pack: bool = Field(
        False, description="of a language model: fill training rows with several texts of a task, kept apart by masks"
    )
    longest: int = Field(128, ge=8, le=2**20, description="most tokens in a text")
    data: str | None = Field(None, description="folder with data sets; default $ROTA_DATA, else the hub")
    rows: dict[str, int] = Field({}, description="at most so many training rows of a task, such as rte=500")
    halve_dev: bool = Field(
        False, description="for tasks without test rows: hold out half of the dev rows as test rows"
    )
    cut_dev: float | None = Field(
        None,
        gt=0,
        lt=1,
        description="for tasks without test rows: cut this share of the training rows as dev rows; their dev rows "
        "become test rows",
    )
    per_task: dict[str, TaskChanges] = Field(
        {},
        description="for one task: batch_size, loss_weight, stop_after, auxiliary, metrics, such as "
        "rte.batch_size=16,mrpc.metrics=auc,f1; trouble in its training rows: shuffled, mislabelled=0.3, duplicated=20",
    )

    @field_validator("parts", mode="before")
    @classmethod
    def _parts_by_name(cls, given: Any) -> Any:
        """One mistake instead of one for each of the two types."""
        if isinstance(given, dict) or given == "released":
            return given
        raise PydanticCustomError("parts", "fields such as norm=off, or the word released")

    @field_validator("observe", mode="before")
    @classmethod
    def _observe_by_name(cls, given: Any) -> Any:
        """A word alone, and a list of words, have no options."""
        words = [given] if isinstance(given, str) else given
        return {word: {} for word in words} if isinstance(words, list | tuple) else words

    @model_validator(mode="after")
    def _test_rows_come_from_one_place(self) -> Self:
        if self.halve_dev and self.cut_dev is not None:
            raise ValueError("halve_dev or cut_dev, which both make test rows of dev rows")
        return self

    @model_validator(mode="before")
    @classmethod
    def _fill_in_the_method(cls, fields: Any) -> Any:
        """A plan for a target has another usual method."""
        if isinstance(fields, dict) and fields.get("target") is not None and "method" not in fields:
            return {**fields, "method": USUAL_FOR_TARGET}
        return fields


def refuse_two_lengths(fields: Mapping[str, Any], source: str) -> None:
    """Refuse steps beside a budget that is not counted in them.

    >>> refuse_two_lengths({"steps": 100, "budget": "updates"}, "the flags")
    >>> refuse_two_lengths({"steps": 100, "budget": "rows:320"}, "the flags")
    Traceback (most recent call last):
    ...
    rota.errors.RotaError: the flags: expected steps or a budget. Found steps 100 and budget rows:320. Leave one out.
    """
    budget = fields.get("budget", UPDATES)
    if "steps" in fields and budget != UPDATES:
        raise RotaError(
            f"{source}: expected steps or a budget. Found steps {fields['steps']} and budget {budget}. Leave one out."
        )


MERGED = {"options", "parts", "rows"}
"""Fields with fields of their own, of which later ones win one by one."""


def merge_fields(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a plan from several places; later ones win.

    >>> merge_fields({"steps": 1, "rows": {"rte": 5}}, {"steps": 2, "rows": {"mrpc": 6}})
    {'steps': 2, 'rows': {'rte': 5, 'mrpc': 6}}
    """
    found: dict[str, Any] = {}
    for layer in layers:
        for name, value in layer.items():
            both = name in MERGED and isinstance(found.get(name), dict) and isinstance(value, dict)
            found[name] = {**found[name], **value} if both else value
    return found


def make_plan(fields: Mapping[str, Any], source: str = "the plan") -> Plan:
    """A plan from plain fields; report every wrong field at once.

    >>> make_plan({"tasks": ["digits"], "steps": 50}).method
    'auto'
    >>> make_plan({"stepz": 50})
    Traceback (most recent call last):
    ...
    rota.errors.RotaError: the plan: 1 wrong field: unknown field 'stepz' (did you mean 'steps'?).
    """
    try:
        return Plan.model_validate(dict(fields))
    except ValidationError as error:
        raise RotaError(f"{source}: {describe_mistakes(error.errors(), list(Plan.model_fields))}") from error
