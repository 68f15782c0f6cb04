"""Rows of text: tokens on the disk, padded when a batch is made."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rota.arrays import Ids
from rota.data._arrays import Arrays
from rota.tasks import IGNORED, Batch


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
        return self.device_rows().take(torch.from_numpy(ids))

    def device_rows(self) -> TextShelf:
        return self._device_rows

    @functools.cached_property
    def _device_rows(self) -> TextShelf:
        seen = {name: torch.from_numpy(self._arrays[name]) for name in TextShelf.SEEN if name in self._arrays}
        chosen = None if self._chosen is None else torch.from_numpy(self._chosen)
        return TextShelf(seen, self._padding, self._choices, chosen)

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

    def take(self, ids: Ids) -> TextRows:
        return TextRows(self._arrays, self._padding, self._rows()[ids])

    def _rows(self) -> Ids:
        return np.arange(self._count) if self._chosen is None else self._chosen

    def _own(self, array: NDArray[Any]) -> NDArray[Any]:
        return array if self._chosen is None else array[self._chosen]


@dataclass(frozen=True)
class TextShelf:
    """Texts on one device: all tokens in one line, cut into rows and filled up when they are taken.

    Args:
        arrays: The tokens, where each text ends, where its second sentence begins; labels or tags; spans.
        padding: The token that fills a row up.
        choices: Texts of a row.
        chosen: Numbers of the rows, where not all of them are meant.
    """

    SEEN = ("tokens", "ends", "second", "spans", "tags", "labels")

    arrays: Mapping[str, Tensor]
    padding: int
    choices: int = 1
    chosen: Tensor | None = None

    @property
    def tensors(self) -> list[Tensor]:
        return [*self.arrays.values()] + ([] if self.chosen is None else [self.chosen])

    def to(self, device: torch.device) -> TextShelf:
        arrays = {name: tensor.to(device) for name, tensor in self.arrays.items()}
        return TextShelf(arrays, self.padding, self.choices, None if self.chosen is None else self.chosen.to(device))

    def take(self, ids: Tensor, width: int | None = None) -> Batch:
        rows = ids if self.chosen is None else self.chosen[ids]
        several, device = self.choices > 1, ids.device
        texts = (
            (rows[:, None] * self.choices + torch.arange(self.choices, device=device)).flatten() if several else rows
        )
        ends = self.arrays["ends"][texts]
        starts = torch.where(texts > 0, self.arrays["ends"][(texts - 1).clamp(min=0)], 0)
        if width is None:
            width = max(1, *(ends - starts).tolist())
        offsets = torch.arange(width, device=device)
        real = offsets < (ends - starts)[:, None]
        places = torch.where(real, starts[:, None] + offsets, starts[:, None])  # anything inside; it is covered up
        tokens = torch.where(real, self.arrays["tokens"][places], self.padding).long()
        types = (real & (offsets >= self.arrays["second"][texts][:, None])).long()
        inputs = {"tokens": tokens, "mask": real, "types": types}
        if several:
            inputs = {name: tensor.view(len(rows), self.choices, -1) for name, tensor in inputs.items()}
        if "spans" in self.arrays:
            inputs["spans"] = self.arrays["spans"][rows].long()
        if "tags" in self.arrays:
            return Batch(inputs, torch.where(real, self.arrays["tags"][places], IGNORED).long())
        return Batch(inputs, self.arrays["labels"][rows])


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
