"""Tables in files: records of named fields, each with the place where it stands."""

from __future__ import annotations

import csv
import importlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from rota.data._safe_files import raw_lines
from rota.errors import RotaError, missing_package

csv.field_size_limit(2**31 - 1)  # a passage may be longer than the 128 KiB that csv allows


@dataclass(frozen=True, slots=True)
class Record:
    """Named fields, and where they stand, for error messages."""

    fields: Mapping[str, Any]
    where: str

    def get(self, column: str) -> Any:
        """A field that must be there."""
        if column not in self.fields:
            have = ", ".join(map(str, self.fields))
            unsplit = len(self.fields) == 1 and column in re.split(r"[;,\t|]", have)
            hint = " Separate columns by commas in a .csv, by tabs in a .tsv." if unsplit else ""
            raise RotaError(f"{self.where}: expected a column '{column}'. Found {have or 'none'}.{hint}")
        if self.fields[column] is None:
            raise RotaError(f"{self.where}: expected a value in column '{column}'. Found none.")
        return self.fields[column]

    def text(self, column: str, may_be_empty: bool = False) -> str:
        """A field that must be a text, and by default one with letters in it."""
        value = self.get(column)
        if not isinstance(value, str):
            raise RotaError(f"{self.where}: expected a text in column '{column}'. Found {_short(value)}.")
        if not value.strip() and not may_be_empty:
            raise RotaError(f"{self.where}: expected a text in column '{column}'. Found an empty one.")
        if not is_unicode(value):
            raise RotaError(f"{self.where}: expected Unicode in column '{column}'. Found half a character.")
        return value


@dataclass
class Tally:
    """Counts what a reader leaves out, so that nothing is dropped silently."""

    counts: dict[str, int] = field(default_factory=dict)

    def add(self, reason: str, count: int = 1) -> None:
        if count:
            self.counts[reason] = self.counts.get(reason, 0) + count


