"""A language model's own tasks: texts that go on, from one file or from hundreds of sources."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field

from rota.arrays import Ids
from rota.data._arrays import Arrays, ArrayWriter
from rota.data._cache import kept
from rota.data._described_task import DescribedTask
from rota.data._examples import Continued
from rota.data._files import Record, Tally, reader_for
from rota.data._labels import label_name
from rota.data._language_encoding import CUTS, encode_continued
from rota.data._language_form import Continues, Layout, layout_of
from rota.data._language_rows import LanguageRows
from rota.data._named import Reading, Split
from rota.data._own_splits import Folder
from rota.errors import RotaError
from rota.packaged import default_cache
from rota.pretrained import load_pretrained, speaks
from rota.seeds import generator
from rota.tasks import Causal, Continuations, Task

FORMAT = 1  # of the arrays in the cache


class LanguageTask(DescribedTask):
    """One task of a YAML file, or one for each source in it. Paths are relative to the file."""

    kind: Literal["causal"]
    train: str | None = Field(None, description="file or folder, or a pattern such as data/*.jsonl: a task for each")
    source: str | None = Field(None, description="column that names the source of a row: a task for each")
    text: str | None = Field(None, min_length=1, description="column of the prompt, or of a text without completion")
    label: str | None = Field(None, min_length=1, description="column of the completion")
    messages: str | None = Field(None, min_length=1, description="column of the messages")
    choices: str | None = Field(None, min_length=1, description="column with a list of completions")
    chat: bool = Field(False, description="put prompt and completion into the chat template")
    metrics: tuple[str, ...] = Field(("likelihood",), min_length=1)
    layout: Layout | None = None
    only: str | None = Field(None, description="the source")

    @property
    def form(self) -> Continues:
        assert self.layout is not None, "it is known from the first record on"
        column = {"prompted": "prompt", "messages": "messages", "text": "text"}[self.layout]
        text = (self.messages if self.layout == "messages" else self.text) or column
        label = self.label or "completion"
        return Continues(self.layout, text, label, self.choices, self.chat, self.metrics)


def sources_of(own: LanguageTask) -> list[LanguageTask]:
    """The tasks that one entry of a file stands for: one for each source, by their names."""
    if own.train is None and own.test is None and not isinstance(own.dev, str):
        raise RotaError(f"Task '{own.name}' expects files for train, dev or test. Found none.")
    if "*" in (own.train or ""):
        return [_with_layout(each) for each in _of_files(own)]
    own = _with_layout(own)
    if own.source is None:
        return [own]
    names = _sources(_split(own, _first(own)), own.source)
    plain = {name: f"{own.name}-{_plain(name)}" for name in names}
    if len(set(plain.values())) < len(names):
        twice = sorted({name for name in plain.values() if [*plain.values()].count(name) > 1})
        raise RotaError(f"Task '{own.name}' expects sources with different names. Found twice: {', '.join(twice)}.")
    return [own.model_copy(update={"name": plain[name], "only": name}) for name in names]


def load_language(own: LanguageTask, reading: Reading) -> Task:
    """The task, tokenised."""
    if not speaks(reading.encoder):
        raise RotaError(
            f"Task '{own.name}' (causal) expects a language model. Found '{reading.encoder}', which says nothing. Use "
            f"Plan(model='smollm2'), or a folder with a model such as Llama, Qwen or GPT-2."
        )
    rows, content = {}, {}
    for name in ("train", "dev", "test"):
        value = getattr(own, name)
        if isinstance(value, str):
            split = _split(own, name)
            arrays, sources, content[name] = _tokenised(split, _signature(split), own.form, own.source, reading)
            if own.only is not None and own.only not in sources:
                raise RotaError(f"Task '{own.name}' expects {name} rows of source '{own.only}'. Found none.")
            chosen = None if own.only is None else _of_source(arrays, sources.index(own.only))
            rows[name] = LanguageRows(arrays, reading.tokenizer, chosen)
    if isinstance(own.dev, float | int):
        rows |= _cut(own, rows.get("train"))
    kind = Causal(vocabulary_size(reading.encoder)).measured_by(own.metrics, own.name)
    counted = {name: counts for name, found in rows.items() if (counts := _counts(found))}
    notes = {"content": content, "counted": counted, "own": own.model_dump(mode="json")}
    inputs = Continuations(reading.encoder, reading.room)
    return Task(own.name, kind, rows, inputs, own.auxiliary, own.batch_size, own.loss_weight, own.stop_after, notes)


def vocabulary_size(name: str) -> int:
    """How many tokens the model of this name knows."""
    return int(load_pretrained("config", name).get_text_config().vocab_size)


def _of_files(own: LanguageTask) -> list[LanguageTask]:
    if own.source is not None:
        raise RotaError(f"Task '{own.name}' expects a source column, or a pattern of files. Found both.")
    paths = sorted(Path(own.folder).glob(own.train or ""))
    if not paths:
        raise RotaError(
            f"Task '{own.name}' expects files for train. Found none at {Path(own.folder) / str(own.train)}."
        )
    found = []
    for path in paths:
        stem = path.name.split(".")[0]
        changes: dict[str, Any] = {"name": f"{own.name}-{_plain(stem)}", "train": str(path.relative_to(own.folder))}
        others = {split: str(getattr(own, split)) for split in ("dev", "test")}
        changes |= {split: value.replace("*", stem) for split, value in others.items() if "*" in value}
        found.append(own.model_copy(update=changes))
    return found


def _plain(name: str) -> str:
    """A source as part of the name of a task, which may become the name of a folder."""
    return re.sub(r"[^\w-]+", "-", name).strip("-") or "none"


def _with_layout(own: LanguageTask) -> LanguageTask:
    record = next(iter(_split(own, _first(own)).records(Tally())), None)
    if record is None:
        raise RotaError(f"{_split(own, _first(own)).origin}: expected at least one row. Found none.")
    layout, _ = layout_of(record, own.text, own.label, own.messages)
    return own.model_copy(update={"layout": layout})


def _first(own: LanguageTask) -> str:
    """The split by which a task is known."""
    return next(split for split in ("train", "dev", "test") if isinstance(getattr(own, split), str))


def _split(own: LanguageTask, name: str) -> Split | Folder:
    path = Path(own.folder) / str(getattr(own, name))
    if path.is_dir():
        return Folder(path, name)
    if not path.is_file():
        raise RotaError(f"Task '{own.name}' expects a file for {name}. Found none at {path}.")
    return Split((path,), reader_for(path))


def _signature(split: Split | Folder) -> tuple[Any, ...]:
    """Changes when the files do; cheaper than their content, and asked for once for each source."""
    paths = split.paths if isinstance(split, Split) else sorted(split.path.rglob("*"))
    return tuple((str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in paths)


def _sources(split: Split | Folder, column: str) -> list[str]:
    """The names in the column, in the order in which they come; kept with the content of the file."""

    def make(_: ArrayWriter) -> dict[str, Any]:
        return {"sources": [*dict.fromkeys(_source(record, column) for record in split.records(Tally()))]}

    found: list[str] = kept(default_cache(), "sources", ["sources", split.content, column], make)[1]["sources"]
    return found


def _source(record: Record, column: str) -> str:
    name = label_name(record.get(column))
    if not name:
        raise RotaError(f"{record.where}: expected the name of a source in column '{column}'. Found none.")
    return name


@functools.lru_cache(maxsize=16)
def _tokenised(
    split: Split | Folder, signature: tuple[Any, ...], form: Continues, source: str | None, reading: Reading
) -> tuple[Arrays, list[str], str]:
    """The rows of all sources of a file, the names of the sources, and the content of the file."""
    tokenizer, content = reading.tokenizer, split.content
    template = tokenizer.fast.chat_template if form.chat or form.layout == "messages" else None
    made_of = [tokenizer.fingerprint, tokenizer.end, template, reading.room]
    key = ["language", FORMAT, content, repr(form), source, *made_of]

    def make(writer: ArrayWriter) -> dict[str, Any]:
        tally, names = Tally(), dict[str, int]()
        encode_continued(_examples(split, form, source, tally, names), tokenizer, reading.room, writer, tally)
        return {"sources": [*names]}

    arrays, remembered = kept(reading.cache or default_cache(), Path(split.origin).name, key, make)
    return arrays, remembered["sources"], content


def _examples(
    split: Split | Folder, form: Continues, source: str | None, tally: Tally, names: dict[str, int]
) -> Iterator[Continued]:
    for record in split.records(tally):
        example = form.example(record, tally)
        name = "" if source is None else _source(record, source)
        yield Continued(
            example.prompt,
            example.completion,
            example.turns,
            example.choices,
            example.where,
            {"source": names.setdefault(name, len(names))},
        )


def _of_source(arrays: Arrays, number: int) -> Ids:
    return np.flatnonzero(arrays["side_source"] == number)


def _cut(own: LanguageTask, whole: LanguageRows | None) -> Mapping[str, LanguageRows]:
    """Training rows without a share of them, and that share."""
    share = own.dev
    if not isinstance(share, float | int) or not 0 < share < 1 or whole is None:
        raise RotaError(
            f"Task '{own.name}' expects dev to be a file, or a share between 0 and 1 of its train file. Found {share}."
        )
    if len(whole) < 2:
        raise RotaError(f"Task '{own.name}' expects two rows or more, to cut a dev split off. Found {len(whole)}.")
    count = min(max(1, round(share * len(whole))), len(whole) - 1)
    order = generator(0, "dev", own.name).permutation(len(whole))
    return {"dev": whole.take(np.sort(order[:count])), "train": whole.take(np.sort(order[count:]))}


def _counts(rows: LanguageRows) -> dict[str, int]:
    cut = rows.side["cut"]
    return {name: count for k, name in enumerate(CUTS) if (count := int((cut == k + 1).sum()))}
