"""What stands between a record and its tokens: examples, and the forms that make them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

from rota.data._files import Record, Tally
from rota.tasks import Kind

Place = tuple[int, int, int]
"""Which text (0 or 1), the first character, and the one after the last."""


@dataclass(frozen=True, slots=True)
class Example:
    """Texts with a label: one pair of texts, or one for each choice; the second may be None."""

    texts: tuple[tuple[str, str | None], ...]
    label: float
    places: tuple[Place, ...] = ()
    side: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words with a tag each."""

    words: tuple[str, ...]
    tags: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a passage, where in it an answer stands (None: nowhere), and all right answers."""

    question: str
    passage: str
    answer: tuple[int, int] | None
    references: tuple[str, ...]


Turn = tuple[str, str]
"""Who says what: the role and the content of a message."""


@dataclass(frozen=True, slots=True)
class Continued:
    """A prompt and how it goes on; a text alone, which is all completion; or the turns of a conversation."""

    prompt: str = ""
    completion: str = ""
    turns: tuple[Turn, ...] = ()
    choices: tuple[str, ...] = ()
    where: str = ""
    side: Mapping[str, float] = field(default_factory=dict)


AnyExample = Example | Sentence | Question | Continued


class Form(ABC):
    """How the records of one task become examples. A frozen dataclass: equal forms make equal examples."""

    @property
    @abstractmethod
    def kind(self) -> Kind:
        """The kind of the task."""

    @abstractmethod
    def example(self, record: Record, tally: Tally, labelled: bool = True) -> AnyExample | None:
        """The example of a record; None for one that is left out, which the tally then counts.

        Without `labelled` the label is not looked at, for predictions.
        """

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns that a prediction needs."""
