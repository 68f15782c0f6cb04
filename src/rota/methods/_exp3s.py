"""Exp3.S with the prediction gain (Glover & Hokamp 2019)."""

from __future__ import annotations

from typing import Literal

from rota.methods._method import Given, Method
from rota.policies import Exp3S, Policy
from rota.seeds import integer


def _exp3s(
    given: Given,
    *,
    eta: float = 1e-3,
    epsilon: float = 0.05,
    importance: Literal["rho", "pi"] = "rho",
    alpha: float | None = None,
) -> Policy:
    seed = integer(given.seed, "exp3s")
    return Exp3S(given.tasks, eta, epsilon, seed, importance=importance, alpha=alpha)


EXP3S = Method(
    "exp3s", "a bandit that prefers tasks whose batches bring the largest gain", _exp3s, "001 EXP3.S", "prediction_gain"
)
EXP3S_VISITS = Method(
    "exp3s-visits",
    "the same with the gain since the task's last visit, which costs no forward pass",
    _exp3s,
    "after 001 EXP3.S",
    "visit_gain",
)
