"""From a record to an example: which columns are texts, what the label means."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rota.data._files import Record, Tally, is_unicode
from rota.errors import RotaError
from rota.tasks import (
    Answer,
    Classification,
    Cloze,
    GroupedAnswers,
    Kind,
    MultipleChoice,
    Regression,
    SpanClassification,
    Tagging,
)

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


AnyExample = Example | Sentence | Question


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


@dataclass(frozen=True)
class Labels:
    """What labels are called in files.

    Args:
        names: The classes in their order.
        aliases: Other names for them.
        unlabelled: Values that mean that a row has no label; such rows are left out and counted.
    """

    names: tuple[str, ...]
    aliases: tuple[tuple[str, str], ...] = ()
    unlabelled: tuple[str, ...] = ()

    def number(self, record: Record, column: str, tally: Tally) -> int | None:
        """The class of a record; None: it has none."""
        if column not in record.fields and "" not in self.unlabelled:
            record.get(column)
        value = record.fields.get(column)
        if label_name(value) in self.unlabelled:
            tally.add("without label")
            return None
        return self.find(value, f"{record.where}: expected a label", column)

    def find(self, value: Any, wish: str, column: str) -> int:
        """The class of a value: by name, by alias, or where it is an integer and no name is one, by number."""
        text = label_name(value)
        text = dict(self.aliases).get(text, text)
        if text in self.names:
            return self.names.index(text)
        if type(value) is int and 0 <= value < len(self.names) and not any(map(_is_number, self.names)):
            return value
        shown = ", ".join(self.names[:10]) + (" …" if len(self.names) > 10 else "")
        raise RotaError(f"{wish} among {shown} in column '{column}'. Found {value!r}.")


def label_name(value: Any) -> str:
    """A label as text, whatever a format makes of true and false, whole numbers and names.

    >>> [label_name(value) for value in (True, "True", 1, 1.0, "1.0", " good ", None)]
    ['true', 'true', '1', '1', '1', 'good', '']
    """
    text = "" if value is None else str(value).strip()
    if text in ("True", "False"):
        return text.lower()
    return text.split(".")[0] if re.fullmatch(r"-?\d+\.0+", text) else text


def _is_number(name: str) -> bool:
    return name.removeprefix("-").isdecimal()


@dataclass(frozen=True)
class Classified(Form):
    """One or two texts and a class.

    Args:
        text: Their columns.
        labels: The classes.
        label: Column of the label.
        measured: Names of the metrics.
        parts: Where rows belong to parts that are measured one by one (column `part`), their names.
    """

    text: tuple[str, ...]
    labels: Labels
    label: str = "label"
    measured: tuple[str, ...] = ("accuracy",)
    parts: tuple[str, ...] = ()

    @property
    def kind(self) -> Kind:
        return Classification(len(self.labels.names), self.measured, self.labels.names, self.parts)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.text

    def example(self, record: Record, tally: Tally, labelled: bool = True) -> Example | None:
        number = self.labels.number(record, self.label, tally) if labelled else 0
        if number is None:
            return None
        side = {"part": record.fields.get("part", 0)} if self.parts else {}
        return Example((_pair(record, self.text),), number, side=side)


@dataclass(frozen=True)
class Scored(Form):
    """One or two texts and a number.

    Args:
        text: Their columns.
        label: Column of the number.
        low, high: What it may be.
        unlabelled: Whether rows without a number are left out and counted, or refused.
    """

    text: tuple[str, ...]
    label: str = "label"
    low: float = -math.inf
    high: float = math.inf
    unlabelled: bool = False

    @property
    def kind(self) -> Kind:
        return Regression()

    @property
    def columns(self) -> tuple[str, ...]:
        return self.text

    def example(self, record: Record, tally: Tally, labelled: bool = True) -> Example | None:
        if not labelled:
            return Example((_pair(record, self.text),), 0.0)
        if self.unlabelled and not label_name(record.fields.get(self.label)):
            tally.add("without label")
            return None
        value = record.get(self.label)
        try:
            number = math.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not (math.isfinite(number) and self.low <= number <= self.high):
            wish = f" from {self.low:g} to {self.high:g}" if math.isfinite(self.high) else ""
            raise RotaError(f"{record.where}: expected a number{wish} in column '{self.label}'. Found {value!r}.")
        return Example((_pair(record, self.text),), number)


@dataclass(frozen=True)
class Choices(Form):
    """A text and several ways in which it may go on.

    Args:
        text: Column of the text.
        choices: Columns of the choices, or one column with a list of them.
        label: Column with the number of the right choice, counted from 0.
        count: How many choices.
        unlabelled: Whether rows without a number are left out and counted, or refused.
        ask: Where given, a column and what to add to the text for each of its values.
    """

    text: str
    choices: tuple[str, ...]
    count: int
    label: str = "label"
    unlabelled: bool = False
    ask: tuple[str, tuple[tuple[str, str], ...]] | None = None

    @property
    def kind(self) -> Kind:
        return MultipleChoice(self.count)

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.text, *self.choices, *((self.ask[0],) if self.ask else ()))

    def example(self, record: Record, tally: Tally, labelled: bool = True) -> Example | None:
        text = record.text(self.text)
        if self.ask:
            column, questions = self.ask
            asked = record.text(column)
            if asked not in dict(questions):
                known = ", ".join(name for name, _ in questions)
                raise RotaError(f"{record.where}: expected {known} in column '{column}'. Found '{asked}'.")
            text = f"{text} {dict(questions)[asked]}"
        choices = self._choices(record)
        labels = Labels(tuple(str(k) for k in range(self.count)), unlabelled=("",) if self.unlabelled else ())
        number = labels.number(record, self.label, tally) if labelled else 0
        return None if number is None else Example(tuple((text, choice) for choice in choices), number)

    def _choices(self, record: Record) -> list[str]:
        found = record.get(self.choices[0]) if len(self.choices) == 1 else [record.text(name) for name in self.choices]
        if not isinstance(found, list) or len(found) != self.count:
            said = len(found) if isinstance(found, list) else repr(found)
            raise RotaError(f"{record.where}: expected {self.count} choices. Found {said}.")
        if not all(isinstance(choice, str) and choice.strip() for choice in found):
            raise RotaError(f"{record.where}: expected choices that are texts. Found {found!r}.")
        return found


@dataclass(frozen=True)
class TwoPlaces(Form):
    """Two places in one text or in two, and a class.

    Args:
        text: Columns of the texts.
        labels: The classes.
        places: For each place the number of its text and the columns of its first character and of the one after
            its last.
    """

    text: tuple[str, ...]
    labels: Labels
    places: tuple[tuple[int, str, str], ...]

    @property
    def kind(self) -> Kind:
        return SpanClassification(len(self.labels.names), names=self.labels.names, spans=len(self.places))

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.text, *(column for _, start, end in self.places for column in (start, end)))

    def example(self, record: Record, tally: Tally, labelled: bool = True) -> Example | None:
        number = self.labels.number(record, "label", tally) if labelled else 0
        if number is None:
            return None
        pair = _pair(record, self.text)
        places = tuple(_place(record, pair, text, start, end) for text, start, end in self.places)
        return Example((pair,), number, places)


@dataclass(frozen=True)
class Grouped(Form):
    """A passage, a question with one answer to it, and whether that is right; the column `group` numbers the questions.

    Args:
        passage: Column of the passage.
        question: Columns that together make the question and the answer.
        cloze: Whether exactly one answer is to be chosen (ReCoRD) or any number (MultiRC). For a cloze, the columns
            `exact` and `f1` say what each answer would score.
    """

    passage: str
    question: tuple[str, ...]
    cloze: bool = False

    @property
    def kind(self) -> Kind:
        return Cloze(names=("wrong", "right")) if self.cloze else GroupedAnswers(names=("wrong", "right"))

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.passage, *self.question, *(("group",) if self.cloze else ()))

    def example(self, record: Record, tally: Tally, labelled: bool = True) -> Example | None:
        side: dict[str, float] = {"group": record.fields["group"]} if "group" in record.fields else {}
        if self.cloze:
            side = {name: record.fields.get(name, 0.0) for name in ("exact", "f1")}
            side["group"] = _whole(record, "group")
        labels = Labels(("wrong", "right"), aliases=(("false", "wrong"), ("true", "right")))
        number = labels.number(record, "label", tally) if labelled else 0
        *asked, last = self.question
        parts = [*map(record.text, asked), record.text(last, may_be_empty=True)]
        tally.add("empty answers", int(not parts[-1].strip()))  # the published MultiRC has three
        pair = (record.text(self.passage), " ".join(parts))
        return None if number is None else Example((pair,), number, side=side)


@dataclass(frozen=True)
class Tagged(Form):
    """Words and their tags.

    Args:
        tags: The tags in their order.
        words: Column of the words.
        label: Column of the tags.
        unlabelled: Whether sentences without tags are left out and counted, or refused.
    """

    tags: tuple[str, ...]
    words: str = "words"
    label: str = "tags"
    unlabelled: bool = False

    @property
    def kind(self) -> Kind:
        return Tagging(len(self.tags), self.tags)

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.words,)

    def example(self, record: Record, tally: Tally, labelled: bool = True) -> Sentence | None:
        words = _strings(record, self.words)
        if not labelled:
            return Sentence(words, (0,) * len(words))
        if self.unlabelled and not record.fields.get(self.label):
            tally.add("without label")
            return None
        tags = record.get(self.label)
        if not isinstance(tags, list) or len(tags) != len(words):
            found = len(tags) if isinstance(tags, list) else repr(tags)
            raise RotaError(f"{record.where}: expected {len(words)} tags, one for each word. Found {found}.")
        labels, wish = Labels(self.tags), f"{record.where}: expected tags"
        return Sentence(words, tuple(labels.find(tag, wish, self.label) for tag in tags))


@dataclass(frozen=True)
class Answered(Form):
    """A question about a passage and its answers: column `answers`, a list of {"text", "start"} (start: the character
    where it begins; null: only a reference), or {"text": […], "answer_start": […]} as `datasets` has SQuAD.

    Args:
        question: Column of the question.
        passage: Column of the passage.
        unlabelled: Whether questions without answers are left out and counted, or refused.
    """

    question: str = "question"
    passage: str = "context"
    unlabelled: bool = False

    @property
    def kind(self) -> Kind:
        return Answer()

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.question, self.passage)

    def example(self, record: Record, tally: Tally, labelled: bool = True) -> Question | None:
        question, passage = record.text(self.question), record.text(self.passage)
        if not labelled:
            return Question(question, passage, None, ())
        answers = [] if self.unlabelled and not record.fields.get("answers") else _answers(record)
        if not answers and self.unlabelled:
            tally.add("without label")
            return None
        if not answers:
            raise RotaError(f"{record.where}: expected at least one answer. Found none.")
        placed = [(start, text) for start, text in answers if start is not None]
        for start, text in placed:
            if start < 0 or not text.strip() or passage[start : start + len(text)] != text:
                raise RotaError(
                    f"{record.where}: expected the answer '{text[:60]}' at character {start} of its passage. "
                    f"Found '{passage[max(start, 0) : max(start, 0) + len(text)][:60]}'."
                )
        references = tuple(dict.fromkeys(text for _, text in answers))
        return Question(question, passage, _without_spaces(*placed[0]) if placed else None, references)


def with_scale(kind: Kind, deviation: float) -> Kind:
    """A regression whose targets have this standard deviation; any other kind as it is."""
    return replace(kind, scale=deviation) if isinstance(kind, Regression) and deviation > 0 else kind


def _pair(record: Record, columns: tuple[str, ...]) -> tuple[str, str | None]:
    return record.text(columns[0]), record.text(columns[1], may_be_empty=True) if len(columns) > 1 else None


def _place(record: Record, pair: tuple[str, str | None], text: int, start: str, end: str) -> Place:
    first, last = record.get(start), record.get(end)
    length = len(pair[text] or "")
    if not (isinstance(first, int) and isinstance(last, int) and 0 <= first < last <= length):
        raise RotaError(
            f"{record.where}: expected a span inside its text of {length} characters. Found {first} to {last}."
        )
    return text, first, last


def _whole(record: Record, column: str) -> int:
    value = record.get(column)
    try:
        return int(value)
    except (TypeError, ValueError) as error:
        raise RotaError(f"{record.where}: expected a whole number in column '{column}'. Found {value!r}.") from error


def _answers(record: Record) -> list[tuple[int | None, str]]:
    """Where each answer begins, and its text."""
    found: Any = record.get("answers")
    try:
        if isinstance(found, dict):  # columns, to be turned into rows
            found = [dict(zip(found, row, strict=True)) for row in zip(*found.values(), strict=True)]
        answers = [(answer.get("start", answer.get("answer_start")), answer["text"]) for answer in found]
    except (KeyError, TypeError, ValueError, AttributeError):
        answers = [(None, None)]
    if not all(isinstance(text, str) and (start is None or type(start) is int) for start, text in answers):
        raise RotaError(
            f"{record.where}: expected a list of answers, each with text and start, in column 'answers'. "
            f"Found {str(found)[:60]}."
        )
    return answers


def _without_spaces(start: int, text: str) -> tuple[int, int]:
    """The first character of a text that stands at `start`, and the one after its last, spaces left out."""
    return start + len(text) - len(text.lstrip()), start + len(text.rstrip())


def _strings(record: Record, column: str) -> tuple[str, ...]:
    words = record.get(column)
    if (
        not isinstance(words, list)
        or not words
        or not all(isinstance(word, str) and word.strip() and is_unicode(word) for word in words)
    ):
        raise RotaError(f"{record.where}: expected a list of words in column '{column}'. Found {str(words)[:60]}.")
    return tuple(words)
