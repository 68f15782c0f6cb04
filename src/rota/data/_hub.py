"""Data sets on the Hugging Face hub."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rota.data._files import Record, Tally, needed
from rota.errors import RotaError
from rota.hub import asked_briefly, offline


@dataclass(frozen=True)
class Hub:
    """Where the hub has a data set.

    Args:
        path: Its name.
        config: Its configuration.
        names: The hub's names of our splits; several names are read one after the other, as parts.
        rename: New names for some of its columns.
        only: Column and value, where a split holds the rows of several tasks.
        prepare: Turns one row of the hub into records, where one is not the other.
    """

    path: str
    config: str | None = None
    names: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: {"train": ("train",), "dev": ("validation",)})
    rename: Mapping[str, str] = field(default_factory=dict)
    only: tuple[str, str] | None = None
    prepare: Any = None

    @property
    def fetched(self) -> bool:
        """Whether the hub's library has put it on this disk before."""
        home = os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface"
        place = Path(os.environ.get("HF_DATASETS_CACHE") or Path(home) / "datasets")
        return (place / self.path.replace("/", "___") / (self.config or "default")).is_dir()

    def splits(self, task: str, data: Path | None) -> dict[str, HubSplit]:
        """The splits of the hub; a sentence if they cannot be had."""
        looked = f"in {data}" if data is not None else "in a folder (none is named: Plan(data=…))"
        datasets = needed("datasets", f"Task '{task}' was not found {looked}; a data set from the hub", "hub")
        try:
            with asked_briefly():
                found = datasets.load_dataset(self.path, self.config)
        except Exception as error:  # the hub has many ways to say no
            said = offline() or f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            raise RotaError(
                f"Expected the files of task '{task}' {looked}, or {self.path} on the hub. Found neither ({said}). "
                f"Name the folder that has them: Plan(data=…)."
            ) from error
        return {
            split: HubSplit(self, tuple(found[name] for name in names))
            for split, names in self.names.items()
            if all(name in found for name in names)
        }


@dataclass(frozen=True)
class HubSplit:
    """One split of a data set from the hub."""

    hub: Hub
    tables: tuple[Any, ...]

    def records(self, tally: Tally) -> Iterator[Record]:
        number = 0
        for part, table in enumerate(self.tables):
            for row in table:
                number += 1
                if self.hub.only and row[self.hub.only[0]] != self.hub.only[1]:
                    continue
                where = f"{self.origin}, row {number}"
                fields = {self.hub.rename.get(name, name): value for name, value in row.items()}
                if len(self.tables) > 1:
                    fields["part"] = part
                yield from (
                    self.hub.prepare(Record(fields, where), number) if self.hub.prepare else (Record(fields, where),)
                )

    @property
    def content(self) -> str:
        """As `datasets` tells one content from another."""
        return "-".join(table._fingerprint for table in self.tables)

    @property
    def origin(self) -> str:
        return f"hub: {self.hub.path}" + (f" ({self.hub.config})" if self.hub.config else "")
