"""Splits of a user's own task that are no plain file: a part of another one, and a folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rota.data._cache import content_of
from rota.data._files import Record, Tally, needed
from rota.errors import RotaError
from rota.seeds import generator


@dataclass(frozen=True)
class Cut:
    """A part of another split, chosen at random but always the same."""

    whole: Any
    share: float
    name: str
    inside: bool

    def records(self, tally: Tally) -> Iterator[Record]:
        total = sum(1 for _ in self.whole.records(Tally()))
        if total < 2:
            raise RotaError(f"{self.origin}: expected two rows or more, to cut a dev split off. Found {total}.")
        count = min(max(1, round(self.share * total)), total - 1)
        inside = np.zeros(total, dtype=bool)
        inside[generator(0, "dev", self.name).permutation(total)[:count]] = True
        for number, record in enumerate(self.whole.records(tally)):
            if inside[number] == self.inside:
                yield record

    @property
    def content(self) -> str:
        return f"{self.whole.content}:{self.share}:{self.name}:{self.inside}"

    @property
    def origin(self) -> str:
        return str(self.whole.origin)


@dataclass(frozen=True)
class Folder:
    """One split of a folder that `datasets` saved; a folder without splits is any of them."""

    path: Path
    split: str

    def records(self, tally: Tally) -> Iterator[Record]:
        datasets = needed("datasets", "A folder of the library datasets", "hub")
        try:
            found = datasets.load_from_disk(str(self.path))
        except Exception as error:  # a damaged one fails in many ways
            said = " ".join(str(error).split())[:200]
            raise RotaError(f"{self.path}: expected a folder that `datasets` saved. Found: {said}") from error
        if isinstance(found, dict) and self.split not in found:
            raise RotaError(f"{self.path}: expected a split '{self.split}'. Found {', '.join(found)}.")
        for number, row in enumerate(found[self.split] if isinstance(found, dict) else found, start=1):
            yield Record(row, f"{self.path}, row {number}")

    @property
    def content(self) -> str:
        return content_of(sorted(file for file in self.path.rglob("*") if file.is_file()))

    @property
    def origin(self) -> str:
        return str(self.path)
