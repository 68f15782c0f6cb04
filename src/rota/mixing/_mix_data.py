"""Where the rows of a mix are."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rota.arrays import Ids
from rota.errors import RotaError
from rota.mixing._joined import JoinedDataset, join, rows_by
from rota.mixing._stream_rows import StreamReaders, are_streams


class MixData:
    """Data sets by name, in one of three forms: several map-style ones, one with a column, or streams.

    Args:
        datasets: By name; or one, with `by`.
        by: The column that says whose row each one is, or its values.

    Attributes:
        dataset: All rows in one map-style data set; None for streams.
        streams: Who reads them, if they are streams.
        sizes: Rows of each task; None for streams.
        left: The same of tasks that have left; their rows can still be read.
    """

    def __init__(self, datasets: Mapping[str, Any] | Any, by: str | Sequence[Any] | None) -> None:
        self.dataset: Any = None
        self.streams: StreamReaders | None = None
        self.sizes: dict[str, int | None] = {}
        self.left: dict[str, int | None] = {}
        self._rows: dict[str, Ids] = {}  # by number
        self._starts: dict[str, int] = {}  # or from one on
        if by is not None:
            self.dataset, self._rows = datasets, rows_by(datasets, by)
            self.sizes.update({task: len(own) for task, own in self._rows.items()})
            return
        joined = datasets if isinstance(datasets, JoinedDataset) else None
        if joined is not None:
            datasets = joined.datasets
        if not isinstance(datasets, Mapping) or not datasets:
            raise RotaError(
                f"A mix expects data sets by name, such as {{'rte': rte, 'mrpc': mrpc}}, or one data set and the "
                f"column that says whose row each one is: Mix(dataset, policy, by='source'). Found "
                f"{type(datasets).__name__}."
            )
        if are_streams(datasets):
            self.streams = StreamReaders(datasets)
            self.sizes.update(dict.fromkeys(datasets))
            return
        self.dataset = joined or join(datasets)  # a host that has joined them reads what it has joined
        self._starts = self.dataset.starts
        self.sizes.update({task: len(own) for task, own in datasets.items()})

    def numbers(self, task: str, ids: Ids) -> Ids:
        """The row numbers in `dataset` of rows of a task."""
        return self._rows[task][ids] if self._rows else ids + self._starts[task]

    def refuse(self, added: Mapping[str, Any]) -> None:
        """Refuse data sets that this mix cannot take in."""
        if self._rows:
            raise RotaError(
                "mix.add expects a mix of data sets by name. Found one data set with a column that says whose row each "
                "one is, which cannot grow. Build the mix with Mix({name: rows, …}, …)."
            )
        if not isinstance(added, Mapping) or not added:
            raise RotaError(f"mix.add expects data sets by name, such as {{'rte': rte}}. Found {added!r}.")
        known = [name for name in added if name in self.sizes]
        if known:
            raise RotaError(f"mix.add expects new names. Found {', '.join(known)}, which the mix has.")
        if are_streams(added) != (self.streams is not None):
            have, found = ("streams", "rows by number") if self.streams is not None else ("rows by number", "streams")
            raise RotaError(f"mix.add expects {have}, as this mix has. Found {found} for {', '.join(added)}.")
        if self.streams is None:
            join(added)  # it refuses those without rows

    def sizes_after(self, added: Mapping[str, Any], dropped: Collection[str]) -> dict[str, int | None]:
        """Rows of each task after a change."""
        stay = {task: size for task, size in self.sizes.items() if task not in dropped}
        return {**stay, **{task: None if self.streams is not None else len(own) for task, own in added.items()}}

    def change(self, added: Mapping[str, Any], dropped: Collection[str]) -> None:
        """Rows that were there before keep their numbers."""
        self.left |= {task: self.sizes[task] for task in dropped}
        self.sizes = self.sizes_after(added, dropped)
        for task in added:
            self.left.pop(task, None)
        if self.streams is not None:
            self.streams.add(added)
        elif added:
            self.dataset.grow(added)
