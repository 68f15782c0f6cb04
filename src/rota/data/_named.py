"""Text tasks that one can name: where their files are, how they are read, how they are loaded."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rota.data._arrays import ArrayWriter
from rota.data._cache import content_of, kept
from rota.data._encoding import encode
from rota.data._examples import AnyExample, Form
from rota.data._files import Read, Record, Tally
from rota.data._forms import with_scale
from rota.data._hub import Hub
from rota.data._textrows import TextRows
from rota.data._tokenizer import Tokenizer
from rota.errors import RotaError
from rota.packaged import default_cache
from rota.tasks import Tagging, Task, Texts

FORMAT = 1  # of the arrays in the cache


@dataclass(frozen=True)
class Reading:
    """How texts are found and cut.

    Args:
        data: Folder with data sets in their published layouts; None: `$ROTA_DATA`, if it is set.
        encoder: Whose tokenizer cuts the texts.
        longest: Most tokens in a text.
        cache: Where tokens are kept; None: the user's cache folder.

    >>> Reading(encoder="minilm", longest=64).longest
    64
    """

    data: Path | None = None
    encoder: str = "minilm"
    longest: int = 128
    cache: Path | None = None

    @property
    def folder(self) -> Path | None:
        if self.data is not None and not self.data.is_dir():
            raise RotaError(f"Plan(data=…) expects a folder. Found none at {self.data}.")
        found = os.environ.get("ROTA_DATA")
        if self.data is None and found and not Path(found).is_dir():
            raise RotaError(f"$ROTA_DATA expects a folder. Found none at {found}.")
        return self.data or (Path(found) if found else None)

    @cached_property
    def tokenizer(self) -> Tokenizer:
        return Tokenizer(self.encoder)

    @cached_property
    def room(self) -> int:
        """Most tokens in a text that the encoder takes, too."""
        return min(self.longest, self.tokenizer.limit)


@dataclass(frozen=True)
class Files:
    """Files that together are one split; rows of several files get their number as the field `part`.

    Args:
        names: Relative to the folder of the task.
        read: Their reader.
    """

    names: tuple[str, ...]
    read: Read


@dataclass(frozen=True)
class Split:
    """Where the records of a split come from, found and ready to be read."""

    paths: tuple[Path, ...]
    read: Read

    def records(self, tally: Tally) -> Iterator[Record]:
        for part, path in enumerate(self.paths):
            record = None
            for record in self.read(path, tally):
                yield record if len(self.paths) == 1 else Record({**record.fields, "part": part}, record.where)
            if record is None:
                raise RotaError(f"{path}: expected at least one row. Found none.")

    def count(self, form: Form) -> int:
        """How many examples there are; reads all of them."""
        tally = Tally()
        return sum(1 for _ in examples_of(form, self.records(tally), tally))

    @property
    def content(self) -> str:
        return content_of(self.paths)

    @property
    def place(self) -> str:
        return str(self.paths[0].parent)

    @property
    def origin(self) -> str:
        return ", ".join(map(str, self.paths))


@dataclass(frozen=True)
class NamedTask:
    """A published data set as a task.

    Args:
        name: How the command line calls it.
        form: What its records are.
        folders: Where its files may be, relative to the data folder, first found first.
        files: The files of each split, alternatives in their order.
        hub: Where the hub has it.
        same_as: The name of a task with the same rows, which is refused beside it.

    >>> from rota.data import named_task
    >>> rte = named_task("rte")
    >>> rte.name, rte.folders
    ('rte', ('glue/RTE', 'RTE', 'GLUE/RTE', 'glue_data/RTE'))
    """

    name: str
    form: Form
    folders: tuple[str, ...]
    files: Mapping[str, Sequence[Files]]
    hub: Hub
    same_as: str | None = None

    def local(self, data: Path | None) -> dict[str, Split]:
        """The splits that are in the data folder."""
        for folder in self.folders if data is not None else ():
            assert data is not None
            found = {
                split: Split(tuple(data / folder / name for name in files.names), files.read)
                for split, alternatives in self.files.items()
                for files in reversed(alternatives)
                if all((data / folder / name).is_file() for name in files.names)
            }
            if found:
                return found
        return {}

    def load(self, reading: Reading) -> Task:
        """The task, tokenised."""
        return load_text_task(self.raw(reading), reading)

    def raw(self, reading: Reading) -> RawTask:
        """The task as it is written; from the data folder, or else from the hub."""
        splits: Mapping[str, Any] = self.local(reading.folder) or self.hub.splits(self.name, reading.folder)
        return RawTask(self.name, self.form, splits)


@dataclass(frozen=True)
class RawTask:
    """A text task before its texts are cut into tokens.

    Args:
        name: Of the task.
        form: What its records are.
        splits: Where its records come from; each has `records`, `content` and `origin`.

    >>> from rota.data import named_task
    >>> RawTask("rte", named_task("rte").form, {}).form.kind
    classification (2 classes)
    """

    name: str
    form: Form
    splits: Mapping[str, Any]

    def examples(self, split: str) -> Iterator[AnyExample]:
        """Those of one split, read from the beginning; rows that are left out are not counted."""
        tally = Tally()
        return examples_of(self.form, self.splits[split].records(tally), tally)


def load_text_task(raw: RawTask, reading: Reading) -> Task:
    """The task, tokenised."""
    name, form = raw.name, raw.form
    rows, notes = {}, {}
    content = {split: source.content for split, source in raw.splits.items()}
    for split, source in raw.splits.items():
        key = {
            "format": FORMAT,
            "form": repr(form),
            "content": content[split],
            "tokenizer": reading.tokenizer.fingerprint,
            "longest": reading.room,
            "keep": split != "train",
        }
        make = MakeArrays(form, source, reading, keep=split != "train")
        arrays, counts = kept(reading.cache or default_cache(), f"{name}-{split}", key, make)
        rows[split] = TextRows(arrays, reading.tokenizer.padding)
        if counts:
            notes[split] = counts
    kind = form.kind
    if "train" in rows:
        kind = with_scale(kind, float(np.std(rows["train"].labels().numpy())))
    return Task(name, kind, rows, Texts(reading.encoder, reading.room), notes={"content": content, "counted": notes})


@dataclass(frozen=True)
class MakeArrays:
    """Makes the arrays of one split."""

    form: Form
    source: Any
    reading: Reading
    keep: bool

    def __call__(self, writer: ArrayWriter) -> dict[str, Any]:
        tally = Tally()
        kind = self.form.kind
        names = kind.names if isinstance(kind, Tagging) else ()
        examples = examples_of(self.form, self.source.records(tally), tally)
        encode(examples, self.reading.tokenizer, self.reading.room, writer, tally, self.keep, names)
        counts = dict(sorted(tally.counts.items()))
        if writer.empty:
            why = "".join(f" ({count:,} {reason})" for reason, count in counts.items())
            raise RotaError(f"{self.source.origin}: expected at least one row with a label. Found none{why}.")
        return counts


def examples_of(form: Form, records: Iterator[Record], tally: Tally, labelled: bool = True) -> Iterator[AnyExample]:
    """The examples of records; those that are left out are counted."""
    for record in records:
        example = form.example(record, tally, labelled)
        if example is not None:
            yield example
