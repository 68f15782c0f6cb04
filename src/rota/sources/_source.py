"""Who tells a policy what it hears."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from rota.feedback import Choice, Feedback
from rota.policies import Policy
from rota.settings import Settings

if TYPE_CHECKING:
    from torch import Tensor

    from rota.evaluation import RunAccess
    from rota.signals import View


@dataclass(frozen=True)
class Moment:
    """The end of a step, or an evaluation whose line is not written yet. All of it was paid for already.

    Args:
        done: Updates so far.
        last: Whether the run ends here.
        choice: Of the last step; None without a draw.
        evaluation: What `rota.evaluate` returned, at an evaluation.

    >>> Moment(done=100, evaluation={"average": 0.7}).evaluation
    {'average': 0.7}
    """

    done: int
    last: bool = False
    choice: Choice | None = None
    evaluation: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Said:
    """What a source has to say.

    Args:
        feedback: Heard at once, if the policy hears the source's word.
        line: For the log, after that.
        mixture: Whether the line also holds the mixture that the policy then has.

    >>> Said([Feedback("rte", 0.7)], line={"kind": "survey"}).feedback[0].value
    0.7
    """

    feedback: Sequence[Feedback] = ()
    line: Mapping[str, Any] | None = None
    mixture: bool = False


class Feed:
    """A source in one run: it has a memory. Nobody is asked who does not write a method.

    Attributes:
        after_update: A number about each part of a step, from its `View`. It stays on the device and is read `delay`
            steps later; it must not wait for the device.

    >>> class Steps(Feed):
    ...     def at_step_end(self, moment):
    ...         return Said([Feedback("rte", float(moment.done))])
    >>> Steps().at_step_end(Moment(done=7)).feedback[0].value
    7.0
    """

    after_update: Callable[[View], Tensor] | None = None

    def at_evaluation(self, moment: Moment) -> Said | None:
        """After an evaluation, before its line is written; also before the first step, with `done` 0."""

    def at_step_end(self, moment: Moment) -> Said | None:
        """After a step, and after the evaluation that may follow it."""

    def state_dict(self) -> dict[str, Any]:
        """What it remembers, as plain JSON."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from there."""

    def carried(self, state: dict[str, Any], tasks: Collection[str]) -> dict[str, Any]:
        """What it remembers from a time with other tasks, as far as it still means something. Where something is
        remembered of each task, keep that of the tasks that stay (`tasks`)."""
        return state


class Source(ABC):
    """Describes what is measured and when; it has no memory, so that one can be used in many runs.

    A subclass is a frozen dataclass. Its fields are its options, plain values, from which `describe` makes the JSON
    that stands in `run.json`.

    Attributes:
        name: What its description calls it.
        says: The word for what it measures. Give it another one to have a policy take one thing for another.
        each_step: Whether its feed has an `after_update`. There is one such source in a run at most: the log has one
            value per step.

    >>> from rota.sources import Survey
    >>> Survey(passes=4).says, Survey(passes=4).describe()["passes"]
    ('uncertainty', 4)
    """

    name: ClassVar[str]
    each_step: ClassVar[bool] = False
    says: str

    @property
    def words(self) -> tuple[str, ...]:
        """All words that it says; more than one where several numbers are measured together."""
        return (self.says,)

    def for_run(self, policy: Policy, settings: Settings) -> Source:
        """Itself with nothing left open; refuse what cannot work."""
        return self

    @abstractmethod
    def open(self, run: RunAccess) -> Feed:
        """Take part in a run, before its folder is made: refuse now what the model or the tasks cannot do."""

    def describe(self) -> dict[str, Any]:
        """Its name and its options, as plain JSON; two runs are alike only if these are."""
        options: Any = self
        return {"source": self.name, **asdict(options)}
