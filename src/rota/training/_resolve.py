"""What `auto` means on this machine."""

from __future__ import annotations

import os

import torch
from torch import nn

from rota.engine import Trainer, can_compile, why_not_stacked
from rota.errors import RotaError
from rota.models import LanguageModel, MultiTaskModel, StackedTexts, stacked
from rota.settings import Settings
from rota.streams import Stream

DELAY = 4
"""Steps that a GPU may be behind the loop, where nobody waits for their losses."""

COMPILED_FROM = 80_000
"""Updates of a run from which on layers are compiled: on an H200 that takes 14 to 29 seconds and saves 0.4 to 0.8
milliseconds of an update, so that it is paid back after 30,000 to 62,000."""


def refuse_parking(settings: Settings, stream: Stream) -> None:
    """Refuse to park tasks where steps have several."""
    if settings.park_after is not None and not stream.parks:
        raise RotaError(
            f"Settings(park_after={settings.park_after}) expects steps of one task, which is left out. Found "
            f"{type(stream).__name__}. Leave park_after out."
        )


def refuse_ignored(settings: Settings, own: Trainer) -> None:
    """Refuse settings of an optimizer next to the user's own optimizer."""
    named = {"optimizer", "lr", "weight_decay", "decay_all", "momentum", "betas", "eps", "warmup", "schedule"}
    named |= {"decay_by", "decay_after"}
    given = sorted(named & settings.model_fields_set)
    if own.optimizer is not None and given:
        raise RotaError(
            f"An optimizer of your own has its own settings. Found Settings({given[0]}=…) beside it. Leave it out."
        )


def resolve_precision(settings: Settings, own: Trainer) -> Settings:
    """The settings with a precision that suits the device, or that of the user's accelerator."""
    if own.accelerator is not None:
        theirs = own.accelerator.mixed_precision
        if settings.precision not in ("auto", theirs):
            raise RotaError(
                f"An accelerator of your own expects its own precision, {theirs}. Found Settings(precision="
                f"'{settings.precision}'). Leave it out."
            )
        return settings.model_copy(update={"precision": theirs})
    if settings.precision != "auto":
        return settings
    half = _on_cuda(settings) and torch.cuda.is_bf16_supported()
    return settings.model_copy(update={"precision": "bf16" if half else "no"})


def resolve_engine(settings: Settings, waits: bool, own: Trainer, model: nn.Module) -> tuple[Settings, str | None]:
    """The settings with an engine and a delay, and where a captured engine was wanted, why it is not used.

    Args:
        settings: With a precision.
        waits: Whether a policy needs the loss of each step: then losses are read at once, unless a delay is asked for.
        own: The user's own objects.
        model: What is trained.
    """
    cuda = _on_cuda(settings)
    delay, engine, reason = settings.delay, settings.engine, None
    if delay is None:
        delay = DELAY if cuda and not waits and settings.on_nan == "stop" else 0
    if engine == "auto" and not cuda:
        engine = "eager"  # nobody expects anything else
    if engine == "stack":
        reason = _why_alone(settings, cuda, own, model)
        if reason:
            engine = "graph" if cuda and _why_eager(settings, cuda, own, model) is None else "eager"
    elif engine != "eager":
        reason = _why_eager(settings, cuda, own, model)
        compiles = engine == "compile" or (engine == "auto" and _is_paid_back(settings, model))
        engine = "eager" if reason else "compile" if compiles else "graph"
    return settings.model_copy(update={"delay": delay, "engine": engine}), reason


def _is_paid_back(settings: Settings, model: nn.Module) -> bool:
    """Whether compiling saves more time than it takes. Models of others are compiled if they are asked to be."""
    return settings.steps >= COMPILED_FROM and isinstance(model, MultiTaskModel) and can_compile(model)


def _on_cuda(settings: Settings) -> bool:
    return settings.device == "auto" and torch.cuda.is_available()


def _why_alone(settings: Settings, cuda: bool, own: Trainer, model: nn.Module) -> str | None:
    texts = isinstance(model, MultiTaskModel) and isinstance(stacked(model.encoder), StackedTexts)
    obstacles = {
        "stacks of pictures are for CPUs": cuda and not texts,
        "accelerator or optimizer are your own": own != Trainer(),
        "several processes train together": int(os.environ.get("WORLD_SIZE", 1)) > 1,
        "gradients are accumulated": settings.accumulate > 1,
        "stacks train in single precision": settings.precision != "no" and not (cuda and settings.precision == "bf16"),
        "losses are read late": bool(settings.delay) and not texts,
        "stacks of texts are trained by adamw": texts and settings.optimizer != "adamw",
        "a step is skipped when its loss is not a number": cuda and settings.on_nan == "skip",
        "each task has momenta of its own": settings.optimizer_per_task,
    }
    reason = next((reason for reason, holds in obstacles.items() if holds), None)
    return reason or why_not_stacked(model)


def _why_eager(settings: Settings, cuda: bool, own: Trainer, model: nn.Module) -> str | None:
    obstacles = {
        "the loss of a language model is a mean over tokens": isinstance(model, LanguageModel),
        "there is no CUDA device": not cuda,
        "accelerator or optimizer are your own": own != Trainer(),
        "several processes train together": int(os.environ.get("WORLD_SIZE", 1)) > 1,
        "gradients are accumulated": settings.accumulate > 1,
        "fp16 scales its gradients": settings.precision == "fp16",
        "adamax cannot be captured": settings.optimizer == "adamax",
        "each task has momenta of its own": settings.optimizer_per_task,
        "a step is skipped when its loss is not a number": settings.on_nan == "skip",
    }
    return next((reason for reason, holds in obstacles.items() if holds), None)
