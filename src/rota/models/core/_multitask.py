"""One encoder for all tasks, one head for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from torch import Tensor, nn

from rota.errors import RotaError, unknown_name
from rota.models.core._features import Conditional, Encoder, Features, HeadStyle, Whose
from rota.models.core._heads import Head
from rota.tasks import Kind, Task, repeated


class MultiTaskModel(nn.Module):
    """A shared encoder and one head per task.

    Args:
        encoder: What the tasks share.
        tasks: What the heads are for: tasks, or kinds by the names of tasks.
        style: What the heads are made of; by default as the encoder suggests.

    The call `model(task, inputs)` is all that training needs: any module that answers it can be trained.

    >>> import torch
    >>> from rota.models import SmallConv
    >>> from rota.tasks import Classification
    >>> model = MultiTaskModel(SmallConv(side=8), {"digit": Classification(10), "parity": Classification(2)})
    >>> model("parity", {"image": torch.zeros(3, 1, 8, 8)}).shape
    torch.Size([3, 2])
    """

    def __init__(
        self, encoder: Encoder, tasks: Sequence[Task] | Mapping[str, Kind], style: HeadStyle | None = None
    ) -> None:
        super().__init__()
        kinds = tasks if isinstance(tasks, Mapping) else {task.name: task.kind for task in tasks}
        for name in kinds:
            check_name(name)
        self.encoder = encoder
        self.style = style or encoder.style
        self.heads = nn.ModuleDict({name: Head(kind, encoder.width, self.style) for name, kind in kinds.items()})

    def describe(self) -> dict[str, Any]:
        """Plain JSON from which `build_model` makes the model again, without its weights."""
        kinds = {name: head.kind.describe() for name, head in self.heads.items() if isinstance(head, Head)}
        return {"encoder": self.encoder.describe(), "style": asdict(self.style), "kinds": kinds}

    def forward(self, task: str, inputs: dict[str, Tensor]) -> Tensor:
        return self._answer(task, inputs, lambda own: self.encoder(own, *self._whose((task,))))

    def _whose(self, tasks: Sequence[str], rows: Tensor | None = None) -> tuple[Whose, ...]:
        """What an encoder wants to know beside the inputs."""
        return (Whose(tuple(tasks), rows),) if isinstance(self.encoder, Conditional) else ()

    def add_task(self, name: str, kind: Kind, init: str = "average") -> None:
        """A new head, and where the encoder treats tasks differently a new vector in it.

        Args:
            name: Of the task.
            kind: What sort of answer it wants.
            init: What the vector begins as: that of a task, by its name, the `average` of all, `random`, `xavier`.
        """
        check_name(name)
        if name in self.heads:
            raise RotaError(f"Expected a task that the model does not know yet. Found '{name}'.")
        head = Head(kind, self.encoder.width, self.style)  # first: its weights are the same whatever the vector
        if isinstance(self.encoder, Conditional):
            self.encoder.add_task(name, init)
        self.heads[name] = head.to(next(self.parameters())).train(self.training)

    def copied(self, task: str, inputs: dict[str, Tensor], copies: int, layers: int) -> Tensor:
        """What it says of `copies` copies of the rows, one copy after the other. What comes before the head and the
        last `layers` layers of the encoder is computed once, since no dropout is there."""

        def encode(own: dict[str, Tensor]) -> Features:
            whose = self._whose((task,))
            if layers:
                return self.encoder.copied(own, copies, layers, *whose)
            return self.encoder(own, *whose).repeated(copies)

        return self._answer(task, inputs, encode, copies)

    def late_parts(self, layers: int) -> list[nn.Module]:
        """The heads and the last `layers` layers of the encoder."""
        return [*(self.encoder.last_layers(layers) if layers else []), self.heads]

    def frozen_parts(self) -> Sequence[nn.Module]:
        """What is not trained, and whose dropout never acts."""
        return self.encoder.frozen_parts()

    def _answer(
        self, task: str, inputs: dict[str, Tensor], encode: Callable[[dict[str, Tensor]], Features], copies: int = 1
    ) -> Tensor:
        if task not in self.heads:
            raise unknown_name("task", task, self.heads.keys())
        head = self.heads[task]
        assert isinstance(head, Head)
        if head.kind.sees != "choices":
            spans = inputs.get("spans")
            return head(encode(inputs), None if spans is None else repeated(spans, copies))
        # Each choice is a text of its own: [N, C, L] -> [N·C, L] -> one number each -> [N, C]
        choices = next(iter(inputs.values())).shape[1]
        flat = {name: tensor.flatten(0, 1) for name, tensor in inputs.items()}
        return head(encode(flat)).view(-1, choices)

    def only_for(self, task: str) -> list[nn.Parameter]:
        """The parameters that a task has for itself: its head's, and its own ones in the encoder."""
        inside = self.encoder.only_for(task) if isinstance(self.encoder, Conditional) else []
        return [*self.heads[task].parameters(), *inside]

    def several(self, tasks: Sequence[str], inputs: dict[str, Tensor], owners: Tensor) -> dict[str, Tensor]:
        """What the heads of several tasks say of the same rows; the encoder reads these once.

        Args:
            tasks: Which heads.
            inputs: Rows of any of these tasks.
            owners: Which of the tasks each row belongs to; a number that is none: any will do.
        """
        features = self.encoder(inputs, *self._whose(tasks, owners.long().clamp(0, len(tasks) - 1)))
        return {task: self.heads[task](features, inputs.get("spans")) for task in tasks}


def check_name(name: str) -> None:
    """Refuse the name of a task that torch cannot hold.

    >>> check_name("rte")
    >>> check_name("glue.rte")
    Traceback (most recent call last):
        ...
    rota.errors.RotaError: A head expects a name without dots that torch does not use. Found 'glue.rte'.
    """
    if not name or "." in name or hasattr(nn.ModuleDict, name) or hasattr(nn.ParameterDict, name):
        raise RotaError(f"A head expects a name without dots that torch does not use. Found '{name}'.")
