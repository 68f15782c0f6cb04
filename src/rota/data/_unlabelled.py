"""Rows without labels, to predict with a trained model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rota.arrays import Ids
from rota.data._arrays import ArrayWriter
from rota.data._encoding import encode
from rota.data._examples import AnyExample, Continued, Example, Form
from rota.data._files import FORMATS, Read, Tally, reader_for
from rota.data._language_encoding import prompt_tokens
from rota.data._language_form import Continues
from rota.data._load import named_task
from rota.data._named import Reading, examples_of
from rota.data._own import own_form
from rota.data._textrows import TextRows
from rota.errors import RotaError
from rota.tasks import Tagging


class Unlabelled:
    """The rows of a file for one task, some at a time.

    Args:
        task: Name of the task.
        notes: What its reader noted with the run, for a task from a user's file.
        path: A table with the columns of the task (CSV, TSV, JSON lines, Parquet), or a file in the task's published
            layout; labels are not looked at.
        reading: How texts are cut.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "new.csv"
    ...     _ = path.write_text("sentence1,sentence2\\nThe cat sat.,A cat sat.\\nIt rained.,It was dry outside.\\n")
    ...     rows = next(Unlabelled("rte", {}, path, Reading(encoder="minilm", longest=64)).chunks())
    >>> len(rows), rows.lengths().tolist()
    (2, [11, 11])
    """

    def __init__(self, task: str, notes: Mapping[str, Any], path: Path, reading: Reading) -> None:
        named = named_task(task)
        self.form: Form
        if "own" in notes:
            self.form, layouts = own_form(notes, path)
        elif named is not None:
            self.form = named.form
            layouts = [files.read for split in named.files.values() for files in split]
        else:
            raise RotaError(f"Predictions expect a task of texts. Found '{task}'.")
        self._path, self._reading, self.tally = path, reading, Tally()
        self._read = self._reader(task, layouts)

    def chunks(self, size: int = 1000) -> Iterator[TextRows]:
        """Rows of so many examples at a time, or some more: those that belong together stay together."""
        kind = self.form.kind
        names = kind.names if isinstance(kind, Tagging) else ()
        examples = examples_of(self.form, self._read(self._path, self.tally), self.tally, labelled=False)
        for chunk in _chunks(examples, size):
            writer = ArrayWriter()
            tokenizer = self._reading.tokenizer
            encode(chunk, tokenizer, self._reading.room, writer, self.tally, keep=True, names=names)
            yield TextRows(writer.finish({})[0], tokenizer.padding)

    def prompts(self, most: int, size: int = 1000) -> Iterator[list[Ids]]:
        """The tokens of the prompts, so many at a time, that a language model is to go on with.

        Args:
            most: Tokens that it may say, for which there must be room.
            size: Prompts at a time.
        """
        tokenizer = self._reading.tokenizer
        room = tokenizer.limit - most
        examples = examples_of(self.form, self._read(self._path, self.tally), self.tally, labelled=False)
        for chunk in _chunks(examples, size):
            found = []
            for example in chunk:
                assert isinstance(example, Continued), "the form of a language model's task makes these"
                tokens = prompt_tokens(example, tokenizer)
                if len(tokens) > room:
                    raise RotaError(
                        f"{example.where}: expected a prompt of at most {room:,} tokens, which leaves room for {most} "
                        f"more in what the model can read. Found one of {len(tokens):,}. Shorten it."
                    )
                found.append(np.array(tokens, dtype=np.int64))
            yield found

    @property
    def spoken(self) -> bool:
        """Whether a language model answers."""
        return isinstance(self.form, Continues)

    def _reader(self, task: str, layouts: list[Read]) -> Read:
        """A plain table if the first record has the columns of the task, else the layout that it is published in."""
        plain = [reader_for(self._path)] if self._suffix() in FORMATS else []
        mistakes = []
        for read in [*plain, *layouts]:
            try:
                first = next(iter(read(self._path, Tally())), None)
                if first is None:
                    raise RotaError(f"{self._path}: expected at least one row. Found none.")
                self.form.example(first, Tally(), labelled=False)
            except RotaError as error:
                mistakes.append(error)
            else:
                return read
        if not mistakes:
            raise RotaError(f"Expected a file that ends in {', '.join(FORMATS)}. Found {self._path}.")
        columns = ", ".join(self.form.columns)
        raise RotaError(f"{str(mistakes[0]).rstrip('.')}. Task '{task}' reads the columns {columns}.") from mistakes[0]

    def _suffix(self) -> str:
        return Path(self._path.stem).suffix if self._path.suffix == ".gz" else self._path.suffix


def _chunks(examples: Iterable[AnyExample], size: int) -> Iterator[list[AnyExample]]:
    chunk: list[AnyExample] = []
    last = None
    for example in examples:
        group = example.side.get("group") if isinstance(example, Example) else None
        if len(chunk) >= size and (group is None or group != last):
            yield chunk
            chunk = []
        chunk.append(example)
        last = group
    if chunk:
        yield chunk
