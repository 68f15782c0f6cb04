"""Training rows that are filled with several texts of one task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from torch import Tensor

from rota.arrays import Ids
from rota.data._language_rows import LanguageRows, batch_of
from rota.errors import RotaError
from rota.tasks import Batch, Task


def pack_rows(task: Task, longest: int) -> Task:
    """The same task, with training rows of several of its texts each, which do not see each other.

    A text goes into the fullest row that has room for it, the longest ones first; so rows are always the same ones.

    >>> from rota.data import Tokenizer
    >>> from rota.tasks import Causal
    >>> arrays = {name: np.array([5, 6, 7, 8]) for name in ("tokens", "learned")}
    >>> arrays |= {"ends": np.array([2, 4]), "side_tokens": np.array([1, 1])}  # two texts of two tokens
    >>> task = Task("news", Causal(30522), {"train": LanguageRows(arrays, Tokenizer("minilm"))})
    >>> pack_rows(task, longest=4).splits["train"].batch(np.array([0])).inputs["blocks"].tolist()
    [[0, 0, 1, 1]]
    """
    rows = task.splits.get("train")
    if rows is None:
        return task
    if not isinstance(rows, LanguageRows):
        raise RotaError(f"Plan(pack=True) expects tasks of kind causal. Found '{task.name}' ({task.kind!r}).")
    return replace(task, splits={**task.splits, "train": PackedRows(rows, packs(rows.lengths().tolist(), longest))})


def packs(lengths: Sequence[int], longest: int) -> list[list[int]]:
    """Which texts make a row: best fit, longest first.

    >>> packs([5, 2, 3, 4], longest=7)
    [[0, 1], [2, 3]]
    """
    rows: list[list[int]] = []
    with_room: list[list[int]] = [[] for _ in range(longest + 1)]  # rows by the tokens that fit in, still
    for number in sorted(range(len(lengths)), key=lambda number: -lengths[number]):
        length = lengths[number]
        room = next((room for room in range(length, longest + 1) if with_room[room]), None)
        if room is None:
            rows.append([])
            place, room = len(rows) - 1, longest
        else:
            place = with_room[room].pop(0)
        rows[place].append(number)
        with_room[room - length].append(place)
    return sorted(sorted(row) for row in rows)


class PackedRows:
    """Rows of several texts each; see `LanguageRows`.

    Args:
        texts: One in each row.
        rows: Numbers of the texts in each row.
    """

    def __init__(self, texts: LanguageRows, rows: Sequence[Sequence[int]]) -> None:
        self._texts, self._rows = texts, rows
        tokens = texts.side["tokens"]
        self.side: Mapping[str, Any] = {"tokens": np.array([tokens[list(row)].sum() for row in rows], dtype=np.int64)}

    def __len__(self) -> int:
        return len(self._rows)

    def batch(self, ids: Ids) -> Batch:
        rows = [[self._texts.row(text) for text in self._rows[int(k)]] for k in ids]
        return batch_of(rows, self._texts.tokenizer.padding, packed=True)

    def labels(self) -> Tensor:
        return self._texts.labels()

    def lengths(self) -> Ids:
        own = self._texts.lengths()
        return np.array([own[list(row)].sum() for row in self._rows], dtype=np.int64)

    def take(self, ids: Ids) -> PackedRows:
        return PackedRows(self._texts, [self._rows[int(k)] for k in ids])
