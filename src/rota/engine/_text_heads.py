"""The heads of several members: of each the one of its task."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from rota.models import Head, MultiTaskModel
from rota.tasks import Kind


def stackable_heads(model: MultiTaskModel) -> dict[str, Head]:
    """The heads of a model that answer about rows, by their tasks."""
    return {task: head for task, head in model.heads.items() if isinstance(head, Head) and head.kind.sees == "row"}


def labels_for(kind: Kind, labels: Tensor) -> Tensor:
    """Labels as the kind has them."""
    return labels.float() if kind.width == 1 else labels.long()


class StackedHeads:
    """Parameters and momenta of all heads as tensors [S, tasks, numbers], laid out as the widest head is: a narrower
    one leaves numbers of its last layer unused, which stay zero.

    Args:
        model: One of the members, for the shapes.
        seats: How many there can be.
        device: Where.
    """

    def __init__(self, model: MultiTaskModel, seats: int, device: torch.device) -> None:
        heads = stackable_heads(model)
        self.tasks = list(heads)
        self._kinds: dict[str, tuple[Kind, list[int]]] = {}
        for number, head in enumerate(heads.values()):
            self._kinds.setdefault(repr(head.kind.describe()), (head.kind, []))[1].append(number)
        first = next(iter(heads.values()))
        widest = max(head.kind.width for head in heads.values())
        seen = [layer.in_features for layer in first.layers]
        made = [*(layer.out_features for layer in first.layers[:-1]), widest]
        self._shapes = [*zip(made, seen, strict=True), *((out,) for out in made)]
        self.share = first.share
        self.matrices = sum(out * into for out, into in zip(made, seen, strict=True))
        size = sum(math.prod(shape) for shape in self._shapes)
        self.weights = torch.zeros(seats, len(heads), size, device=device)
        self.momenta = [torch.zeros_like(self.weights) for _ in range(2)]
        self.steps = torch.zeros(seats, len(heads), len(self._shapes), device=device)

    def views(self, head: Head, own: Tensor) -> list[Tensor]:
        """Of the numbers of a head, those of its matrices and then those of its biases, as they are shaped there."""
        shapes = [layer.weight.shape for layer in head.layers] + [layer.bias.shape for layer in head.layers]
        sizes = [math.prod(shape) for shape in self._shapes]
        return [part[: math.prod(shape)].view(shape) for part, shape in zip(own.split(sizes), shapes, strict=True)]

    def cut(self, own: Tensor) -> list[Tensor]:
        """The numbers of the widest head as its matrices and biases."""
        sizes = [math.prod(shape) for shape in self._shapes]
        return [part.view(shape) for part, shape in zip(own.split(sizes), self._shapes, strict=True)]

    def answers(self, weights: Tensor, features: Tensor) -> Tensor:
        """What the heads say, [S, B, C], as wide as the widest of all heads.

        Args:
            weights: Of the heads that are asked, [S, numbers].
            features: What they see, [S, B, D].
        """
        parts = weights.split([math.prod(shape) for shape in self._shapes], dim=1)
        layers = len(parts) // 2
        values = features
        for number in range(layers):
            matrix = parts[number].view(-1, *self._shapes[number])
            values = values.relu() if number else values
            values = torch.baddbmm(parts[layers + number][:, None], values, matrix.transpose(1, 2))
        return values

    def losses(self, answers: Tensor, tasks: Tensor, labels: Tensor) -> Tensor:
        """The loss of each row, [S, B].

        Args:
            answers: See above.
            tasks: Which heads these are of, [S].
            labels: [S, B].
        """
        found = torch.zeros_like(labels, dtype=torch.float32)
        for kind, numbers in self._kinds.values():
            own = _one_of(tasks, numbers)[:, None].expand_as(labels)
            asked = labels_for(kind, labels.masked_fill(~own, 0)).flatten()
            losses = kind.losses(answers[..., : kind.width].flatten(0, 1), asked).view_as(found)
            found = torch.where(own, losses, found)
        return found


def _one_of(tasks: Tensor, numbers: list[int]) -> Tensor:
    """Which of the tasks have one of these numbers."""
    found = tasks == numbers[0]
    for number in numbers[1:]:
        found = found | (tasks == number)
    return found
