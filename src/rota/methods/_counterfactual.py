"""The counterfactual policy: train, learn a mixture from the log, train with it (Glover & Hokamp 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from rota.limits import NotNegative
from rota.methods._method import Method, Recipe, RunContext, Stage
from rota.methods._options import Options
from rota.methods._presets import preset
from rota.offpolicy import best_mixture, load_cmaes
from rota.policies import Fixed, uniform
from rota.runlog import Run

FIRST: dict[str, Any] = {"method": "uniform", "options": {}}
"""The plan of the run from whose log the first mixture is learned."""
PRINTED = "Glover & Hokamp 2019"

Logs = Sequence[Path | str]


class LearnedOptions(Options):
    """Of every method that learns a mixture from a log."""

    rounds: int = Field(1, ge=1, description="Mixtures that are learned, each from the log of the one before.")
    logs: tuple[str, ...] = Field((), description="Finished runs to learn from, instead of training one first.")
    estimator: Literal["wis", "is", "clipped", "dr"] = Field(
        "wis", description="Estimator of a mixture's mean reward, where λ is given: see `rota.offpolicy.value`."
    )
    iterations: int = Field(50, ge=1, description="Of CMA-ES, which finds the mixture where λ is given.")
    population: int = Field(64, ge=2, description="Mixtures that CMA-ES tries in each iteration.")

    def learned(self, logs: Logs, entropy: float | Literal["auto"], steps: int) -> Fixed:
        """The mixture that the logs say is best."""
        how: dict[str, Any] = self.model_dump(include={"estimator", "iterations", "population"})
        return best_mixture(logs, entropy, steps=steps, **how)


class CounterfactualOptions(LearnedOptions):
    """Of method counterfactual."""

    entropy: Annotated[float, Field(ge=0)] | Literal["auto"] = Field(
        "auto", description="Weight λ of the mixture's entropy; auto: the mixture is planned with learning curves."
    )


class PrintedOptions(LearnedOptions):
    """Of the counterfactual policy as printed."""

    entropies: tuple[NotNegative, ...] = Field(
        (0.1, 0.15, 0.2),
        min_length=1,
        description="Weights λ of the mixture's entropy. For each of them a run is trained, all from the same log; the "
        "mixture of the one with the best dev average is used.",
    )


def _counterfactual(options: CounterfactualOptions, context: RunContext) -> Recipe:
    if options.entropy != "auto":
        load_cmaes()  # before a run is trained from whose log nothing could be learned
    # A log is a folder, and of every round the last one alone: mixtures of earlier rounds were worse.
    known = _first_logs(options, context)
    for number in range(1, options.rounds):
        mixture = options.learned(known, options.entropy, context.steps)
        known = [_trained(context, f"round-{number}", mixture).folder]
    return Recipe(options.learned(known, options.entropy, context.steps))


def _printed(options: PrintedOptions, context: RunContext) -> Recipe:
    """All weights λ from the same log, each with a run of its own; the best one leaves the log of the next round."""
    load_cmaes()
    known, best = _first_logs(options, context), None
    for number in range(1, options.rounds + 1):
        tried = []
        for entropy in options.entropies:
            mixture = options.learned(known, entropy, context.steps)
            run = _trained(context, _cell(number, entropy), mixture)
            score = float(run.summary["best"]["dev"]["average"])
            context.trainer.say(f"round {number}, λ = {entropy:g}: {100 * score:.1f} on dev")
            tried.append((score, entropy, run, mixture))
        score, entropy, run, best = max(tried, key=lambda one: one[0])  # of equal ones the first
        context.trainer.say(f"round {number}: λ = {entropy:g} is best")
        known = [run.folder]
    assert best is not None, "there is a round"
    return Recipe(best)


def _first_logs(options: LearnedOptions, context: RunContext) -> Logs:
    return list(options.logs) or [context.trainer.train("log", **FIRST).folder]


def _trained(context: RunContext, name: str, mixture: Fixed) -> Run:
    return context.trainer.train(name, method="fixed", options={"weights": mixture.mixture})


def _cell(number: int, entropy: float) -> str:
    """
    >>> _cell(2, 0.15)
    'round-2-entropy-0.15'
    """
    return f"round-{number}-entropy-{entropy:g}"


def _outlook(options: LearnedOptions, context: RunContext) -> tuple[list[Stage], Recipe]:
    """A mixture that is not known yet costs as much as an even one."""
    stages = [] if options.logs else [Stage("log", FIRST)]
    even = {"method": "fixed", "options": {"weights": dict.fromkeys(context.tasks, 1.0)}}
    if isinstance(options, PrintedOptions):
        names = [_cell(number, own) for number in range(1, options.rounds + 1) for own in options.entropies]
    else:
        names = [f"round-{number}" for number in range(1, options.rounds)]
    stages += [Stage(name, even) for name in names]
    return stages, Recipe(uniform(context.tasks))


AS_PRINTED = Method(
    "counterfactual@paper",
    "π^C as printed for GLUE: trains a uniform run, then one for each λ of a grid; takes the best λ",
    _printed,
    f"{PRINTED}, section 4.2",
    outlook=_outlook,
)
COUNTERFACTUAL = [
    Method(
        "counterfactual",
        "trains a uniform run, learns a mixture from its log, trains with that",
        _counterfactual,
        PRINTED,
        outlook=_outlook,
    ),
    AS_PRINTED,
    preset(
        AS_PRINTED,
        "counterfactual@bandit",
        "π^C as printed for the bandit: a larger grid of λ, two rounds, a shorter search",
        f"{PRINTED}, section 4.1",
        {"entropies": (0.1, 0.15, 0.2, 0.25), "rounds": 2, "iterations": 20},
    ),
]
