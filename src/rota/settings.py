"""How a run is trained: every number that changes its result, and some that do not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from rota.errors import RotaError, describe_mistakes
from rota.limits import Count
from rota.schedules import RateShape

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:
    ModelMetaclass = type(BaseModel)  # which has no public name


class _SaysWhatIsWrong(ModelMetaclass):
    """A class of pydantic's whose mistakes are one sentence. Where a file is read, `model_validate` is called instead,
    and whoever reads it says which file that was."""

    def __call__(cls: Any, *args: Any, **fields: Any) -> Any:  # noqa: N805 - its instances are classes
        try:
            return super().__call__(*args, **fields)
        except ValidationError as error:
            raise RotaError(f"{cls.__name__}: {describe_mistakes(error.errors(), list(cls.model_fields))}") from error


class Settings(BaseModel, metaclass=_SaysWhatIsWrong):
    """Settings of one training. Their descriptions are the help of the command line."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    steps: Count = Field(600, description="updates of the model")
    batch_size: Count = Field(32, description="rows per forward pass and process")
    accumulate: Count = Field(1, description="forward passes per update; multiplies the batch")
    seed: int = Field(0, ge=0, le=2**63, description="of everything random in the run")
    optimizer: Literal["adamw", "adam", "adamax", "sgd"] = Field("adamw", description="how the model is updated")
    optimizer_per_task: bool = Field(
        False, description="each task has momenta of its own; for steps of one task, never captured"
    )
    lr: float | None = Field(
        None, gt=0, description="highest learning rate; default 5e-3, 5e-5 for pretrained encoders"
    )
    weight_decay: float = Field(0.01, ge=0, description="not on biases and norms, unless decay_all")
    decay_all: bool = Field(False, description="biases and norms decay, too")
    momentum: float = Field(0.9, ge=0, lt=1, description="of sgd")
    betas: tuple[float, float] | None = Field(None, description="of adam and its like; default as torch has them")
    eps: float | None = Field(None, gt=0, description="of adam and its like; default as torch has it")
    warmup: float = Field(0.1, ge=0, lt=1, description="share of the steps in which the learning rate rises")
    schedule: RateShape = Field("linear", description="the learning rate after its warm-up")
    clip: float | None = Field(1.0, gt=0, description="largest norm of a gradient; null for no limit")
    clip_each: bool = Field(
        False,
        description="in steps with rows of several tasks, clip the gradient of each task by itself, as in steps of one "
        "task; takes a backward pass for each",
    )
    precision: Literal["auto", "no", "bf16", "fp16"] = Field(
        "auto", description="mixed precision; auto is bf16 on a GPU that has it"
    )
    device: Literal["auto", "cpu"] = Field("auto", description="where to train")
    engine: Literal["auto", "eager", "graph", "compile"] = Field(
        "auto",
        description="how a step is executed: one operation after the other (eager), as a captured CUDA graph (graph; "
        "auto where it can be), or captured with compiled layers, for long runs (compile)",
    )
    eval_every: Count | None = Field(
        None,
        description="steps between evaluations; default a twentieth of all, or what a quarter of the cost pays",
    )
    eval_rows: Count | None = Field(
        None,
        description="rows of a task in an evaluation; default all at the end, before that what the quarter pays",
    )
    eval_batch_size: Count | None = Field(
        None, description="rows per forward pass of an evaluation; default 250, 32 of texts on a CPU"
    )
    checkpoint_every: Count | None = Field(
        None, description="steps between checkpoints; default at evaluations, unless the last one was just before"
    )
    best: Literal["score", "loss", "last", "each"] = Field(
        "score",
        description="what makes a checkpoint the best: highest average score, lowest average loss, being last; each: "
        "highest average, and for each task its own best one beside it",
    )
    patience: Count | None = Field(None, description="stop after so many evaluations without a new best one")
    on_nan: Literal["stop", "skip"] = Field("stop", description="what to do when a loss is not a number")
    delay: int | None = Field(
        None,
        ge=0,
        le=1000,
        description="steps after which a loss is read and the policy hears of it; default 0, 4 on a GPU if it does not "
        "listen",
    )
    threads: int | None = Field(None, ge=1, le=1024, description="CPU threads; default 1 for small models")
    num_workers: int = Field(0, ge=0, le=256, description="processes per task that fetch batches ahead")
    group_lengths: bool = Field(False, description="batches of rows of similar length, which wastes less padding")

    @model_validator(mode="after")
    def _clipping_each_needs_whole_batches(self) -> Self:
        if self.clip_each and (self.accumulate > 1 or self.clip is None or self.precision == "fp16"):
            raise ValueError("clip_each with a clip, accumulate 1, and not in fp16")
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

    @property
    def highest_rate(self) -> float:
        return 5e-3 if self.lr is None else self.lr
