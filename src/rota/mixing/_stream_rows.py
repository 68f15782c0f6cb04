"""Rows of streams: read in order, in the training process, from a place that can be saved."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rota.arrays import Ids
from rota.errors import RotaError
from rota.mixing._decision import Decision


class CountingQueue:
    """Numbers of the rows of a stream, as they come."""

    batches = 0

    def __init__(self, batch_size: int) -> None:
        self._batch_size, self.consumed = batch_size, 0

    def at(self, number: int) -> Ids:
        return np.arange(number * self._batch_size, (number + 1) * self._batch_size)

    def span(self, number: int, rows: int) -> tuple[int, int]:
        return number * self._batch_size, number * self._batch_size + rows

    def next(self) -> Ids:
        ids = self.at(self.consumed)
        self.consumed += 1
        return ids


def are_streams(datasets: Mapping[str, Any]) -> bool:
    """Whether these are streams and not rows by number; refuse a bit of both."""
    streams = [name for name, own in datasets.items() if not (hasattr(own, "__len__") and hasattr(own, "__getitem__"))]
    for name in streams:
        if not hasattr(datasets[name], "__iter__"):
            raise RotaError(
                f"A mix expects data sets with rows by number, or streams. Found a {type(datasets[name]).__name__} for "
                f"'{name}'."
            )
        if isinstance(datasets[name], Iterator):
            raise RotaError(
                f"A mix expects streams that can be read again from their beginning. Found an iterator for '{name}', "
                f"which is used up after one pass. Give what makes it."
            )
    if streams and len(streams) < len(datasets):
        raise RotaError(
            f"A mix expects data sets with rows by number, or streams, not both. Found streams for "
            f"{', '.join(streams)} alone."
        )
    return bool(streams)


class StreamReader:
    """One stream, pass after pass.

    A stream that can say where it is (`state_dict`, `load_state_dict`) is asked; of any other the rows before are read
    again and dropped, so that it must give the same rows in the same order. `set_epoch`, if it has one, hears the
    number of the pass.
    """

    def __init__(self, name: str, stream: Any) -> None:
        self._name, self._stream = name, stream
        self._pass = self._row = 0
        self._iterator: Iterator[Any] | None = None
        self._loaded: Any = None  # the stream's own state, as long as nothing was read since

    def read(self, count: int) -> list[Any]:
        """The next rows."""
        rows: list[Any] = []
        empty = False
        while len(rows) < count:
            if self._iterator is None:
                self._begin()
            assert self._iterator is not None
            new = list(itertools.islice(self._iterator, count - len(rows)))
            self._row += len(new)
            rows += new
            if len(rows) == count:
                break
            if empty and not new:
                raise RotaError(f"A mix expects streams with rows. Found none in '{self._name}'.")
            empty = not new
            self._pass, self._row, self._iterator, self._loaded = self._pass + 1, 0, None, None
        self._loaded = None
        return rows

    def _begin(self) -> None:
        if hasattr(self._stream, "set_epoch"):
            self._stream.set_epoch(self._pass)
        if self._loaded is not None:
            self._stream.load_state_dict(self._loaded)
        self._iterator = iter(self._stream)
        if self._loaded is None and self._row:
            next(itertools.islice(self._iterator, self._row - 1, None), None)

    def state_dict(self) -> dict[str, Any]:
        own = self._loaded
        if own is None and self._row and hasattr(self._stream, "load_state_dict"):
            own = self._stream.state_dict()
        return {"pass": self._pass, "row": self._row, "own": own}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._pass, self._row, self._loaded, self._iterator = state["pass"], state["row"], state["own"], None


class StreamReaders:
    """All streams of a mix. Rows that were read for a decision are kept until everything was told of it: they may be
    handed out again."""

    def __init__(self, streams: Mapping[str, Any]) -> None:
        self._readers = {name: StreamReader(name, stream) for name, stream in streams.items()}
        self._rows: dict[int, dict[str, list[Any]]] = {}  # by decision
        self._before: dict[int, dict[str, Any]] = {}  # where its streams were before it

    def add(self, streams: Mapping[str, Any]) -> None:
        """More streams, read from their beginning."""
        self._readers |= {name: StreamReader(name, stream) for name, stream in streams.items()}

    def rows(self, decision: Decision) -> list[Any]:
        """The rows of a decision, task by task."""
        if decision.step not in self._rows:
            self._before[decision.step] = {task: self._readers[task].state_dict() for task in decision.tasks}
            self._rows[decision.step] = {part.task: self._readers[part.task].read(part.rows) for part in decision.parts}
        return [row for own in self._rows[decision.step].values() for row in own]

    def forget(self, step: int) -> None:
        """A decision was trained on."""
        self._rows.pop(step, None)
        self._before.pop(step, None)

    def state_dict(self, waiting: Sequence[int], tasks: Collection[str]) -> dict[str, Any]:
        """Where the streams of these tasks were before the rows of decisions that wait: not where they are read ahead
        to."""
        found = {task: reader.state_dict() for task, reader in self._readers.items() if task in tasks}
        for step in reversed(waiting):
            found |= self._before.get(step, {})
        return found

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._rows, self._before = {}, {}
        for task, own in state.items():
            self._readers[task].load_state_dict(own)
