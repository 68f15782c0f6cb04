"""Forms of texts that go on: a prompt and its completion, the messages of a conversation, or plain text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from rota.data._examples import Continued, Form, Turn
from rota.data._files import Record, Tally, is_unicode
from rota.errors import RotaError
from rota.tasks import Causal, Kind

Layout = Literal["prompted", "messages", "text"]
"""What a record has: a prompt with its completion, messages, or a text alone."""


@dataclass(frozen=True)
class Continues(Form):
    """How the records of a language model's task become examples.

    Args:
        layout: What a record has.
        text: Column of the prompt, of the messages, or of the text.
        completion: Column of the completion.
        choices: Column with a list of completions to choose from, of which the completion is one.
        chat: Whether a prompt and its completion are put into the chat template, as what a user and a model say.
        measured: Names of the metrics.
        vocabulary: Tokens of the model.
    """

    layout: Layout
    text: str
    completion: str = "completion"
    choices: str | None = None
    chat: bool = False
    measured: tuple[str, ...] = ("likelihood",)
    vocabulary: int = 0

    @property
    def kind(self) -> Kind:
        return Causal(self.vocabulary, self.measured)

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.text,)

    def example(self, record: Record, tally: Tally, labelled: bool = True) -> Continued:
        if self.layout == "messages":
            return Continued(turns=_turns(record, self.text, labelled), where=record.where)
        text = record.text(self.text)
        if self.layout == "text":
            return Continued(prompt="" if labelled else text, completion=text if labelled else "", where=record.where)
        completion = record.text(self.completion, may_be_empty=True) if labelled else ""
        tally.add("empty completions", int(labelled and not completion.strip()))
        choices = self._choices(record, completion) if labelled else ()
        if self.chat:
            said = (("user", text), *((("assistant", completion),) if labelled else ()))
            return Continued(turns=said, choices=choices, where=record.where)
        return Continued(text, completion, choices=choices, where=record.where)

    def _choices(self, record: Record, completion: str) -> tuple[str, ...]:
        if self.choices is None:
            return ()
        found = record.get(self.choices)
        if not isinstance(found, list) or len(found) < 2 or not all(isinstance(own, str) for own in found):
            raise RotaError(
                f"{record.where}: expected a list of two texts or more in column '{self.choices}'. Found {found!r:.60}."
            )
        if completion not in found:
            raise RotaError(
                f"{record.where}: expected the completion among its choices. Found {completion!r:.60} in column "
                f"'{self.completion}'."
            )
        return tuple(found)


def layout_of(record: Record, text: str | None, completion: str | None, messages: str | None) -> tuple[Layout, str]:
    """What a record has, by the columns that are named and those that it has; and the column of its text.

    >>> layout_of(Record({"messages": []}, "line 1"), None, None, None)
    ('messages', 'messages')
    >>> layout_of(Record({"text": "Once upon a time"}, "line 1"), None, None, None)
    ('text', 'text')
    """
    fields = record.fields
    named = text is not None or completion is not None
    if messages is not None or (not named and "messages" in fields and "completion" not in fields):
        return "messages", messages or "messages"
    if completion is None and "completion" not in fields and (text or "text") in fields and text != "prompt":
        return "text", text or "text"
    return "prompted", text or "prompt"


def _turns(record: Record, column: str, labelled: bool) -> tuple[Turn, ...]:
    found = record.get(column)
    if not isinstance(found, list) or not found or not all(map(_is_message, found)):
        raise RotaError(
            f"{record.where}: expected a list of messages with role and content in column '{column}'. Found "
            f"{found!r:.60}."
        )
    turns = tuple((str(own["role"]), str(own["content"])) for own in found)
    if labelled and not any(role == "assistant" for role, _ in turns):
        roles = ", ".join(dict.fromkeys(role for role, _ in turns))
        raise RotaError(
            f"{record.where}: expected a message of the role assistant in column '{column}', which is learned. Found "
            f"{roles}."
        )
    if not labelled and turns[-1][0] == "assistant":
        turns = turns[:-1]  # what it said is not looked at
    return turns


def _is_message(found: Any) -> bool:
    return (
        isinstance(found, dict)
        and isinstance(found.get("role"), str)
        and isinstance(found.get("content"), str)
        and is_unicode(found["content"])
    )