Read = Callable[[Path, Tally], Iterator[Record]]
"""Reads one file; counts in the tally what it leaves out."""


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file with their numbers, without their ends; gzipped where the name ends in .gz."""
    try:
        for number, raw in enumerate(raw_lines(path), start=1):
            try:
                yield number, raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                found = error.object[error.start]
                raise RotaError(f"{path}, line {number}: expected UTF-8. Found the byte 0x{found:02x}.") from error
    except OSError as error:
        raise RotaError(f"Expected a file that can be read at {path}. Found: {error.strerror}.") from error


def read_tsv(
    columns: Sequence[str] | None = None,
    rename: Mapping[str, str] | None = None,
    ragged: bool = False,
    broken: str | None = None,
) -> Read:
    """A reader of tab-separated lines without quoting, as GLUE publishes them; empty lines do not count.

    Args:
        columns: Names of the columns of a file without a header; empty names are left out.
        rename: New names for some columns of the header.
        ragged: Whether lines may have more columns than are named.
        broken: Where given, lines with too few columns are left out and counted under this name.
    """

    def read(path: Path, tally: Tally) -> Iterator[Record]:
        names, header = columns, None
        for number, line in lines(path):
            where = f"{path}, line {number}"
            cells = line.split("\t")
            if names is None:
                header = cells
                names = _header(cells, where, rename or {})
                continue
            if not line and len(names) > 1:
                continue
            if cells == header:
                raise RotaError(f"{where}: expected a row. Found the header again.")
            if len(cells) < len(names) and broken:
                tally.add(broken)
                continue
            if len(cells) < len(names) or (len(cells) > len(names) and not ragged):
                raise RotaError(f"{where}: expected {len(names)} columns. Found {len(cells)}.")
            yield Record({name: cell for name, cell in zip(names, cells, strict=False) if name}, where)

    return read


def read_csv(path: Path, tally: Tally) -> Iterator[Record]:
    """Comma-separated records with a header, quoted as usual; empty lines do not count."""
    reader = csv.reader((f"{line}\n" for _, line in lines(path)), strict=True)
    names: list[str] | None = None
    try:
        for cells in reader:
            where = f"{path}, line {reader.line_num}"
            if names is None:
                names = _header(cells, where, {})
            elif not cells and len(names) > 1:
                continue
            elif cells == names:
                raise RotaError(f"{where}: expected a row. Found the header again.")
            elif len(cells) != len(names):
                raise RotaError(f"{where}: expected {len(names)} columns. Found {len(cells)}.")
            else:
                yield Record(dict(zip(names, cells, strict=True)), where)
    except csv.Error as error:
        said = str(error).split(" - ")[0]  # without the advice to programmers
        raise RotaError(f"{path}, line {reader.line_num}: expected comma-separated cells. Found: {said}.") from error


def read_jsonl(path: Path, tally: Tally) -> Iterator[Record]:
    """One JSON object per line; empty lines do not count."""
    for number, line in lines(path):
        where = f"{path}, line {number}"
        if line.strip():
            yield Record(_object(line, where), where)


def read_json(path: Path, tally: Tally) -> Iterator[Record]:
    """A JSON array of objects, or one JSON object per line."""
    begin = next((line.lstrip()[0] for _, line in lines(path) if line.strip()), "")
    if begin != "[":
        yield from read_jsonl(path, tally)
        return
    for number, found in enumerate(json_file(path), start=1):
        where = f"{path}, entry {number}"
        if not isinstance(found, dict):
            raise RotaError(f"{where}: expected a JSON object. Found {_short(found)}.")
        yield Record(found, where)


def read_parquet(path: Path, tally: Tally) -> Iterator[Record]:
    """Parquet, some thousand rows at a time."""
    arrow, parquet = (needed(name, "A Parquet file", "hub") for name in ("pyarrow", "pyarrow.parquet"))
    try:
        number, file = 0, parquet.ParquetFile(path)
        _header(file.schema_arrow.names, str(path), {})
        for batch in file.iter_batches(batch_size=4096):
            for fields in batch.to_pylist():
                number += 1
                yield Record(fields, f"{path}, row {number}")
    except (OSError, arrow.ArrowException) as error:
        said = " ".join(str(error).split())[:200].rstrip(".")
        raise RotaError(f"{path}: expected a whole Parquet file. Found: {said}.") from error


FORMATS: dict[str, Read] = {
    ".tsv": read_tsv(),
    ".csv": read_csv,
    ".jsonl": read_jsonl,
    ".json": read_json,
    ".parquet": read_parquet,
}


def reader_for(path: Path) -> Read:
    """The reader for a table, by the end of its name."""
    suffix = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    if suffix not in FORMATS:
        raise RotaError(f"Expected a file that ends in {', '.join(FORMATS)}. Found {path}.")
    return FORMATS[suffix]


def json_file(path: Path) -> Any:
    """The content of a JSON file."""
    text = "\n".join(line for _, line in lines(path))
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RotaError(f"{path}: expected JSON. Found a damaged or truncated file ({error}).") from error


def is_unicode(text: str) -> bool:
    """Whether a text has no half of a surrogate pair, which JSON can write but UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def needed(module: str, what: str, extra: str) -> ModuleType:
    """An optional package, imported late."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise missing_package(what, module.split(".")[0], extra) from error


def _header(cells: list[str], where: str, rename: Mapping[str, str]) -> list[str]:
    twice = sorted({f"'{cell}'" for cell in cells if cells.count(cell) > 1})
    if twice:
        raise RotaError(f"{where}: expected each column once in the header. Found twice: {', '.join(twice)}.")
    return [rename.get(cell, cell) for cell in cells]


def _object(line: str, where: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        said = f"{error.msg} at column {error.colno}" if isinstance(error, json.JSONDecodeError) else str(error)
        raise RotaError(f"{where}: expected a JSON object. Found a damaged or truncated line ({said}).") from error
    if not isinstance(found, dict):
        raise RotaError(f"{where}: expected a JSON object. Found {_short(found)}.")
    return found


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
