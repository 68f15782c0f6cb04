"""A user's own tasks: files, columns and kind in YAML."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BeforeValidator, Field, ValidationError

from rota.data._cache import kept
from rota.data._described_task import DescribedTask
from rota.data._examples import Form
from rota.data._files import FORMATS, Read, Record, Tally, reader_for
from rota.data._forms import Choices, Classified, Scored
from rota.data._forms_inside import Answered, Tagged
from rota.data._labels import Labels, label_name
from rota.data._layouts import read_conll, read_squad, renamed
from rota.data._named import RawTask, Reading, Split, load_text_task
from rota.data._own_language import LanguageTask, load_language, sources_of
from rota.data._own_splits import Cut, Folder
from rota.errors import RotaError, describe_mistakes, yaml_fault
from rota.packaged import default_cache
from rota.tasks import Task


def _listed(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


def _named(values: Any) -> Any:
    """Labels as they are called in files: YAML makes numbers of 0 and 1, and true of yes."""
    plain = isinstance(values, list | tuple) and all(isinstance(value, str | int | float) for value in values)
    return [label_name(value) for value in values] if plain else values


Columns = Annotated[tuple[str, ...], BeforeValidator(_listed), Field(min_length=1)]
LANGUAGE = ("causal",)
LAYOUTS = {"tagging": (".conll", ".txt", ".iob"), "answer": (".json",)}
"""Ends of the names of files that are no tables, by kind."""
USUAL_COLUMNS = {"tagging": {"text": "words", "label": "tags"}}
"""Columns where none are named, where they are not `text` and `label`."""


class OwnTask(DescribedTask):
    """One task of a YAML file. Paths are relative to the file, or to the folder with data sets."""

    kind: Literal["classification", "regression", "choice", "tagging", "answer"]
    train: str | None = Field(None, description="file, or folder of a `datasets` data set with a split `train`")
    together: str | None = Field(
        None, description="column whose equal values stay together where `dev` is a share, such as a premise"
    )
    text: Columns = Field(
        ("text",), max_length=2, description="column of the text, or two columns; of tagging `words` by default"
    )
    label: str = Field("label", description="column of the label; of tagging `tags` by default")
    labels: Annotated[tuple[str, ...] | None, BeforeValidator(_named)] = Field(
        None, description="classes or tags in their order; inferred if absent"
    )
    choices: Columns | None = Field(None, description="columns of the choices, or one column with a list")
    metrics: tuple[str, ...] = Field(("accuracy",), min_length=1)
    without_label: Literal["refuse", "leave out"] = "refuse"

    @property
    def layout(self) -> Read:
        """Reads files of the kind that are no tables."""
        if self.kind == "tagging":
            return renamed(read_conll, {"words": self.text[0], "tags": self.label})
        return read_squad


AnyOwn = OwnTask | LanguageTask


def own_tasks(path: Path) -> list[AnyOwn]:
    """The tasks that a YAML file describes: one mapping, or a list of them."""
    try:
        if path.exists() and not path.is_file():  # a pipe would be waited for
            raise RotaError(f"Expected a YAML file with tasks at {path}. Found something else that is no file.")
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RotaError(f"Expected a YAML file with tasks at {path}. Found none ({error.strerror}).") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise RotaError(f"{path}: expected YAML. Found {yaml_fault(error)}.") from error
    found: list[AnyOwn] = []
    for number, fields in enumerate(content if isinstance(content, list) else [content], start=1):
        if not isinstance(fields, dict):
            raise RotaError(f"{path}: expected fields such as `name: stars`. Found {type(fields).__name__}.")
        source = f"{path}, task {fields.get('name', number)}" if isinstance(content, list) else str(path)
        own = own_task(fields, source, path.parent)
        found += sources_of(own) if isinstance(own, LanguageTask) else [own]
    if not found:
        raise RotaError(f"{path}: expected at least one task. Found none.")
    return found


def own_task(fields: Mapping[str, Any], source: str, folder: Path) -> AnyOwn:
    """One task from plain fields; report every wrong field at once."""
    language = fields.get("kind") in LANGUAGE
    try:
        if language:
            return LanguageTask.model_validate({**fields, "folder": str(folder)})
        usual = USUAL_COLUMNS.get(fields.get("kind", ""), {}) if isinstance(fields.get("kind"), str) else {}
        own = OwnTask.model_validate({**usual, **fields, "folder": str(folder)})
    except ValidationError as error:
        model = LanguageTask if language else OwnTask
        known = [name for name in model.model_fields if name not in ("folder", "layout", "only")]
        raise RotaError(f"{source}: {describe_mistakes(error.errors(), known)}") from error
    twice = sorted({name for name in own.labels or () if (own.labels or ()).count(name) > 1})
    if twice:
        raise RotaError(f"{source}: expected each of the labels once. Found twice: {', '.join(twice)}.")
    if own.kind == "choice" and own.choices is None:
        raise RotaError(f"{source}: expected `choices`, the columns of the choices. Found none.")
    return own


def raw_own(own: AnyOwn, reading: Reading) -> RawTask:
    """The task as it is written; labels and choices that its file does not name are looked up in the rows."""
    if isinstance(own, LanguageTask):
        raise RotaError(f"Expected a task of texts with labels. Found '{own.name}', which is {own.kind}.")
    splits = _splits(own, reading.folder)
    source = splits.get("train") or next(iter(splits.values()))
    form = _form(own, _scan(own, source.whole if isinstance(source, Cut) else source, reading))
    return RawTask(own.name, form, splits)


def load_own(own: AnyOwn, reading: Reading) -> Task:
    """The task, tokenised."""
    if isinstance(own, LanguageTask):
        return load_language(own, reading)
    task = load_text_task(raw_own(own, reading), reading)
    said = own.model_dump(mode="json", exclude=set() if own.together else {"together"})
    spec = {**said, "labels": list(getattr(task.kind, "names", ())) or None}
    return Task(
        own.name,
        task.kind,
        task.splits,
        task.inputs,
        own.auxiliary,
        own.batch_size,
        own.loss_weight,
        own.stop_after,
        {**task.notes, "own": spec, "choices": getattr(task.kind, "choices", 0)},
    )


def own_form(notes: Mapping[str, Any], path: Path) -> tuple[Form, list[Read]]:
    """The form of a task from the notes of a run, to predict with it from a file, and readers beside the plain one."""
    own = own_task(notes["own"], "the run", Path())
    if isinstance(own, LanguageTask):
        return own.form, []
    form = _form(own, {"labels": list(own.labels or ()), "choices": notes.get("choices", 0)})
    plain = own.kind in USUAL_COLUMNS and path.suffix in FORMATS
    tables = [_also_plain(own, reader_for(path))] if plain else []
    return form, [*tables, own.layout] if own.kind in LAYOUTS else []


def _splits(own: OwnTask, data: Path | None) -> dict[str, Any]:
    given = {"train": own.train, "dev": own.dev, "test": own.test}
    splits: dict[str, Any] = {
        name: _split(own, name, value, data) for name, value in given.items() if isinstance(value, str)
    }
    if not splits:
        raise RotaError(f"Task '{own.name}' expects files for train, dev or test. Found none.")
    if isinstance(own.dev, float | int):
        if not (0 < own.dev < 1) or "train" not in splits:
            raise RotaError(
                f"Task '{own.name}' expects dev to be a file, or a share between 0 and 1 of its train file. "
                f"Found {own.dev}."
            )
        whole = splits["train"]
        parts = {"train": False, "dev": True}
        splits |= {name: Cut(whole, own.dev, own.name, inside, own.together) for name, inside in parts.items()}
    elif own.together is not None:
        raise RotaError(f"Task '{own.name}' expects dev to be a share where it names `together`. Found {own.dev}.")
    return splits


def _split(own: OwnTask, name: str, value: str, data: Path | None) -> Split | Folder:
    path = Path(own.folder) / value
    if data is not None and not path.exists() and (data / value).exists():
        path = data / value
    if path.is_dir():
        return Folder(path, name)
    if not path.is_file():
        raise RotaError(f"Task '{own.name}' expects a file for {name}. Found none at {path}.")
    if path.suffix in LAYOUTS.get(own.kind, ()):
        return Split((path,), own.layout)
    return Split((path,), _also_plain(own, reader_for(path)) if own.kind in USUAL_COLUMNS else reader_for(path))


def _also_plain(own: OwnTask, read: Read) -> Read:
    """A reader that takes columns `text` and `label` where a kind has other usual names, and these are absent."""
    usual = USUAL_COLUMNS[own.kind]
    plain = {
        usual[field]: field for field, name in (("text", own.text[0]), ("label", own.label)) if name == usual[field]
    }

    def read_either(path: Path, tally: Tally) -> Iterator[Record]:
        for record in read(path, tally):
            fields = record.fields
            added = {to: fields[old] for to, old in plain.items() if to not in fields and old in fields}
            yield Record({**fields, **added}, record.where) if added else record

    return read_either


def _scan(own: OwnTask, split: Any, reading: Reading) -> dict[str, Any]:
    """What must be known before the first row is made: the labels, the number of choices. Kept with the content."""
    if (own.labels is not None and own.kind != "choice") or own.kind in ("regression", "answer"):
        return {"labels": list(own.labels or ()), "choices": 0}

    def make(_: Any) -> dict[str, Any]:
        found: dict[str, None] = {}
        choices = 0
        for record in split.records(Tally()):
            if own.kind == "choice":
                choices = _count_choices(own, record)
                break
            value = record.fields.get(own.label) if own.without_label == "leave out" else record.get(own.label)
            values = value if isinstance(value, list) and own.kind == "tagging" else [value]
            found |= dict.fromkeys(filter(None, map(label_name, values)))
        return {"labels": sorted(found, key=_natural), "choices": choices}

    key = ["scan", split.content, own.kind, own.label, own.choices, own.without_label]
    return kept(reading.cache or default_cache(), f"{own.name}-labels", key, make)[1]


def _count_choices(own: OwnTask, record: Record) -> int:
    assert own.choices is not None
    if len(own.choices) > 1:
        return len(own.choices)
    found = record.get(own.choices[0])
    if not isinstance(found, list) or len(found) < 2:
        raise RotaError(
            f"{record.where}: expected a list of two choices or more in column '{own.choices[0]}'. Found {found!r}."
        )
    return len(found)


def _natural(name: str) -> tuple[int, float, str]:
    """Numbers by size, then words by alphabet.

    >>> sorted(["b", "10", "-1.5", "nan", "2"], key=_natural)
    ['-1.5', '2', '10', 'b', 'nan']
    """
    try:
        number = float(name)
    except ValueError:
        number = math.nan
    return (0, number, name) if math.isfinite(number) else (1, 0.0, name)


def _form(own: OwnTask, scan: Mapping[str, Any]) -> Form:
    labels = tuple(own.labels or scan["labels"])
    unlabelled = own.without_label == "leave out"
    match own.kind:
        case "classification":
            if len(labels) < 2:
                raise RotaError(
                    f"Task '{own.name}' expects two classes or more in column '{own.label}'. "
                    f"Found {', '.join(labels) or 'none'}."
                )
            known = Labels(labels, unlabelled=("",) if unlabelled else ())
            return Classified(own.text, known, own.label, own.metrics)
        case "regression":
            return Scored(own.text, own.label, unlabelled=unlabelled)
        case "choice":
            return Choices(own.text[0], own.choices or (), scan["choices"], own.label, unlabelled)
        case "tagging":
            return Tagged(labels, own.text[0], own.label, unlabelled)
        case "answer":
            question, passage = own.text if len(own.text) == 2 else ("question", "context")
            return Answered(question, passage, unlabelled)
