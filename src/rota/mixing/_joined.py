"""Several data sets as one, in which each keeps its name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from rota.arrays import Ids
from rota.errors import RotaError


class MapDataset(Protocol):
    """Rows by number: a torch Dataset, a `datasets.Dataset`, a list, an array."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> Any: ...


class BatchRows(list[Any]):
    """Rows of one batch; a collator may ask for `task`, None where they are of several.

    >>> rows = BatchRows([{"x": 1}, {"x": 2}])
    >>> rows.task = "rte"
    >>> len(rows), rows.task
    (2, 'rte')
    """

    task: str | None = None


class JoinedDataset:
    """Map-style data sets one behind the other. A batch is asked for at once, so that a data set can read it at once.

    Args:
        datasets: By name.

    >>> joined = join({"a": [1, 2], "b": [30, 40, 50]})
    >>> len(joined), joined[3], joined.task_of(3)
    (5, 40, 'b')
    """

    def __init__(self, datasets: Mapping[str, MapDataset]) -> None:
        self.datasets: dict[str, MapDataset] = {}
        self.starts: dict[str, int] = {}
        self._parts: list[tuple[str, MapDataset, int]] = []  # name, rows, and the number of the first one
        self._ends: Ids = np.zeros(0, dtype=np.int64)
        self.grow(datasets)

    def grow(self, datasets: Mapping[str, MapDataset]) -> None:
        """Put more data sets behind those that are there, whose row numbers stay. One with the name of another one
        stands for that name from now on.

        >>> joined = join({"a": [1, 2]})
        >>> joined.grow({"b": [30]})
        >>> joined[0], joined[2]
        (1, 30)
        """
        ends = len(self) + np.cumsum([len(own) for own in datasets.values()], dtype=np.int64)
        starts = dict(zip(datasets, [len(self), *ends[:-1].tolist()], strict=True))
        self._parts += [(name, own, starts[name]) for name, own in datasets.items()]
        self._ends = np.concatenate([self._ends, ends])
        self.starts |= starts
        self.datasets |= datasets

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def _part(self, index: int) -> tuple[str, MapDataset, int]:
        return self._parts[int(self._ends.searchsorted(index, side="right"))]

    def task_of(self, index: int) -> str:
        """Whose row this is."""
        return self._part(index)[0]

    def __getitem__(self, index: int) -> Any:
        if not 0 <= index < len(self):
            raise IndexError(index)
        _, rows, start = self._part(index)
        return rows[int(index) - start]

    def __getitems__(self, indices: Sequence[int]) -> BatchRows:
        largest = max(indices)
        if largest >= len(self):
            raise RotaError(
                f"Expected row numbers below {len(self)}. Found {largest}: a source was added after the workers of "
                f"this loader had copied the rows. Begin a new iteration, or read with mix.loader(), which does."
            )
        task, rows, start = self._part(indices[0])
        if largest >= start + len(rows) or min(indices) < start:
            return BatchRows(self[index] for index in indices)
        found = BatchRows(_several(rows, [index - start for index in indices]))
        found.task = task
        return found


def _several(rows: MapDataset, numbers: list[int]) -> Iterable[Any]:
    at_once: Callable[[list[int]], Iterable[Any]] | None = getattr(rows, "__getitems__", None)
    return at_once(numbers) if at_once is not None else [rows[number] for number in numbers]


def join(datasets: Mapping[str, MapDataset]) -> JoinedDataset:
    """Several data sets as one: `join({"rte": rte, "mrpc": mrpc})`.

    >>> both = join({"rte": [1, 2, 3], "mrpc": [4, 5]})
    >>> len(both), both[3]
    (5, 4)
    """
    if not isinstance(datasets, Mapping) or not datasets:
        raise RotaError(f"join expects data sets by name, such as {{'rte': rte, 'mrpc': mrpc}}. Found {datasets!r}.")
    empty = [name for name, own in datasets.items() if not len(own)]
    if empty:
        raise RotaError(f"Expected data sets with rows. Found none in {', '.join(empty)}.")
    return JoinedDataset(datasets)


def rows_by(dataset: Any, column: str | Sequence[Any]) -> dict[str, Ids]:
    """The numbers of each source's rows, from a column that says whose row it is.

    Args:
        dataset: All rows.
        column: The name of its column, or the values themselves.

    >>> rows_by(["x", "y", "z"], ["a", "b", "a"])
    {'a': array([0, 2]), 'b': array([1])}
    """
    if isinstance(column, str):
        known = getattr(dataset, "column_names", None)
        try:
            values = dataset[column]
        except Exception:
            found = (
                f"its columns are {', '.join(known)}" if known else f"a {type(dataset).__name__} has none of that name"
            )
            raise RotaError(
                f"Expected a column '{column}' that says whose row each one is. Found none: {found}."
            ) from None
    else:
        values = column
    names = np.asarray(values)
    if len(names) != len(dataset):
        raise RotaError(f"Expected a source for each of {len(dataset)} rows. Found {len(names)}.")
    _, first = np.unique(names, return_index=True)
    return {str(names[at]): np.flatnonzero(names == names[at]) for at in sorted(first)}
