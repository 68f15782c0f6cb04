"""Dev scores as feedback."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rota.feedback import Feedback
from rota.sources._source import Feed, Moment, Said, Source

if TYPE_CHECKING:
    from rota.evaluation import RunAccess


@dataclass(frozen=True)
class DevScores(Source):
    """The dev score of each task at every evaluation, which has been paid for anyway.

    >>> DevScores().describe()
    {'source': 'dev scores', 'says': 'score'}
    """

    name: ClassVar[str] = "dev scores"
    says: str = "score"

    def open(self, run: RunAccess) -> Feed:
        return DevScoresFeed(run.policy.tasks, self.says)


class DevScoresFeed(Feed):
    """Has no memory: an evaluation says it all."""

    def __init__(self, tasks: Sequence[str], says: str) -> None:
        self._tasks, self._says = tasks, says

    def at_evaluation(self, moment: Moment) -> Said | None:
        found = (moment.evaluation or {})["tasks"]
        told = [task for task in self._tasks if task in found]
        return Said([Feedback(task, found[task]["score"], None, moment.done, about=self._says) for task in told])
