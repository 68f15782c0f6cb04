"""Several text encoders of one structure, side by side: their steps are made in a few passes, captured on a GPU."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from rota.engine._capture import CudaGraphs, Graphs, Result, said, unchanged
from rota.engine._learner import Learner
from rota.engine._repeatable import repeatable, repeatably
from rota.engine._step import AsyncScalars
from rota.engine._text_buffers import TextBuffers, adam_numbers
from rota.engine._text_groups import groups_alike, groups_for_speed, padded_tokens
from rota.engine._text_library import TextLibrary
from rota.engine._text_looks import TextAnswers, TextLook, fitting_tokens, groups_of_looks
from rota.engine._text_pass import TextPass, TextRow, TextShape
from rota.models import FusedLayers, MultiTaskModel, StackedLayers, StackedTexts, why_not_alike, why_not_fused

MOST = 256
"""Captured passes; a limit, because there may be ever new shapes."""
SHARE = 0.12
"""Of a GPU's memory that the weights of attention in one pass may take, in forward and backward passes."""
COPIES = 8
"""Of these weights that are alive at a time, in bytes of half precision: what dropout keeps, before it and after it."""


def graphs_on(device: torch.device) -> Graphs | None:
    """What captures there; None where nothing does."""
    return CudaGraphs(device) if device.type == "cuda" else None


def room_for_weights(device: torch.device) -> int:
    """Bytes of a GPU that the weights of attention in one pass may take."""
    return int(SHARE * torch.cuda.get_device_properties(device).total_memory)


class TextResult(NamedTuple):
    """What a member hears of its step: its loss, on its way and on the device, and its loss after the update."""

    sent: AsyncScalars
    loss: Tensor
    after: Tensor | None


class _Prepared(NamedTuple):
    """A pass with the work that is done with it."""

    place: TextPass
    work: Callable[[], Any]


