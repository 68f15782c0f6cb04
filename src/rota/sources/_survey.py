"""How unsure the model is about every task, from time to time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

from rota.errors import RotaError, unknown_name
from rota.limits import Count
from rota.policies import Policy
from rota.settings import Settings
from rota.sources._source import Feed, Source

if TYPE_CHECKING:
    from rota.evaluation import RunAccess

ScoreName = Literal["share", "entropy", "expected-entropy", "bald", "batchbald", "released"]
"""The scores of `rota.signals.SCORES`."""
SURVEYS = 20  # in a run, where nobody says how often


@dataclass(frozen=True)
class Survey(Source):
    """Measures from time to time how unsure the model is about each task. A policy hears one value per task, without a
    probability: nobody chose.

    Args:
        score: What is measured; see `rota.signals.SCORES`.
        every: Steps between surveys; the first one is after so many steps. By default a twentieth of the run.
        passes: Passes K of the model over the rows.
        scope: Where dropout is on: "all", "head", or in the heads and so many last layers of the encoder. What comes
            before is computed once.
        rows: At most so many dev rows of a task, a fixed random sample; all of them for None.
        capped: Whether a task whose dev loss is no lower than at all surveys before counts at most as much as the mean
            of the others: it may be unsure because there is nothing to learn, or because it learns rows by heart.
        memory: Bytes that a forward pass may take, nearly.
    """

    name: ClassVar[str] = "survey"
    score: ScoreName = "entropy"
    every: Count | None = None
    passes: Count = 8
    scope: Literal["all", "head"] | Count = "all"
    rows: Count | None = None
    capped: bool = True
    memory: Count = 2**30
    says: str = "uncertainty"

    def __post_init__(self) -> None:
        if self.score not in get_args(ScoreName):
            raise unknown_name("score", self.score, get_args(ScoreName))
        for name in ("every", "passes", "memory"):
            found = getattr(self, name)
            if found is not None and found < 1:
                raise RotaError(f"A survey expects {name} of at least 1. Found {found}.")

    def for_run(self, policy: Policy, settings: Settings) -> Survey:
        every = max(1, settings.steps // SURVEYS) if self.every is None else self.every
        if every >= settings.steps:
            raise RotaError(
                f"A survey expects to be made before the run ends. Found every={every} and "
                f"Settings(steps={settings.steps}). Lower every."
            )
        return replace(self, every=every)

    def open(self, run: RunAccess) -> Feed:
        from rota.sources._survey_feed import SurveyFeed  # late: it loads torch

        return SurveyFeed(self, run)
