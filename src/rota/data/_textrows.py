"""Rows of text: tokens on the disk, padded when somebody asks for a batch."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rota.data._arrays import Arrays
from rota.tasks import IGNORED, Batch, Ids, sampled_rows


class TextRows:
    """One split of a text task. Nothing is read before it is needed, and a batch is as wide as its longest row.

    Args:
        arrays: What `encode` wrote.
        padding: The token that fills a batch up.
        chosen: Numbers of the rows, where not all of them are meant.
    """

    def __init__(self, arrays: Arrays, padding: int, chosen: Ids | None = None) -> None:
        self._arrays, self._padding, self._chosen = arrays, padding, chosen
        self._count = len(arrays["side_words"] if "tags" in arrays else arrays["labels"])
        self._choices = max(len(arrays["ends"]) // max(self._count, 1), 1)

    def __len__(self) -> int:
        return self._count if self._chosen is None else len(self._chosen)

    @functools.cached_property
    def side(self) -> Mapping[str, Any]:
        found: dict[str, Any] = {
            name.removeprefix("side_"): np.array(self._own(array))  # a copy: torch wants to be able to write
            for name, array in self._arrays.items()
            if name.startswith("side_")
        }
        if "offsets" in self._arrays:
            found["passages"] = TokenizedPassages(self._arrays, self._rows())
        return found

    def batch(self, ids: Ids) -> Batch:
        rows = ids if self._chosen is None else self._chosen[ids]
        several = self._choices > 1
        texts = (rows[:, None] * self._choices + np.arange(self._choices)).ravel() if several else rows
        ends = np.asarray(self._arrays["ends"][texts])
        starts = np.where(texts > 0, self._arrays["ends"][np.maximum(texts, 1) - 1], 0)
        places = starts[:, None] + np.arange(int((ends - starts).max(initial=1)))
        real = places < ends[:, None]
        places = np.where(real, places, starts[:, None])  # anything inside the array; it is covered up
        tokens = np.where(real, self._arrays["tokens"][places], self._padding).astype(np.int64)
        types = (real & (places - starts[:, None] >= self._arrays["second"][texts][:, None])).astype(np.int64)
        inputs = {"tokens": tokens, "mask": real, "types": types}
        if several:
            inputs = {name: array.reshape(len(rows), self._choices, -1) for name, array in inputs.items()}
        if "spans" in self._arrays:
            inputs["spans"] = self._arrays["spans"][rows].astype(np.int64)
        if "tags" in self._arrays:
            labels = np.where(real, self._arrays["tags"][places], IGNORED).astype(np.int64)
        else:
            labels = np.array(self._arrays["labels"][rows])
        return Batch({name: torch.from_numpy(array) for name, array in inputs.items()}, torch.from_numpy(labels))

    def labels(self) -> Tensor:
        """The labels of all rows; of all words where rows are sentences."""
        if "tags" in self._arrays:
            inside = np.zeros(self._count, dtype=bool)
            inside[self._rows()] = True
            tags = self._arrays["tags"][np.repeat(inside, np.diff(self._arrays["ends"], prepend=0))]
            return torch.from_numpy(tags[tags != IGNORED].astype(np.int64))
        return torch.from_numpy(np.array(self._own(self._arrays["labels"])))

    def lengths(self) -> Ids:
        """Tokens of each row; of its longest choice where there are several."""
        lengths = np.diff(self._arrays["ends"], prepend=0).reshape(self._count, self._choices).max(1)
        return np.asarray(self._own(lengths))

    def sample(self, count: int) -> TextRows:
        """`count` rows, always the same ones; where rows belong to groups or questions, as many whole ones as hold
        about that many rows."""
        owners = self.side.get("question", self.side.get("group"))
        return TextRows(self._arrays, self._padding, self._rows()[sampled_rows(count, len(self), owners)])

    def _rows(self) -> Ids:
        return np.arange(self._count) if self._chosen is None else self._chosen

    def _own(self, array: NDArray[Any]) -> NDArray[Any]:
        return array if self._chosen is None else array[self._chosen]


class TokenizedPassages:
    """The texts behind windows over passages; see `rota.tasks.Passages`."""

    def __init__(self, arrays: Arrays, rows: Ids) -> None:
        self._arrays, self._rows = arrays, rows
        self._originals, self._numbers = np.unique(arrays["side_question"][rows], return_inverse=True)

    def questions(self) -> list[int]:
        return [int(number) for number in self._numbers]

    def excerpt(self, row: int, start: int, end: int) -> str | None:
        begin, stop = self._bounds("ends", int(self._rows[row]))
        if begin + max(start, end) >= stop:
            return None
        first, last = self._arrays["offsets"][begin + start, 0], self._arrays["offsets"][begin + end, 1]
        return None if first < 0 or last < 0 else self._passage(int(self._numbers[row]))[first:last]

    def references(self, question: int) -> Sequence[str]:
        found: list[str] = json.loads(self._text("references", question))
        return found

    @functools.lru_cache(maxsize=8)  # noqa: B019 - windows of one passage follow each other
    def _passage(self, question: int) -> str:
        return self._text("passage", question)

    def _text(self, name: str, question: int) -> str:
        begin, stop = self._bounds(f"{name}_ends", int(self._originals[question]))
        return bytes(self._arrays[f"{name}_bytes"][begin:stop]).decode()

    def _bounds(self, ends: str, number: int) -> tuple[int, int]:
        array = self._arrays[ends]
        return int(array[number - 1]) if number else 0, int(array[number])
