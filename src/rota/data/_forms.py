"""Forms of tasks with one label for each row: which columns are texts, what the label means."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from rota.data._examples import Example, Form, Place
from rota.data._files import Record, Tally
from rota.data._labels import Labels, label_name
from rota.errors import RotaError
from rota.tasks import (
    Classification,
    Cloze,
    GroupedAnswers,
    Kind,
    MultipleChoice,
    Regression,
    SpanClassification,
)


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
