"""Exp3.S with the prediction gain (Glover & Hokamp 2019)."""

from __future__ import annotations

from pydantic import Field

from rota.methods._method import Method, Recipe, RunContext
from rota.methods._options import options_of
from rota.methods._presets import preset
from rota.methods._priors import AnchorOptions, PriorName, anchored, prior_of
from rota.policies import Exp3S, Policy
from rota.seeds import integer

PRINTED = "Glover & Hokamp 2019"


class Exp3SOptions(AnchorOptions, options_of(Exp3S, but=("tasks", "seed", "prior"))):  # type: ignore[misc]
    """Of Exp3.S, whatever gain it hears."""

    eta_steps: float | None = Field(
        None,
        gt=0,
        description="Sum of the step sizes over the run, instead of eta: η is this divided by the number of steps. "
        "The paper's η over its 200,000 steps is 200.",
    )
    prior: PriorName | dict[str, float] | None = Field(
        None,
        description="Mixture that the bandit begins with and stays near: sqrt, proportional or uniform by the number "
        "of rows, or weights; equal shares by default.",
    )


def _policy(options: Exp3SOptions, context: RunContext) -> Policy:
    known = {**options.of(Exp3S), "prior": prior_of(options.prior, context)}
    if options.eta_steps is not None:
        known["eta"] = options.eta_steps / context.steps
    return anchored(Exp3S(context.tasks, seed=integer(context.seed, "exp3s"), **known), options, context)


def _exp3s(options: Exp3SOptions, context: RunContext) -> Recipe:
    return Recipe(_policy(options, context), listen=("prediction_gain",))


def _exp3s_visits(options: Exp3SOptions, context: RunContext) -> Recipe:
    return Recipe(_policy(options, context))


OWN = Method("exp3s", "a bandit that prefers tasks with the largest loss reduction per batch", _exp3s, PRINTED)
EXP3S = [
    OWN,
    preset(
        OWN,
        "exp3s@paper",
        "exp3s as printed: rewards are divided by ρ alone, which is unstable in long runs",
        f"{PRINTED}, section 3.2",
        {"eta": 1e-3, "epsilon": 0.05, "importance": "rho", "alpha": None},
    ),
    Method(
        "exp3s-visits",
        "exp3s with the loss reduction since the task's last batch; no extra forward pass",
        _exp3s_visits,
        f"after {PRINTED}",
    ),
]
