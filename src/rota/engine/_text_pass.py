"""A forward and backward pass of some members of a stack, at fixed places in memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from rota.arrays import Ids
from rota.engine._repeatable import in_any_order
from rota.engine._text_buffers import TextBuffers
from rota.engine._text_library import TextLibrary
from rota.models import Packing, StackedLayers, dropping_at, mixed, packing, seeds_of

EPS = 1e-6  # as torch's own clipping has
SEEDS = 2**31
FIELDS = ("seat", "task", "weight", "rate", "clip", "seed", "counts")


@dataclass(frozen=True)
class TextRow:
    """What one member trains on in a step, or is asked about.

    Args:
        seat, task: Numbers of its seat and of its head.
        rows: Numbers of its rows in the library; -1 where a place stays empty.
        tokens: In them, together.
        width: To which the longest of them is padded.
        generator: Of its dropout.
        weight: Of the loss.
        rate: Of learning.
        clip: Limit of the gradient's norm.
        again: Whether the loss after the update is asked for, too.
    """

    seat: int
    task: int
    rows: Ids
    tokens: int
    width: int
    generator: torch.Generator
    weight: float = 1.0
    rate: float = 0.0
    clip: float = math.inf
    again: bool = False


@dataclass(frozen=True)
class TextShape:
    """What a pass is made for: members, rows of each, tokens in their lines, tokens of the longest row; and whether its
    places are the seats, so that nothing has to be taken from them and brought there."""

    members: int
    rows: int
    tokens: int
    width: int
    whole: bool = False

    def place(self, number: int, item: TextRow) -> int:
        """Where a member is in the pass, the number-th of those who come."""
        return item.seat if self.whole else number


def drawn(generator: torch.Generator) -> int:
    """A number that the generator draws; that of a GPU without being asked there.

    >>> drawn(torch.Generator().manual_seed(0)) == drawn(torch.Generator().manual_seed(0))
    True
    """
    if generator.device.type == "cpu":
        return int(torch.randint(SEEDS, (), generator=generator))
    offset = generator.get_offset()
    generator.set_offset(offset + 4)
    seed = generator.initial_seed()
    return mixed(mixed(mixed(seed) + (seed >> 32)) + offset) % SEEDS


class TextPass:
    """All that differs from one pass to the next is written into one small tensor.

    Args:
        shape: What it is made for.
        buffers: Parameters and gradients of all members.
        library: Where rows are.
        drops: Whether there is dropout.
        dtype: In which the encoder computes.
        layers: Its layers.
    """

    def __init__(
        self,
        shape: TextShape,
        buffers: TextBuffers,
        library: TextLibrary,
        drops: bool,
        dtype: torch.dtype,
        layers: type[StackedLayers] = StackedLayers,
    ) -> None:
        self.shape, self._buffers, self._library, self._drops, self._dtype = shape, buffers, library, drops, dtype
        self._layers = layers
        self.head_gradients = torch.zeros(0)
        """Of the last uncaptured pass."""
        size = shape.members, len(FIELDS) + shape.rows
        self._control = torch.zeros(size, dtype=torch.float64, device=buffers.device)

    def load(self, items: Sequence[TextRow], counts: bool = True) -> None:
        """Before the work: write down what is different this time; where it does not count, no parameter moves."""
        written = np.zeros(self._control.shape)
        written[:, len(FIELDS) :] = -1
        written[:, : len(FIELDS)] = (self._buffers.spare, 0, 0, 0, 1, 0, 0)
        if self.shape.whole:
            written[:, FIELDS.index("seat")] = np.arange(len(written))
        for number, item in enumerate(items):
            line = written[self.shape.place(number, item)]
            clip, seed = min(item.clip, 1e30), drawn(item.generator) if self._drops and counts else 0
            line[: len(FIELDS)] = item.seat, item.task, item.weight, item.rate, clip, seed, counts
            line[len(FIELDS) : len(FIELDS) + len(item.rows)] = item.rows
        host = torch.from_numpy(written)
        self._control.copy_(host.pin_memory() if self._control.is_cuda else host, non_blocking=True)

    # Inside of the work

    @torch.no_grad()
    def answers(self) -> tuple[Tensor, Tensor]:
        """What the heads say of the rows, [S, B, C], and the labels, [S, B]."""
        read = self._read()
        return self._answers(read, *self._weights(read)), read.labels

    @torch.no_grad()
    def losses(self) -> Tensor:
        """The mean loss of each member; nothing is trained."""
        read = self._read()
        return self._means(read, *self._weights(read))

    @torch.no_grad()
    def train(self) -> Tensor:
        """The mean loss of each member, no number where there is no gradient. Heads are updated; the gradients of the
        encoders are left in the buffers, and what is to be done with them."""
        buffers, read = self._buffers, self._read()
        dense, words, heads = self._weights(read)
        leaves = [*dense.values(), words, heads]
        with torch.enable_grad():
            for leaf in leaves:
                leaf.requires_grad_()
            means = self._means(read, dense, words, heads)
            total = (means * self._field("weight").float()).sum()
        *found, of_words, of_heads = torch.autograd.grad(total, leaves)
        self.head_gradients = of_heads
        squares = self._keep(read, dict(zip(dense, found, strict=True)), of_words)
        norms = (squares + torch.linalg.vector_norm(of_heads, dim=1).square()).sqrt()
        finite = norms.isfinite() & means.isfinite()
        idle = 1 - (finite & (self._field("counts") > 0)).float()
        divisors = ((norms + EPS) / self._field("clip").float()).clamp(min=1)
        rates = self._field("rate").float()
        with in_any_order():
            for place, value in ((buffers.idle, idle), (buffers.divisors, divisors), (buffers.rates, rates)):
                place.index_copy_(0, read.seats, value)
        buffers.step_heads(read.seats, read.tasks, of_heads / divisors[:, None], rates, idle)
        return torch.where(finite, means.detach(), torch.nan)

    def _field(self, name: str) -> Tensor:
        return self._control[:, FIELDS.index(name)]

    def _read(self) -> _Read:
        """What the control tensor is about."""
        library, shape = self._library, self.shape
        chosen = self._control[:, len(FIELDS) :].long()
        there = chosen >= 0
        chosen = chosen.clamp(min=0).flatten()
        lengths = torch.where(there, library.lengths.index_select(0, chosen).view_as(there), 0)
        where = packing(lengths, shape.tokens, shape.width)
        at = library.starts.index_select(0, chosen).view_as(there).gather(1, where.row) + where.offset
        at = torch.where(where.real, at, 0).flatten()
        tokens = library.tokens.index_select(0, at).view_as(where.row)
        types = torch.where(where.real, library.types.index_select(0, at).view_as(where.row), 0)
        # What fills a line up has no gradient; it is spread over the table, because what meets there waits in turn.
        others = torch.arange(shape.tokens, device=at.device) % self._buffers.texts.vocabulary
        labels = torch.where(there, library.labels.index_select(0, chosen).view_as(there), 0)
        seats, tasks = self._field("seat").long(), self._field("task").long()
        return _Read(seats, tasks, torch.where(where.real, tokens, others), types, where, labels, there)

    def _weights(self, read: _Read) -> tuple[dict[str, Tensor], Tensor, Tensor]:
        """Parameters of the encoders but for the tables of tokens, what these say of the tokens, and the heads."""
        buffers = self._buffers
        dense = buffers.dense[: self.shape.members] if self.shape.whole else buffers.dense.index_select(0, read.seats)
        dense = dense.to(self._dtype, copy=True)
        words = buffers.words.flatten(0, 1).index_select(0, self._entries(read))
        heads = buffers.heads.weights[read.seats, read.tasks]
        parts = {name: own.detach() for name, own in buffers.parts(dense).items()}
        return parts, words.view(*read.tokens.shape, -1), heads

    def _entries(self, read: _Read) -> Tensor:
        return (read.seats[:, None] * self._buffers.texts.vocabulary + read.tokens).flatten()

    def _means(self, read: _Read, dense: dict[str, Tensor], words: Tensor, heads: Tensor) -> Tensor:
        losses = self._buffers.heads.losses(self._answers(read, dense, words, heads), read.tasks, read.labels)
        return torch.where(read.there, losses, 0.0).sum(1) / read.there.sum(1).clamp(min=1)

    def _answers(self, read: _Read, dense: dict[str, Tensor], words: Tensor, heads: Tensor) -> Tensor:
        texts = self._buffers.texts
        seeds = seeds_of(self._field("seed").long(), texts.points) if self._drops else None
        features = texts(dense, words, read.types, self._layers(read.where), seeds)
        dropping = dropping_at(seeds, -1, self._buffers.heads.share)
        if dropping is not None:
            places = torch.arange(features[0].numel(), device=features.device).view_as(features[0])
            features = features * dropping.kept(places.expand_as(features)) * dropping.grown
        return self._buffers.heads.answers(heads, features)

    def _keep(self, read: _Read, dense: dict[str, Tensor], words: Tensor) -> Tensor:
        """Put gradients into the buffers; their squared norms."""
        buffers, entries, real = self._buffers, self._entries(read), read.where.real.flatten()
        members = len(read.seats)
        first = torch.arange(members, device=entries.device)[:, None] * buffers.texts.vocabulary
        own = (read.tokens + first).flatten()
        with in_any_order():
            if self.shape.whole:
                gradients = buffers.dense_gradients[:members]
                torch._foreach_copy_(list(buffers.parts(gradients).values()), list(dense.values()))
                buffers.words_gradients[:members].zero_()
            else:
                gradients = buffers.joined(dense)
                buffers.dense_gradients.index_copy_(0, read.seats, gradients)
                buffers.words_gradients.index_fill_(0, read.seats, 0)
            counts = words.new_zeros(members * buffers.texts.vocabulary).index_add_(0, own, real.float())
        table = buffers.words_gradients.flatten(0, 1).index_add_(0, entries, words.flatten(0, 1))
        # Every occurrence of a token finds the sum of all of them: it counts as one over their number.
        squares = table.index_select(0, entries).square().sum(-1) * real
        squares = (squares / counts.index_select(0, own).clamp(min=1)).view(members, -1).sum(1)
        return squares + torch.linalg.vector_norm(gradients, dim=1).square()


class _Read(NamedTuple):
    """Seats and tasks of the members, their tokens and types and where these are, labels, which rows there are."""

    seats: Tensor
    tasks: Tensor
    tokens: Tensor
    types: Tensor
    where: Packing
    labels: Tensor
    there: Tensor
