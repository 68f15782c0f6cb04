"""Exp3.S with the prediction gain (Glover & Hokamp 2019)."""

from __future__ import annotations

from rota.methods._method import Method, Recipe, RunContext
from rota.methods._options import options_of
from rota.policies import Exp3S
from rota.seeds import integer


class Exp3SOptions(options_of(Exp3S, but=("tasks", "seed", "reservoir"))):  # type: ignore[misc]
    """Of Exp3.S, whatever gain it hears."""


def _policy(options: Exp3SOptions, context: RunContext) -> Exp3S:
    return Exp3S(context.tasks, seed=integer(context.seed, "exp3s"), **options.of(Exp3S))


def _exp3s(options: Exp3SOptions, context: RunContext) -> Recipe:
    return Recipe(_policy(options, context), listen=("prediction_gain",))


def _exp3s_visits(options: Exp3SOptions, context: RunContext) -> Recipe:
    return Recipe(_policy(options, context))


EXP3S = [
    Method(
        "exp3s", "a bandit that prefers tasks with the largest loss reduction per batch", _exp3s, "Glover & Hokamp 2019"
    ),
    Method(
        "exp3s-visits",
        "exp3s with the loss reduction since the task's last batch; no extra forward pass",
        _exp3s_visits,
        "after Glover & Hokamp 2019",
    ),
]