class TextStack:
    """The text encoders and heads of several models.

    On a CPU, what a member is told does not depend on who else is there: those whose lines have the same length go
    through a pass together, in which every operation treats members apart. On a GPU all of them do where most seats are
    taken, else those of similar lengths: there, the numbers of a member alone differ by rounding.

    Args:
        texts: The structure of the encoders.
        learner: One of the members.
        seats: How many there can be.
    """

    def __init__(self, texts: StackedTexts, learner: Learner, seats: int) -> None:
        assert isinstance(learner.model, MultiTaskModel)
        self._texts, self._device, self._rows = texts, learner.device, learner.settings.batch_size
        self._dtype = torch.bfloat16 if learner.settings.precision == "bf16" else torch.float32
        self._seats = seats
        self.buffers = TextBuffers(texts, learner.model, seats, self._device, adam_numbers(learner))
        self.library, self.looked_at = TextLibrary(self._device), TextLibrary(self._device)
        """Rows to train on, and rows that members are only asked about: new ones leave the steps as they are."""
        self._graphs = graphs_on(self._device)
        self._kept: dict[object, _Prepared] = {}
        self._kept_looks: dict[object, _Prepared] = {}
        self._update: Callable[[], None] | None = None
        self._version = self._version_of_looks = -1
        self.captures, self.seconds = 0, 0.0
        self.tokens, self.slots = 0, 0
        """Trained on so far, and places for them: the rest was padding."""
        self.reason: str | None = None
        """Why nothing is captured, if so."""
        self._layers: type[StackedLayers] = StackedLayers
        self.unfused: str | None = None
        """Why layers are made of torch's kernels on a GPU, if so."""

    def update(self, items: Sequence[TextRow]) -> list[TextResult]:
        """An update of each member that has an item."""
        if self._graphs is None:
            return self._updated(items)
        with repeatable():
            return self._updated(items)

    def _updated(self, items: Sequence[TextRow]) -> list[TextResult]:
        self._settle()
        self.buffers.idle.fill_(1)
        losses, sent = self._passes(items, train=True)
        self._step([item.seat for item in items])
        asked = [number for number, item in enumerate(items) if item.again]
        after: dict[int, Tensor] = {}
        if asked:
            after = dict(zip(asked, self._passes([items[number] for number in asked], train=False)[0], strict=True))
        return [TextResult(sent[k], losses[k], after.get(k)) for k in range(len(items))]

    def answers(self, items: Sequence[TextLook]) -> list[TextAnswers]:
        """What each member says of rows that were `looked_at`; nothing is trained."""
        if self._graphs is None:
            return self._answered(items)
        with repeatable():
            return self._answered(items)

    def _answered(self, items: Sequence[TextLook]) -> list[TextAnswers]:
        self._settle()
        if self._version_of_looks != self.looked_at.version:
            self._version_of_looks = self.looked_at.version
            self._kept_looks.clear()
        found: dict[int, TextAnswers] = {}
        captured, fitting = self._graphs is not None, fitting_tokens(self._device, self._texts)
        for shape, drops, numbers in groups_of_looks(items, self._seats, captured, fitting):
            own = [items[number] for number in numbers]
            outputs, labels = self._look(shape, drops, [item.row for item in own])
            for k, (number, item) in enumerate(zip(numbers, own, strict=True)):
                place = shape.place(k, item.row)
                outputs_of = outputs[place].unflatten(0, (item.copies, item.most))
                found[number] = TextAnswers(outputs_of.clone(), labels[place, : item.most].clone())
        return [found[k] for k in range(len(items))]

    def _look(self, shape: TextShape, drops: bool, rows: Sequence[TextRow]) -> tuple[Tensor, Tensor]:
        prepared = self._kept_looks.get((shape, drops))
        if prepared is None:
            place = TextPass(shape, self.buffers, self.looked_at, drops, self._dtype, self._layers)
            place.load(rows, counts=False)
            prepared = _Prepared(place, self._captured(place.answers) or place.answers)
            if self._graphs is not None and self.kept < MOST:
                self._kept_looks[shape, drops] = prepared
        prepared.place.load(rows)
        found: tuple[Tensor, Tensor] = prepared.work()
        return found

    def takes(self, width: int) -> bool:
        """Whether rows of this length can be looked at, the layers being what they are."""
        self._settle()
        return self._layers is StackedLayers or why_not_fused(self._texts.heads, self._texts.width, width) is None

    @property
    def kept(self) -> int:
        """Captured passes."""
        return len(self._kept) + len(self._kept_looks)

    def gradients(self, item: TextRow) -> dict[str, Tensor]:
        """Of a member without dropout and in single precision, as the stack works them out: by the names of the
        encoder's parameters, and those of its head's matrices and biases by their numbers. No parameter moves."""
        self._settle()
        shape = TextShape(1, self._rows, padded_tokens(item.tokens), item.width)
        place = TextPass(shape, self.buffers, self.library, False, torch.float32, self._layers)
        place.load([item], counts=False)
        place.train()
        buffers = self.buffers
        found = {
            name: buffers.dense_gradients[item.seat, start:end].view(own)
            for name, (start, end, own) in buffers.columns.items()
        }
        found[self._texts.words] = buffers.words_gradients[item.seat]
        return found | {str(k): own for k, own in enumerate(buffers.heads.cut(place.head_gradients[0]))}

    # Passes

    def _settle(self) -> None:
        """Where rows have come: what was made for the old ones is forgotten."""
        if self._version == self.library.version:
            return
        self._version = self.library.version
        self._kept.clear()
        self._fuse()

    def _fuse(self) -> None:
        """Take the layers made of few kernels, and one kernel for all updates, where they are good."""
        if self._device.type != "cuda" or self.unfused is not None:
            return
        texts = self._texts
        self.unfused = why_not_fused(texts.heads, texts.width, self.library.longest) or why_not_alike(
            texts.heads, texts.width, self._dtype, self._device
        )
        self._layers = StackedLayers if self.unfused else FusedLayers
        self.buffers.fused = self.unfused is None

    @property
    def _fitting(self) -> int:
        """Members times squared length that fit into a pass."""
        return int(room_for_weights(self._device) / (self._texts.layers * self._texts.heads * self._rows * COPIES))

    def _groups(self, items: Sequence[TextRow]) -> list[tuple[TextShape, list[int]]]:
        if self._graphs is None:
            return groups_alike(items, self._rows)
        width = max(item.width for item in items)
        fits = self._layers is not StackedLayers or self._seats * width**2 <= self._fitting
        if fits and 2 * len(items) > self._seats:
            tokens = padded_tokens(max(item.tokens for item in items))
            return [(TextShape(self._seats, self._rows, tokens, width, whole=True), list(range(len(items))))]
        return groups_for_speed(items, self._rows, self._seats, self._fitting)

    def _passes(self, items: Sequence[TextRow], train: bool) -> tuple[list[Tensor], list[AsyncScalars]]:
        losses: dict[int, Tensor] = {}
        sent: dict[int, AsyncScalars] = {}
        for shape, numbers in self._groups(items):
            own = [items[number] for number in numbers]
            found = self._pass(shape, own, train)
            places = [shape.place(number, item) for number, item in enumerate(own)]
            losses |= {number: found[place] for number, place in zip(numbers, places, strict=True)}
            if train:
                self.tokens += sum(item.tokens for item in own)
                self.slots += shape.members * shape.tokens
                each = AsyncScalars(found).each()
                sent |= {number: each[place] for number, place in zip(numbers, places, strict=True)}
        order = range(len(items))
        return [losses[k] for k in order], [sent[k] for k in order if train]

    def _pass(self, shape: TextShape, items: Sequence[TextRow], train: bool) -> Tensor:
        prepared = self._kept.get((shape, train)) or self._prepare(shape, items, train)
        prepared.place.load(items)
        return prepared.work().clone()  # the next pass may overwrite it

    def _prepare(self, shape: TextShape, items: Sequence[TextRow], train: bool) -> _Prepared:
        place = TextPass(shape, self.buffers, self.library, True, self._dtype, self._layers)
        work = place.train if train else place.losses
        place.load(items, counts=False)
        prepared = _Prepared(place, self._captured(work) or work)
        if self._graphs is not None and self.kept < MOST:
            self._kept[shape, train] = prepared
        return prepared

    def _captured(self, work: Callable[[], Result]) -> Callable[[], Result] | None:
        """What repeats the work; None where that is not possible."""
        if self._graphs is None or self.reason is not None or self.kept >= MOST:
            return None
        began = time.perf_counter()
        try:
            with unchanged(nn.Module(), self._device):
                replay = self._graphs.capture(work, lambda: repeatably(work))
        except Exception as error:
            self.reason = f"stacked steps are not captured: {said(error)}"
            self._kept.clear()
            self._kept_looks.clear()
            self._update = None
            return None
        self.captures += 1
        self.seconds += time.perf_counter() - began
        return replay

    def _step(self, seats: Sequence[int]) -> None:
        if self._graphs is None or self.reason is not None:
            self.buffers.step(seats)
            return
        if self._update is None:
            every = range(self._seats)
            idle = self.buffers.idle.clone()
            self.buffers.idle.fill_(1)  # a rehearsal changes nothing
            self._update = self._captured(lambda: self.buffers.step(every)) or (lambda: self.buffers.step(every))
            self.buffers.idle.copy_(idle)
        self._update()
