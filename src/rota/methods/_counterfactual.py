"""The counterfactual policy: train, learn a mixture from the log, train with it (Glover & Hokamp 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from rota.methods._method import Given, Method
from rota.offpolicy import best_mixture
from rota.policies import Policy


def _counterfactual(
    given: Given,
    *,
    entropy: Annotated[float, Field(ge=0)] | Literal["auto"] = "auto",
    rounds: Annotated[int, Field(ge=1)] = 1,
    logs: tuple[str, ...] = (),
) -> Policy:
    # A log is a folder, and of every round the last one alone: mixtures of earlier rounds were worse.
    known: Sequence[Path | str] = list(logs) or [given.trainer.train("log", method="uniform", options={}).folder]
    for number in range(1, rounds):
        mixture = best_mixture(known, entropy, steps=given.steps).mixture
        known = [given.trainer.train(f"round-{number}", method="fixed", options={"weights": mixture}).folder]
    return best_mixture(known, entropy, steps=given.steps)


COUNTERFACTUAL = Method(
    "counterfactual",
    "a mixture learned from the log of a uniform run, which is trained first",
    _counterfactual,
    "001 π^C",
)
