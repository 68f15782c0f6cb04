"""The counterfactual policy: train, learn a mixture from the log, train with it (Glover & Hokamp 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from rota.methods._method import Method, Recipe, RunContext, Stage
from rota.methods._options import Options
from rota.offpolicy import best_mixture, load_cmaes
from rota.policies import uniform

FIRST: dict[str, Any] = {"method": "uniform", "options": {}}
"""The plan of the run from whose log the first mixture is learned."""


class CounterfactualOptions(Options):
    """Of method counterfactual."""

    entropy: Annotated[float, Field(ge=0)] | Literal["auto"] = Field(
        "auto", description="Weight λ of the mixture's entropy; auto: the mixture is planned with learning curves."
    )
    rounds: int = Field(1, ge=1, description="Mixtures that are learned, each from the log of the one before.")
    logs: tuple[str, ...] = Field((), description="Finished runs to learn from, instead of training one first.")


def _counterfactual(options: CounterfactualOptions, context: RunContext) -> Recipe:
    if options.entropy != "auto":
        load_cmaes()  # before a run is trained from whose log nothing could be learned
    # A log is a folder, and of every round the last one alone: mixtures of earlier rounds were worse.
    known: Sequence[Path | str] = list(options.logs) or [context.trainer.train("log", **FIRST).folder]
    for number in range(1, options.rounds):
        mixture = best_mixture(known, options.entropy, steps=context.steps).mixture
        known = [context.trainer.train(f"round-{number}", method="fixed", options={"weights": mixture}).folder]
    return Recipe(best_mixture(known, options.entropy, steps=context.steps))


def _outlook(options: CounterfactualOptions, context: RunContext) -> tuple[list[Stage], Recipe]:
    """A mixture that is not known yet costs as much as an even one."""
    stages = [] if options.logs else [Stage("log", FIRST)]
    even = {"method": "fixed", "options": {"weights": dict.fromkeys(context.tasks, 1.0)}}
    stages += [Stage(f"round-{number}", even) for number in range(1, options.rounds)]
    return stages, Recipe(uniform(context.tasks))


COUNTERFACTUAL = [
    Method(
        "counterfactual",
        "trains a uniform run, learns a mixture from its log, trains with that",
        _counterfactual,
        "Glover & Hokamp 2019",
        outlook=_outlook,
    )
]
