"""Weights from a file that may be replaced while a run goes on."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rota.errors import RotaError
from rota.feedback import Feedback
from rota.limits import Count
from rota.runlog import read_mixture
from rota.sources._source import Feed, Moment, Said, Source

if TYPE_CHECKING:
    from rota.evaluation import RunAccess


@dataclass(frozen=True)
class MixtureFile(Source):
    """The weight of each task in a JSON file, which is read again at intervals. That it was replaced stands in the log.

    A file that cannot be used any more (half written, a task is missing) changes nothing; the log says why.

    Args:
        file: As `rota improve -o` writes it, or a plain object of weights.
        every: Steps between two looks at it; None: at evaluations.

    >>> MixtureFile("mixture.json", every=100).describe()
    {'source': 'mixture file', 'file': 'mixture.json', 'every': 100, 'says': 'weight'}
    """

    name: ClassVar[str] = "mixture file"
    file: str
    every: Count | None = None
    says: str = "weight"

    def open(self, run: RunAccess) -> Feed:
        self.weights(run.policy.tasks)  # refuses
        return MixtureFileFeed(self, run)

    def weights(self, tasks: Collection[str]) -> dict[str, float]:
        """What the file says at present; refuse where it lacks a task, or has one too many."""
        found = read_mixture(Path(self.file))
        wrong = [f"no '{task}'" for task in tasks if task not in found]
        wrong += [f"an unknown '{task}'" for task in found if task not in tasks]
        if wrong:
            raise RotaError(
                f"{self.file}: expected the weight of each of {', '.join(tasks)}. Found {', '.join(wrong)}."
            )
        return {task: found[task] for task in tasks}


class MixtureFileFeed(Feed):
    """Remembers what it has said last: it speaks when that changes."""

    def __init__(self, source: MixtureFile, run: RunAccess) -> None:
        self._source, self._run = source, run
        self._last: dict[str, Any] | None = None

    def at_evaluation(self, moment: Moment) -> Said | None:
        return self._look(moment.done) if self._source.every is None or not moment.done else None

    def at_step_end(self, moment: Moment) -> Said | None:
        every = self._source.every
        return None if every is None or moment.done % every else self._look(moment.done)

    def _look(self, done: int) -> Said | None:
        found: dict[str, Any]
        try:
            found = {"weights": self._source.weights(self._run.policy.tasks)}
        except RotaError as error:
            found = {"reason": str(error)}
        found = self._run.gather(found)[0]  # processes may look at different moments
        if found == self._last:
            return None
        self._last = found
        told = found.get("weights", {}).items()
        feedback = [Feedback(task, weight, None, done, about=self._source.says) for task, weight in told]
        return Said(feedback, {"kind": "mixture", "step": done, "file": self._source.file, **found}, mixture=True)

    def state_dict(self) -> dict[str, Any]:
        return {"last": self._last}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._last = state["last"]

    def carried(self, state: dict[str, Any], tasks: Collection[str]) -> dict[str, Any]:
        return {"last": None}  # newcomers have a weight in it
