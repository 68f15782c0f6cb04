"""Several models of one structure, side by side: one forward and backward pass for all of them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from rota.engine._learner import Learner
from rota.engine._stack_step import clip_members, step_members
from rota.engine._step import TaskBatch
from rota.models import Drop, Head, MultiTaskModel, StackedEncoder
from rota.tasks import Batch


@dataclass(eq=False)
class Seat:
    """A member's place in a stack.

    Args:
        number: Which slice of the stacked tensors.
        learner: The member: the parameters of its model's encoder, and their momenta, are views of that slice.
    """

    number: int
    learner: Learner

    @property
    def model(self) -> MultiTaskModel:
        assert isinstance(self.learner.model, MultiTaskModel)
        return self.learner.model

    @functools.cached_property
    def encoder(self) -> dict[str, nn.Parameter]:
        """The parameters of its encoder, by name."""
        return dict(self.model.encoder.named_parameters())

    @functools.cached_property
    def heads(self) -> dict[str, tuple[Head, list[nn.Parameter]]]:
        """Its heads with their parameters, by task."""
        heads = self.model.heads.items()
        return {task: (head, list(head.parameters())) for task, head in heads if isinstance(head, Head)}


@dataclass(frozen=True)
class StackRows:
    """What one member trains on in a step.

    Args:
        seat: Who it is.
        part: Its rows.
        rate: Its learning rate.
        generator: Of its dropout.
    """

    seat: Seat
    part: TaskBatch
    rate: float
    generator: torch.Generator


class RunStack:
    """The encoders of several models as tensors with the members first, [S, …]. The heads stay where they are.

    The numbers of a member do not depend on how many others there are: every operation treats members apart, in batches
    of one size.

    Args:
        encode: The encoder's forward pass for all members.
        model: One of them, for the shapes.
        seats: How many there can be.
        rows: In a batch; smaller ones are filled up.
    """

    def __init__(self, encode: StackedEncoder, model: MultiTaskModel, seats: int, rows: int) -> None:
        self._encode, self._rows = encode, rows
        shapes = dict(model.encoder.named_parameters())
        self._trained = [name for name, own in shapes.items() if own.requires_grad]
        self._weights = {name: own.detach().new_empty((seats, *own.shape)) for name, own in shapes.items()}
        self._momenta = {
            kind: {name: torch.zeros_like(self._weights[name]) for name in self._trained}
            for kind in ("exp_avg", "exp_avg_sq")
        }
        self._free = list(range(seats))

    def join(self, learner: Learner) -> Seat:
        """A member takes a seat: its parameters move there."""
        seat = Seat(self._free.pop(0), learner)
        for name, parameter in seat.encoder.items():
            own = self._weights[name][seat.number]
            parameter.data = own.copy_(parameter.data)
        self.adopt(seat)
        return seat

    def adopt(self, seat: Seat) -> None:
        """What the member's optimizer remembers moves there, too; it has done so after a checkpoint was loaded."""
        states = seat.learner.optimizer.state
        for name in self._trained:
            state = states[seat.encoder[name]]
            state.setdefault("step", torch.zeros(()))
            for kind, stacked in self._momenta.items():
                own = stacked[name][seat.number]
                state[kind] = own.copy_(state[kind]) if kind in state else own.zero_()
        for parameter in seat.model.heads.parameters():
            if not states[parameter]:
                states[parameter] = {"step": torch.zeros(())} | {
                    kind: torch.zeros_like(parameter) for kind in self._momenta
                }

    def leave(self, seat: Seat) -> None:
        """Its parameters are its own again; another member may take the seat."""
        for parameter in seat.encoder.values():
            parameter.data = parameter.data.clone()
        self._free.append(seat.number)

    # One step

    def update(self, items: Sequence[StackRows]) -> list[tuple[Tensor, bool]]:
        """An update of each member that has an item: its mean loss, and whether it was made, which it is not where loss
        or gradient are no numbers."""
        weights = self._weights_of([item.seat.number for item in items])
        features = self._encode(weights, self._inputs(items), self._dropout(items)).rows
        losses = self._losses(items, features)
        leaves = [weights[name] for name in self._trained]
        heads = [item.seat.heads[item.part.task][1] for item in items]
        wanted = [*leaves, *(own for head in heads for own in head)]
        # Laid out as the weights are: a fused update walks through both of them alike.
        found = [gradient.contiguous() for gradient in torch.autograd.grad(losses.sum(), wanted)]
        stacked, rest = found[: len(leaves)], iter(found[len(leaves) :])
        apart = [gradient.unbind() for gradient in stacked]
        gradients = [[*(own[k] for own in apart), *(next(rest) for _ in head)] for k, head in enumerate(heads)]
        learners = [item.seat.learner for item in items]
        finite = clip_members(learners, stacked, gradients, losses.detach())
        encoders = [[item.seat.encoder[name] for name in self._trained] for item in items]
        parameters = [[*encoder, *head] for encoder, head in zip(encoders, heads, strict=True)]
        step_members(learners, parameters, gradients, [item.rate for item in items], finite)
        return list(zip(losses.detach().unbind(), finite, strict=True))

    def _weights_of(self, numbers: list[int]) -> dict[str, Tensor]:
        whole = numbers == list(range(len(next(iter(self._weights.values())))))
        chosen = torch.tensor(numbers)
        found = {}
        for name, stacked in self._weights.items():
            found[name] = stacked.detach() if whole else stacked.index_select(0, chosen)
            found[name].requires_grad_(name in self._trained)
        return found

    def _inputs(self, items: Sequence[StackRows]) -> dict[str, Tensor]:
        filled = [self._filled(item.part.batch) for item in items]
        return {name: torch.stack([own.inputs[name] for own in filled]) for name in filled[0].inputs}

    def _filled(self, batch: Batch) -> Batch:
        """Up to the usual number of rows, by rows of zeros."""
        missing = self._rows - len(batch.labels)
        if not missing:
            return batch
        inputs = {name: _grown(tensor, missing) for name, tensor in batch.inputs.items()}
        return Batch(inputs, _grown(batch.labels, missing))

    def _dropout(self, items: Sequence[StackRows]) -> Drop:
        def drop(values: Tensor, share: float) -> Tensor:
            if not share:
                return values
            kept = torch.zeros_like(values)
            for k, item in enumerate(items):  # the numbers that the member would draw by itself
                kept[k, : len(item.part.ids)].bernoulli_(1 - share, generator=item.generator)
            return values * kept.div_(1 - share)

        return drop

    def _losses(self, items: Sequence[StackRows], features: Tensor) -> Tensor:
        """The mean loss of each member. Heads of one kind answer together."""
        groups: dict[str, list[int]] = {}
        for k, item in enumerate(items):
            groups.setdefault(repr(item.seat.learner.kinds[item.part.task]), []).append(k)
        found: dict[int, Tensor] = {}
        for members in groups.values():
            own = [items[k] for k in members]
            chosen = features if len(members) == len(items) else features[members]
            heads = [item.seat.heads[item.part.task][0] for item in own]
            outputs = _answers(heads, self._dropout(own)(chosen, heads[0].share))
            labels = torch.stack([self._filled(item.part.batch).labels for item in own])
            kind = own[0].seat.learner.kinds[own[0].part.task]
            losses = kind.losses(outputs.flatten(0, 1), labels.flatten(0, 1)).view(len(own), -1)
            for k, item, row in zip(members, own, losses, strict=True):
                count = len(item.part.ids)
                found[k] = row[:count].sum() * (item.part.weight / count)
        return torch.stack([found[k] for k in range(len(items))])


def _answers(heads: Sequence[Head], features: Tensor) -> Tensor:
    """What the heads of several members say, [S, B, C]."""
    values = features
    for number, layer in enumerate(zip(*(head.layers for head in heads), strict=True)):
        weights, biases = torch.stack([own.weight for own in layer]), torch.stack([own.bias for own in layer])
        values = torch.baddbmm(biases[:, None], values.relu() if number else values, weights.transpose(1, 2))
    return values


def _grown(tensor: Tensor, missing: int) -> Tensor:
    return torch.cat([tensor, tensor.new_zeros((missing, *tensor.shape[1:]))])
