"""Splits of a user's own task that are no plain file: a part of another one, and a folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rota.data._cache import content_of
from rota.data._files import Record, Tally, needed
from rota.errors import RotaError
from rota.seeds import generator


@dataclass(frozen=True)
class Cut:
    """A part of another split, chosen at random but always the same.

    Args:
        whole: The other split.
        share: Which share of its rows is cut off.
        name: Of the task.
        inside: Whether this is the part that is cut off, or what it leaves.
        together: A column whose equal values stay in one part: the share is then about right.
    """

    whole: Any
    share: float
    name: str
    inside: bool
    together: str | None = None

    def records(self, tally: Tally) -> Iterator[Record]:
        inside = self._inside()
        for number, record in enumerate(self.whole.records(tally)):
            if inside[number] == self.inside:
                yield record

    def _inside(self) -> list[bool]:
        """For each row whether it is cut off: whole groups in random order, until they are enough."""
        groups: dict[Any, list[int]] = {}
        for number, record in enumerate(self.whole.records(Tally())):
            groups.setdefault(record.get(self.together) if self.together else number, []).append(number)
        if len(groups) < 2:
            what = f"values in column '{self.together}'" if self.together else "rows"
            raise RotaError(f"{self.origin}: expected two {what} or more, to cut a dev split off. Found {len(groups)}.")
        rows = list(groups.values())
        total = sum(map(len, rows))
        inside, left = [False] * total, round(self.share * total)
        for place, number in enumerate(generator(0, "dev", self.name).permutation(len(rows))[:-1]):
            if place and left < len(rows[number]):
                break
            left -= len(rows[number])
            for row in rows[number]:
                inside[row] = True
        return inside

    @property
    def content(self) -> str:
        together = f":{self.together}" if self.together else ""
        return f"{self.whole.content}:{self.share}:{self.name}:{self.inside}{together}"

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
