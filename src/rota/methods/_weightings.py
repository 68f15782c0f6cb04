"""Weights of losses in joint training: every step has a batch of every task."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import Field

from rota.methods._method import Method, Recipe, RunContext
from rota.methods._options import Options, options_of
from rota.policies import DWA, FAMO, RLW, UW, UWSO, Policy
from rota.seeds import integer

PERIODS = 20
"""Of DWA in a run, where nobody says how long one is."""


class DWAOptions(options_of(DWA, but=("tasks", "every"))):  # type: ignore[misc]
    """Of DWA."""

    every: int | None = Field(None, ge=1, description="Joint steps in a period; by default a twentieth of the run.")


class RLWOptions(options_of(RLW, but=("tasks", "seed"))):  # type: ignore[misc]
    """Of RLW."""


def _dwa(options: DWAOptions, context: RunContext) -> Recipe:
    every = options.every or max(1, context.steps // PERIODS)
    return Recipe(DWA(context.tasks, every=every, tau=options.tau), "joint")


def _rlw(options: RLWOptions, context: RunContext) -> Recipe:
    return Recipe(RLW(context.tasks, options.distribution, integer(context.seed, "rlw")), "joint")


def _joint(policy: type[Policy]) -> Callable[[Options, RunContext], Recipe]:
    """A recipe whose options are the arguments of a policy."""

    def recipe(options: Options, context: RunContext) -> Recipe:
        return Recipe(policy(context.tasks, **options.of(policy)), "joint")

    recipe.__annotations__["options"] = options_of(policy, but=("tasks",))
    return recipe


WEIGHTINGS = [
    Method("dwa", "joint steps that weight up losses which fall slowly", _dwa, "Liu et al. 2019 (DWA)"),
    Method("rlw", "joint steps with random weights: a baseline", _rlw, "Lin et al. 2022 (RLW)"),
    Method("uw", "joint steps weighted by learned variances of the losses", _joint(UW), "Kendall et al. 2018 (UW)"),
    Method("uw-so", "joint steps that weight up small losses", _joint(UWSO), "Kirchdorfer et al. 2024 (UW-SO)"),
    Method("famo", "joint steps in which all losses fall at the same rate", _joint(FAMO), "Liu et al. 2023 (FAMO)"),
]
