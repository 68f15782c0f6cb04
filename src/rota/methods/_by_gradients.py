"""Shares by gradients, which are measured at intervals."""

from __future__ import annotations

from pydantic import Field

from rota.methods._method import Method, Recipe, RunContext
from rota.methods._options import Options, options_of
from rota.methods._priors import AnchorOptions, PriorName, anchored, prior_of
from rota.policies import DGA, PiKE, Policy
from rota.sources import Gradients


class MeasuredOptions(AnchorOptions, options_of(Gradients, but=("target", "says"))):  # type: ignore[misc]
    """Of the measurement, and of the mixture that a method begins with."""

    prior: PriorName | dict[str, float] = Field(
        "uniform", description="Mixture that it begins with: proportional, sqrt or uniform by rows, or weights."
    )


class PiKEOptions(options_of(PiKE, but=("tasks", "prior", "batch_size")), MeasuredOptions):  # type: ignore[misc]
    """Of PiKE."""


class DGAOptions(options_of(DGA, but=("tasks", "prior")), MeasuredOptions):  # type: ignore[misc]
    """Of DGA."""


def _pike(options: PiKEOptions, context: RunContext) -> Recipe:
    known = {**options.of(PiKE), "prior": prior_of(options.prior, context)}
    rows = max(size / context.batches[task] for task, size in context.sizes.items())
    return _measured(PiKE(context.tasks, batch_size=rows, **known), options, context)


def _dga(options: DGAOptions, context: RunContext) -> Recipe:
    known = {**options.of(DGA), "prior": prior_of(options.prior, context)}
    return _measured(DGA(context.tasks, **known), options, context, context.target)


def _measured(policy: Policy, options: Options, context: RunContext, target: str | None = None) -> Recipe:
    source = {"source": Gradients.name, **options.of(Gradients), "target": target}
    return Recipe(anchored(policy, options, context), listen=[source])  # type: ignore[arg-type]


GRADIENTS = [
    Method("pike", "tasks with a large gradient and little noise in it", _pike, "Li et al. 2025 (PiKE)"),
    Method(
        "dga",
        "tasks whose gradient points the way of the target's",
        _dga,
        "Fan et al. 2023 and 2024 (DoGE, DGA)",
        ("target",),
    ),
]
