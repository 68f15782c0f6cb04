"""What several text encoders of one structure consist of, as tensors with the members first."""

from __future__ import annotations

import gc
import math
import weakref
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from rota.engine._fused_adamw import adamw
from rota.engine._learner import Learner
from rota.engine._repeatable import in_any_order
from rota.engine._text_heads import StackedHeads, stackable_heads
from rota.models import MultiTaskModel, StackedTexts

MOMENTA = ("exp_avg", "exp_avg_sq")
BLOCK = 1024  # numbers that a program of a kernel updates


class AdamNumbers(NamedTuple):
    """What all members' optimizers have in common.

    Args:
        decays: Of matrices, and of vectors.
        betas, eps: As torch calls them.
    """

    decays: tuple[float, float]
    betas: tuple[float, float]
    eps: float


def adam_numbers(learner: Learner) -> AdamNumbers:
    """Those of a learner that is trained by AdamW."""
    groups = learner.optimizer.param_groups
    return AdamNumbers((groups[0]["weight_decay"], groups[-1]["weight_decay"]), groups[0]["betas"], groups[0]["eps"])


class TextBuffers:
    """Parameters, gradients and momenta of the members of a stack. There is one seat more than members: a pass that is
    made for more members than come has it in their places.

    Args:
        texts: The structure of their encoders.
        model: One of them.
        seats: How many members there can be.
        device: Where.
        adam: How they are updated.
    """

    def __init__(
        self, texts: StackedTexts, model: MultiTaskModel, seats: int, device: torch.device, adam: AdamNumbers
    ) -> None:
        self._adam = adam
        self.texts, self.device, self.spare = texts, device, seats
        shapes = {name: tuple(own.shape) for name, own in model.encoder.named_parameters()}
        matrices, vectors = texts.names
        self.columns: dict[str, tuple[int, int, tuple[int, ...]]] = {}
        start = 0
        for name in [*matrices, *vectors]:
            end = start + math.prod(shapes[name])
            self.columns[name] = start, end, shapes[name]
            start = end
        self.matrices = self.columns[vectors[0]][0]
        count, table = seats + 1, shapes[texts.words]
        self.dense = torch.zeros(count, start, device=device)
        self.words = torch.zeros(count, *table, device=device)
        self.dense_gradients, self.words_gradients = torch.zeros_like(self.dense), torch.zeros_like(self.words)
        self.dense_momenta = [torch.zeros_like(self.dense) for _ in MOMENTA]
        self.words_momenta = [torch.zeros_like(self.words) for _ in MOMENTA]
        self.steps = torch.zeros(count, len(self.columns) + 1, device=device)
        self.heads = StackedHeads(model, count, device)
        self.rates, self.divisors = torch.zeros(count, device=device), torch.ones(count, device=device)
        self.idle = torch.ones(count, device=device)
        self.fused = False
        """Whether one kernel updates all of them."""
        self.free = list(range(seats))
        self._sitting: dict[int, weakref.ref[Learner]] = {}
        self._places: dict[int, list[tuple[Tensor, Tensor, list[Tensor], Tensor]]] = {}

    def parts(self, dense: Tensor) -> dict[str, Tensor]:
        """Columns of [S, numbers] as the parameters that they are, [S, …]; those that are used as one under the name of
        the first."""
        rest = {name for own in self.texts.joined for name in own[1:]}
        ends = {own[0]: self.columns[own[-1]][1] for own in self.texts.joined}
        return {
            name: dense[:, start : ends.get(name, end)].unflatten(1, (-1, *shape[1:]))
            for name, (start, end, shape) in self.columns.items()
            if name not in rest
        }

    def joined(self, parts: dict[str, Tensor]) -> Tensor:
        """Parts, as `parts` made them, as columns again, in single precision."""
        return torch.cat([own.flatten(1) for own in parts.values()], 1).float()

    @property
    def empty(self) -> bool:
        """Whether nobody has a seat."""
        return all(learner() is None for learner in self._sitting.values())

    def sit(self, learner: Learner) -> int | None:
        """A member takes a seat: its parameters move there; None where no seat is free."""
        seat = self._free_seat()
        if seat is None:
            return None
        self._sitting[seat] = weakref.ref(learner)
        self._places[seat] = self._places_of(learner, seat)
        for parameter, place, _, _ in self._places[seat]:
            parameter.data = place.copy_(parameter.data)
        self.adopt(learner, seat)
        return seat

    def _free_seat(self) -> int | None:
        if not self.free:  # a run that failed before it began has not left its seat
            gc.collect()
            for seat in [seat for seat, learner in self._sitting.items() if learner() is None]:
                self.leave(seat)
        return self.free.pop(0) if self.free else None

    def adopt(self, learner: Learner, seat: int) -> None:
        """What the member's optimizer remembers moves there, too; it has done so after a checkpoint was loaded."""
        states = learner.optimizer.state
        for parameter, _, momenta, step in self._places[seat]:
            state = states[parameter]
            for kind, place in [*zip(MOMENTA, momenta, strict=True), ("step", step)]:
                state[kind] = place.copy_(state[kind]) if kind in state else place.zero_()

    def holds(self, learner: Learner, seat: int) -> bool:
        """Whether the member's parameters and momenta are still there."""
        places = self._places[seat]
        return all(
            parameter.data_ptr() == place.data_ptr()
            and learner.optimizer.state[parameter].get("exp_avg", place).data_ptr() == momenta[0].data_ptr()
            for parameter, place, momenta, _ in (places[0], places[-1])
        )

    def leave(self, seat: int) -> None:
        """Its parameters are its own again; another member may take the seat."""
        del self._sitting[seat]
        for parameter, _, _, _ in self._places.pop(seat):
            parameter.data = parameter.data.clone()
        self.idle[seat] = 1
        self.free.append(seat)

    def _places_of(self, learner: Learner, seat: int) -> list[tuple[Tensor, Tensor, list[Tensor], Tensor]]:
        """Of each parameter, where it, its momenta and its step are."""
        model = learner.model
        assert isinstance(model, MultiTaskModel)
        encoder = dict(model.encoder.named_parameters())
        found: list[tuple[Tensor, Tensor, list[Tensor], Tensor]] = []
        for number, (name, (start, end, shape)) in enumerate(self.columns.items()):
            place, *momenta = (own[seat, start:end].view(shape) for own in (self.dense, *self.dense_momenta))
            found.append((encoder[name], place, momenta, self.steps[seat, number]))
        words = [own[seat] for own in self.words_momenta]
        found.append((encoder[self.texts.words], self.words[seat], words, self.steps[seat, -1]))
        for number, head in enumerate(stackable_heads(model).values()):
            layers = head.layers
            parameters = [*(layer.weight for layer in layers), *(layer.bias for layer in layers)]
            stored = (self.heads.weights, *self.heads.momenta)
            columns = zip(*(self.heads.views(head, own[seat, number]) for own in stored), strict=True)
            for k, (parameter, (place, *momenta)) in enumerate(zip(parameters, columns, strict=True)):
                found.append((parameter, place, momenta, self.heads.steps[seat, number, k]))
        return found

    # Updates

    def step_heads(self, seats: Tensor, tasks: Tensor, gradients: Tensor, rates: Tensor, idle: Tensor) -> None:
        """An update of the heads of these tasks, but for members that are idle."""
        heads, (matrices, vectors) = self.heads, self._adam.decays
        at, moves = (seats, tasks), (1 - idle)[:, None]
        weights, first, second = (own[at] for own in (heads.weights, *heads.momenta))
        steps = heads.steps[at] + moves
        count = steps[:, :1].double().clamp(min=1)
        betas = self._adam.betas
        grown = [(1 - beta**count).float() for beta in betas]
        decay = torch.full_like(gradients[:1], vectors)
        decay[:, : heads.matrices] = matrices
        one = first + (gradients - first) * (1 - betas[0])
        two = second * betas[1] + gradients * gradients * (1 - betas[1])
        rate = rates[:, None]
        moved = weights * (1 - rate * decay) - rate / grown[0] * one / (two.sqrt() / grown[1].sqrt() + self._adam.eps)
        with in_any_order():
            for place, new, old in (
                (heads.weights, moved, weights),
                (heads.momenta[0], one, first),
                (heads.momenta[1], two, second),
                (heads.steps, steps, heads.steps[at]),
            ):
                place.index_put_(at, torch.where(moves > 0, new, old))

    def step(self, seats: Sequence[int]) -> None:
        """An update of the encoders in these seats, but for those that are idle, by the gradients over `divisors`."""
        adam = self._adam
        self.steps += (1 - self.idle)[:, None]
        if self.fused:
            self._step_fused()
            return
        for seat in seats:
            stored = (self.dense, self.dense_gradients, *self.dense_momenta)
            tables = (self.words, self.words_gradients, *self.words_momenta)
            matrices = [[own[seat, : self.matrices], more[seat]] for own, more in zip(stored, tables, strict=True)]
            vectors = [[own[seat, self.matrices :]] for own in stored]
            for (weights, gradients, first, second), decay in zip((matrices, vectors), adam.decays, strict=True):
                torch._fused_adamw_(
                    weights,
                    gradients,
                    first,
                    second,
                    [],
                    [self.steps[seat, 0]] * len(weights),
                    lr=self.rates[seat],
                    beta1=adam.betas[0],
                    beta2=adam.betas[1],
                    weight_decay=decay,
                    eps=adam.eps,
                    amsgrad=False,
                    maximize=False,
                    grad_scale=self.divisors[seat],
                    found_inf=self.idle[seat],
                )

    def _step_fused(self) -> None:
        adam, count = self._adam, self.steps[:, :1].double().clamp(min=1)
        grown = [1 - beta**count for beta in adam.betas]
        corrections = torch.cat([grown[0], grown[1].sqrt()], 1).float()
        for stored, border in (
            ((self.dense, self.dense_gradients, *self.dense_momenta), self.matrices),
            ((self.words, self.words_gradients, *self.words_momenta), self.words[0].numel()),
        ):
            size = stored[0][0].numel()
            adamw[-(-size // BLOCK), self.spare](
                *stored,
                self.rates,
                self.divisors,
                self.idle,
                corrections,
                size,
                border,
                *adam.decays,
                *adam.betas,
                adam.eps,
                BLOCK=BLOCK,
            )
