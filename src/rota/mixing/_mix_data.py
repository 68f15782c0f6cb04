"""Where the rows of a mix are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    """

    def __init__(self, datasets: Mapping[str, Any] | Any, by: str | Sequence[Any] | None) -> None:
        self.dataset: Any = None
        self.streams: StreamReaders | None = None
        self.sizes: dict[str, int | None] = {}
        self._rows: dict[str, Ids] = {}  # by number
        self._starts: dict[str, int] = {}  # or from one on
        if by is not None:
            self.dataset, self._rows = datasets, rows_by(datasets, by)
            self.sizes.update({task: len(own) for task, own in self._rows.items()})
            return
        if isinstance(datasets, JoinedDataset):
            datasets = datasets.datasets
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
        self.dataset = join(datasets)
        self._starts = self.dataset.starts
        self.sizes.update({task: len(own) for task, own in datasets.items()})

    def numbers(self, task: str, ids: Ids) -> Ids:
        """The row numbers in `dataset` of rows of a task."""
        return self._rows[task][ids] if self._rows else ids + self._starts[task]
