"""How a run is trained: every number that changes its result, and some that do not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from rota.budgets import UPDATES, budget_wish, read_budget
from rota.errors import RotaError, describe_mistakes, nearest
from rota.limits import Count
from rota.schedules import RateShape

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:
    ModelMetaclass = type(BaseModel)  # which has no public name

__all__ = ["Settings"]

BEST, BY_METRIC = ("score", "loss", "last", "each"), "metric:"
"""Rules for the best checkpoint, and what those by a metric begin with."""


class _SaysWhatIsWrong(ModelMetaclass):
    """A class of pydantic's whose mistakes are one sentence. Where a file is read, `model_validate` is called instead,
    and the caller adds which file that was."""

    def __call__(cls: Any, *args: Any, **fields: Any) -> Any:  # noqa: N805 - its instances are classes
        try:
            return super().__call__(*args, **fields)
        except ValidationError as error:
            raise RotaError(f"{cls.__name__}: {describe_mistakes(error.errors(), list(cls.model_fields))}") from error


def refuse_yes(value: Any, annotation: Any) -> Any:
    """Refuse true and false where a field expects a number: YAML makes them of yes and no, and Python counts them."""
    told = str(annotation)
    if isinstance(value, bool) and "bool" not in told and any(kind in told for kind in ("int", "float")):
        raise PydanticCustomError("yes_for_a_number", "Input should be a number")
    return value


class Settings(BaseModel, metaclass=_SaysWhatIsWrong):
    """Settings of one training. Their descriptions are the help of the command line.

    >>> Settings(steps=100, lr=1e-3).steps
    100
    >>> Settings(step=100)
    Traceback (most recent call last):
    ...
    rota.errors.RotaError: Settings: 1 wrong field: unknown field 'step' (did you mean 'steps'?).
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    steps: Count = Field(600, description="updates of the model")
    budget: str = Field(
        UPDATES,
        description="what a run's length counts, the same for every method: updates, which are the steps; or in their "
        "place rows:N, kept-rounds:N, passes-of-target:N or forwards:N",
    )
    batch_size: Count = Field(32, description="rows per forward pass and process")
    accumulate: Count = Field(1, description="forward passes per update; multiplies the batch")
    seed: int = Field(0, ge=0, le=2**63, description="random seed")
    optimizer: Literal["adamw", "adam", "adamax", "sgd"] = Field("adamw", description="the optimizer")
    optimizer_per_task: bool = Field(
        False, description="separate optimizer states for each task; for batches of one task"
    )
    lr: float | None = Field(None, gt=0, description="peak learning rate; default 5e-3, 5e-5 for pretrained encoders")
    weight_decay: float = Field(0.01, ge=0, description="weight decay, not on biases and norms")
    decay_all: bool = Field(False, description="weight decay on biases and norms, too")
    momentum: float = Field(0.9, ge=0, lt=1, description="momentum of sgd")
    betas: tuple[float, float] | None = Field(None, description="of adamw, adam and adamax; default torch's")
    eps: float | None = Field(None, gt=0, description="of adamw, adam and adamax; default torch's")
    warmup: float = Field(0.1, ge=0, lt=1, description="share of the steps for learning-rate warm-up")
    schedule: RateShape = Field("linear", description="learning-rate schedule after the warm-up")
    decay_by: float = Field(0.5, gt=0, lt=1, description="schedule plateau: factor of the learning rate when it falls")
    decay_after: Count = Field(
        2, description="schedule plateau: the rate falls after so many evaluations in a row without improvement"
    )
    clip: float | None = Field(1.0, gt=0, description="clip gradients to this norm; none for no clipping")
    clip_each: bool = Field(
        False,
        description="in batches with several tasks, clip each task's gradient by itself; one backward pass per task",
    )
    precision: Literal["auto", "no", "bf16", "fp16"] = Field(
        "auto", description="mixed precision; auto is bf16 on a GPU that has it"
    )
    device: Literal["auto", "cpu"] = Field("auto", description="where to train")
    engine: Literal["auto", "eager", "stack", "graph", "compile"] = Field(
        "auto",
        description="how a step is executed: eager; stack: in one pass with other runs of a comparison; graph: as a "
        "CUDA graph; compile: as one with compiled layers; auto: on a GPU graph, or compile for 80,000 steps and more; "
        "stack in comparisons",
    )
    shard: bool = Field(
        False,
        description="shard the model and its optimizer over the processes (FSDP2), where one GPU cannot hold them",
    )
    eval_every: Count | None = Field(
        None,
        description="steps between evaluations, or what the budget counts; default a twentieth of all, fewer where "
        "that costs more than a quarter",
    )
    eval_rows: Count | None = Field(
        None,
        description="dev rows of each task in an evaluation; default what a quarter of the cost pays, all at the end",
    )
    eval_batch_size: Count | None = Field(
        None, description="rows per forward pass of an evaluation; default 250, 32 of texts on a CPU"
    )
    checkpoint_every: Count | None = Field(
        None, description="steps between checkpoints; default at evaluations, in at most 5 % of the time"
    )
    best: str = Field(
        "score",
        description="which checkpoint is the best: highest average score, lowest average loss, the last; each: as "
        "score, and the best one of each task beside it; metric:NAME: by the average of that metric over its tasks",
    )
    keep: Literal["all", "best", "logs"] = Field(
        "all",
        description="what stays of a finished run: all; best: log and best model; logs: what tables and reports need",
    )
    patience: Count | None = Field(None, description="stop after so many evaluations without improvement")
    on_nan: Literal["stop", "skip"] = Field("stop", description="what to do when a loss is not a number")
    park_after: Count | None = Field(
        None,
        description="losses in a row that are no numbers, after which a task is not drawn any more; with on_nan skip",
    )
    delay: int | None = Field(
        None,
        ge=0,
        le=1000,
        description="steps by which losses are read late, so that a GPU need not wait; default 0, 4 on a GPU if the "
        "policy does not learn from them",
    )
    threads: int | None = Field(None, ge=1, le=1024, description="CPU threads; default 1 for small models")
    num_workers: int = Field(0, ge=0, le=256, description="data-loading processes per task")
    group_lengths: bool = Field(False, description="batches of rows of similar length: less padding")
    log_rows: bool = Field(
        False, description="log the number of each row, even where it follows from the seed and the place in a pass"
    )

    @field_validator("*", mode="before")
    @classmethod
    def _yes_is_no_number(cls, value: Any, info: ValidationInfo) -> Any:
        return refuse_yes(value, cls.model_fields[info.field_name or ""].annotation)

    @field_validator("best")
    @classmethod
    def _is_a_rule(cls, rule: str) -> str:
        if rule not in BEST and not (rule.startswith(BY_METRIC) and rule != BY_METRIC):
            near = nearest(rule, BEST)
            hint = f" (did you mean '{near}'?)" if near else ""
            raise PydanticCustomError("rule", "{wish}", {"wish": f"{', '.join(BEST)} or metric:NAME{hint}"})
        return rule

    @field_validator("budget")
    @classmethod
    def _is_a_budget(cls, budget: str) -> str:
        try:
            found = read_budget(budget)
        except RotaError as error:
            raise PydanticCustomError("budget", "{wish}", {"wish": budget_wish(budget)}) from error
        return UPDATES if found is None else found.told

    @model_validator(mode="after")
    def _clipping_each_needs_whole_batches(self) -> Self:
        if self.clip_each and (self.accumulate > 1 or self.clip is None or self.precision == "fp16"):
            raise ValueError("clip_each with a clip, accumulate 1, and not in fp16")
        return self

    @model_validator(mode="after")
    def _a_plateau_ends_after_the_rate_fell(self) -> Self:
        if self.schedule == "plateau" and self.patience is not None and self.patience <= self.decay_after:
            raise ValueError(f"patience above decay_after, {self.decay_after}: else the run ends before the rate falls")
        return self

    @model_validator(mode="after")
    def _only_adam_has_betas(self) -> Self:
        if self.optimizer == "sgd" and not (self.betas is None and self.eps is None):
            raise ValueError("betas and eps with adamw, adam or adamax, which have them")
        if self.betas is not None and not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError("betas of zero or more, below one")
        return self

    @model_validator(mode="after")
    def _skipping_needs_the_loss_at_once(self) -> Self:
        if self.on_nan == "skip" and self.delay:
            raise ValueError("on_nan 'skip' with delay 0: a loss that is read late cannot be left out any more")
        return self

    @model_validator(mode="after")
    def _parking_needs_a_run_that_goes_on(self) -> Self:
        if self.park_after is not None and self.on_nan != "skip":
            raise ValueError("park_after with on_nan 'skip': the first loss that is no number ends the run")
        return self

    @property
    def highest_rate(self) -> float:
        return 5e-3 if self.lr is None else self.lr
