"""What a policy says (`Choice`) and what it hears (`Feedback`)."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Choice", "Feedback"]


@dataclass(frozen=True, slots=True)
class Feedback:
    """What came back about one task, in the unit that its policy hears (gain, uncertainty, loss; `Policy.hears`).

    Args:
        task: Name of the task.
        value: The number.
        probability: How likely the choice was that this value belongs to. None: the value was measured without a draw
            (a survey, a joint step), so it counts with weight 1.
        step: Step of that choice; values may come late and out of order.
        round: Round of that choice, where tasks are held for several steps (`Hold`).
        about: The word for what was measured, such as "loss" or "score". None: the only one that the policy hears.

    >>> Feedback("rte", 0.25, probability=0.5, step=7)
    Feedback(task='rte', value=0.25, probability=0.5, step=7, round=None, about=None)
    """

    task: str
    value: float
    probability: float | None = None
    step: int | None = None
    round: int | None = None
    about: str | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """The task that was drawn, and its probability.

    >>> Choice("rte", probability=0.25, step=7).scored(0.5)
    Feedback(task='rte', value=0.5, probability=0.25, step=7, round=None, about=None)
    """

    task: str
    probability: float
    step: int
    round: int | None = None

    def scored(self, value: float, about: str | None = None) -> Feedback:
        """The feedback that says: this choice brought `value`."""
        return Feedback(self.task, value, self.probability, self.step, self.round, about)
