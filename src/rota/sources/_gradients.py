"""The gradient of every task, at intervals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from rota.errors import unknown_name
from rota.limits import Count
from rota.policies import Policy
from rota.settings import Settings
from rota.sources._intervals import at_least_one, interval
from rota.sources._source import Feed, Source

if TYPE_CHECKING:
    from rota.evaluation import RunAccess

VARIANCE = "gradient variance"


@dataclass(frozen=True)
class Gradients(Source):
    """Measures the gradient of each task's training loss on two batches g₁, g₂ of rows of its own, without an update.

    Without a target it says the squared norm of the gradient, as g₁·g₂, and the "gradient variance" of one row, as
    m |g₁ - g₂|² / 2: both are right on average, for batches of any size m. With a target it says the product with the
    gradient of the target's loss on dev rows instead, and no variance.

    Dropout is off, and the generators of training are not touched. Each row costs a forward and a backward pass, which
    the ledger counts as three forward passes.

    Args:
        every: Steps between two measurements, and before the first. By default a twentieth of the run.
        rows: Rows m in each of the two batches.
        target: The task whose loss is to be lowered.

    >>> Gradients(every=50).words, Gradients(every=50, target="rte").words
    (('gradient', 'gradient variance'), ('gradient',))
    """

    name: ClassVar[str] = "gradients"
    every: Count | None = None
    rows: Count = 16
    target: str | None = None
    says: str = "gradient"

    def __post_init__(self) -> None:
        at_least_one(self, "every", "rows", who="Gradients expects")

    @property
    def words(self) -> tuple[str, ...]:
        return (self.says, VARIANCE) if self.target is None else (self.says,)

    def for_run(self, policy: Policy, settings: Settings) -> Gradients:
        if self.target is not None and self.target not in policy.tasks:
            raise unknown_name("target of the gradients", self.target, policy.tasks)
        return replace(self, every=interval(self.every, settings, "Gradients expects to be measured"))

    def open(self, run: RunAccess) -> Feed:
        from rota.sources._gradient_feed import GradientFeed  # late: it loads torch

        return GradientFeed(self, run)
