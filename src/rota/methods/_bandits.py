"""Bandits over the tasks that came after Exp3.S."""

from __future__ import annotations

from pydantic import Field

from rota.methods._method import Method, Recipe, RunContext
from rota.methods._options import options_of
from rota.methods._priors import AnchorOptions, PriorName, anchored, prior_of
from rota.policies import DUMP, ODM, SEC, DynamixSFT


class DynamixOptions(options_of(DynamixSFT, but=("tasks", "prior"))):  # type: ignore[misc]
    """Of DynamixSFT."""

    prior: PriorName | dict[str, float] = Field(
        "proportional", description="Mixture that it stays near: proportional, sqrt or uniform by rows, or weights."
    )


def _dynamix(options: DynamixOptions, context: RunContext) -> Recipe:
    known = {**options.of(DynamixSFT), "prior": prior_of(options.prior, context)}
    return Recipe(DynamixSFT(context.tasks, **known), listen=("relative_gain",))


class ODMOptions(AnchorOptions, options_of(ODM, but=("tasks", "prior"))):  # type: ignore[misc]
    """Of ODM."""

    prior: PriorName | dict[str, float] = Field(
        "uniform", description="Mixture of the warmup: proportional, sqrt or uniform by rows, or weights."
    )


class SECOptions(AnchorOptions, options_of(SEC, but=("tasks",))):  # type: ignore[misc]
    """Of SEC."""


class DUMPOptions(AnchorOptions, options_of(DUMP, but=("tasks",))):  # type: ignore[misc]
    """Of DUMP."""


def _odm(options: ODMOptions, context: RunContext) -> Recipe:
    known = {**options.of(ODM), "prior": prior_of(options.prior, context)}
    return Recipe(anchored(ODM(context.tasks, **known), options, context))


def _sec(options: SECOptions, context: RunContext) -> Recipe:
    return Recipe(anchored(SEC(context.tasks, **options.of(SEC)), options, context), listen=LABELS)


def _dump(options: DUMPOptions, context: RunContext) -> Recipe:
    return Recipe(anchored(DUMP(context.tasks, **options.of(DUMP)), options, context), listen=LABELS)


LABELS = ("mean_advantage",)
"""Who rewards a model that is trained on labels."""
BANDITS = [
    Method(
        "dynamix",
        "a bandit on the part of its loss that an update takes off a batch, near the shares of the rows",
        _dynamix,
        "Shin et al. 2025 (DynamixSFT)",
        ("sizes",),
    ),
    Method("odm", "a bandit that prefers tasks with a high training loss", _odm, "Albalak et al. 2023 (ODM)"),
    Method("sec", "a softmax over how much there is to learn from each task", _sec, "Chen et al. 2025 (SEC)"),
    Method("dump", "sec over a window, with a bonus for tasks seldom seen", _dump, "Wang et al. 2025 (DUMP)"),
]
