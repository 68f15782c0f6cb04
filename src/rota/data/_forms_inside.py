"""Forms of tasks whose labels are inside of the text: tags of words, answers in passages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rota.data._examples import Form, Question, Sentence
from rota.data._files import Record, Tally, is_unicode
from rota.data._labels import Labels
from rota.errors import RotaError
from rota.tasks import Answer, Kind, Tagging


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
