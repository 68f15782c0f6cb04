"""How uncertain the model is about every task, at intervals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

from rota.errors import unknown_name
from rota.limits import Count
from rota.policies import Policy
from rota.settings import Settings
from rota.sources._intervals import at_least_one, interval
from rota.sources._source import Feed, Source

if TYPE_CHECKING:
    from rota.evaluation import RunAccess

ScoreName = Literal["share", "entropy", "expected-entropy", "bald", "batchbald", "joint", "released"]
"""The scores of `rota.signals.SCORES`."""


@dataclass(frozen=True)
class Survey(Source):
    """Measures at intervals how uncertain the model is about each task. The policy hears one value per task, without a
    probability, because no draw led to it.

    Args:
        score: Uncertainty score; see `rota.signals.SCORES`.
        every: Steps between two surveys, and before the first. By default a twentieth of the run.
        passes: Forward passes K over the rows, each with other dropout masks.
        scope: Where dropout is on: "all", "head", or a number of last layers besides the heads. Layers before that are
            computed once.
        rows: Most dev rows per task, a fixed random sample; None for all.
        capped: Whether to limit a task to the mean of the others while its dev loss does not reach a new minimum: it
            may be uncertain because its labels are noise, or because it overfits.
        memory: Approximate limit on the memory of a forward pass, in bytes.

    >>> survey = Survey(score="bald", every=50)
    >>> survey.every, survey.passes, survey.says
    (50, 8, 'uncertainty')
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
        at_least_one(self, "every", "passes", "memory", who="A survey expects")

    def for_run(self, policy: Policy, settings: Settings) -> Survey:
        return replace(self, every=interval(self.every, settings, "A survey expects to be made"))

    def open(self, run: RunAccess) -> Feed:
        from rota.sources._survey_feed import SurveyFeed  # late: it loads torch

        return SurveyFeed(self, run)
