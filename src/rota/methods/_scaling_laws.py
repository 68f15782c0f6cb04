"""Shares by fitted scaling laws."""

from __future__ import annotations

from pydantic import Field

from rota.methods._method import Method, Recipe, RunContext
from rota.methods._options import options_of
from rota.methods._priors import PriorName, prior_of
from rota.policies import ADO


class ADOOptions(options_of(ADO, but=("tasks", "prior", "horizon"))):  # type: ignore[misc]
    """Of ADO."""

    prior: PriorName | dict[str, float] = Field(
        "proportional", description="Prior mixture: proportional, sqrt or uniform by rows, or weights."
    )


def _ado(options: ADOOptions, context: RunContext) -> Recipe:
    known = {**options.of(ADO), "prior": prior_of(options.prior, context)}
    return Recipe(ADO(context.tasks, horizon=context.steps, **known))


LAWS = [
    Method(
        "ado",
        "by the learning speed that a scaling law of each source predicts",
        _ado,
        "Jiang et al. 2024 (ADO)",
        ("sizes",),
    )
]
