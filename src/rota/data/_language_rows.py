"""Rows of a language model's task: tokens on the disk, filled up when a batch is made."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rota.arrays import Ids
from rota.data._arrays import Arrays
from rota.data._tokenizer import Tokenizer
from rota.tasks import IGNORED, Batch


class LanguageRows:
    """One split. A batch has `tokens`, their `mask`, and the `places` after which a token is to be learned, which is
    the label.

    Args:
        arrays: What `encode_continued` wrote.
        tokenizer: That cut the texts.
        chosen: Numbers of the rows, where not all of them are meant.

    >>> arrays = {"tokens": np.array([5, 6, 7, 8]), "learned": np.array([0, 0, 1, 1]), "ends": np.array([4])}
    >>> batch = LanguageRows(arrays, Tokenizer("minilm")).batch(np.array([0]))
    >>> batch.inputs["places"].tolist(), batch.labels.tolist()
    ([[1, 2]], [[7, 8]])
    """

    def __init__(self, arrays: Arrays, tokenizer: Tokenizer, chosen: Ids | None = None) -> None:
        self.arrays, self.tokenizer, self._chosen = arrays, tokenizer, chosen

    def __len__(self) -> int:
        return len(self.arrays["ends"]) if self._chosen is None else len(self._chosen)

    @functools.cached_property
    def numbers(self) -> Ids:
        """Of the rows, in the arrays."""
        return np.arange(len(self.arrays["ends"])) if self._chosen is None else self._chosen

    @functools.cached_property
    def side(self) -> Mapping[str, Any]:
        return {
            name.removeprefix("side_"): np.array(array[self.numbers])
            for name, array in self.arrays.items()
            if name.startswith("side_")
        }

    def batch(self, ids: Ids) -> Batch:
        return batch_of([[self.row(int(k))] for k in ids], self.tokenizer.padding)

    def labels(self) -> Tensor:
        """All tokens that are learned."""
        found = [own[1:][learned[1:]] for own, learned in map(self.row, range(len(self)))]
        return torch.from_numpy(np.concatenate([np.empty(0, np.int64), *found]))

    def lengths(self) -> Ids:
        ends = self.arrays["ends"]
        return np.asarray(np.diff(ends, prepend=0)[self.numbers])

    def take(self, ids: Ids) -> LanguageRows:
        return LanguageRows(self.arrays, self.tokenizer, self.numbers[ids])

    def row(self, number: int) -> tuple[Ids, Any]:
        """The tokens of a row, and which of them are learned."""
        begin, end = _bounds(self.arrays["ends"], int(self.numbers[number]))
        return self.arrays["tokens"][begin:end].astype(np.int64), self.arrays["learned"][begin:end].astype(bool)

    def prompt(self, number: int) -> Ids:
        """The tokens before the last completion."""
        return self.row(number)[0][: int(self.arrays["prompt"][self.numbers[number]])]

    def reference(self, number: int) -> str:
        """The last completion, as it is written."""
        begin, end = _bounds(self.arrays["reference_ends"], int(self.numbers[number]))
        return bytes(self.arrays["reference"][begin:end]).decode()

    @property
    def has_options(self) -> bool:
        """Whether completions are to be chosen from several."""
        return "options" in self.arrays

    def options(self, number: int) -> tuple[Batch, int]:
        """The prompt with each of its possible completions, and the number of the right one."""
        own = int(self.numbers[number])
        first, last = _bounds(self._option_ends, own)
        prompt, rows = self.prompt(number), []
        for option in range(first, last):
            begin, end = _bounds(self.arrays["option_ends"], option)
            tokens = np.concatenate([prompt, self.arrays["option_tokens"][begin:end].astype(np.int64)])
            rows.append([(tokens, np.arange(len(tokens)) >= len(prompt))])
        return batch_of(rows, self.tokenizer.padding), int(self.arrays["right"][own])

    @functools.cached_property
    def _option_ends(self) -> Ids:
        return np.cumsum(self.arrays["options"])


def batch_of(rows: Sequence[Sequence[tuple[Ids, Any]]], padding: int, packed: bool = False) -> Batch:
    """A batch of rows, each made of one text or of several that do not see each other.

    Args:
        rows: Of each text the tokens, and which of them are learned.
        padding: The token that fills a row up.
        packed: Whether rows have several texts: then `positions` begin anew with each, and `blocks` number them.
    """
    width = max((sum(len(own) for own, _ in row) for row in rows), default=1)
    asked = max((sum(int(learned[1:].sum()) for _, learned in row) for row in rows), default=1)
    tokens = np.full((len(rows), max(1, width)), padding, dtype=np.int64)
    places = np.zeros((len(rows), max(1, asked)), dtype=np.int64)
    labels = np.full_like(places, IGNORED)
    blocks, positions = np.full_like(tokens, -1), np.zeros_like(tokens)
    for number, row in enumerate(rows):
        start = count = 0
        for block, (own, learned) in enumerate(row):
            here = slice(start, start + len(own))
            tokens[number, here], blocks[number, here], positions[number, here] = own, block, np.arange(len(own))
            next_ones = np.flatnonzero(learned[1:])
            there = slice(count, count + len(next_ones))
            places[number, there], labels[number, there] = start + next_ones, own[1:][next_ones]
            start, count = start + len(own), count + len(next_ones)
    inputs = {"tokens": tokens, "mask": blocks >= 0, "places": places}
    inputs |= {"positions": positions, "blocks": blocks} if packed else {}
    return Batch({name: torch.from_numpy(array) for name, array in inputs.items()}, torch.from_numpy(labels))


def _bounds(ends: Any, number: int) -> tuple[int, int]:
    return int(ends[number - 1]) if number else 0, int(ends[number])
