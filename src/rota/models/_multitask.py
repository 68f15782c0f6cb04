"""One encoder for all tasks, one head for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from torch import Tensor, nn

from rota.errors import RotaError, unknown_name
from rota.models._features import Encoder, Features, HeadStyle
from rota.models._heads import Head
from rota.tasks import Kind, Task, repeated


class MultiTaskModel(nn.Module):
    """A shared encoder and one head per task.

    Args:
        encoder: What the tasks share.
        tasks: What the heads are for: tasks, or kinds by the names of tasks.
        style: What the heads are made of; by default as the encoder suggests.

    The call `model(task, inputs)` is all that training needs: any module that answers it can be trained.
    """

    def __init__(
        self, encoder: Encoder, tasks: Sequence[Task] | Mapping[str, Kind], style: HeadStyle | None = None
    ) -> None:
        super().__init__()
        kinds = tasks if isinstance(tasks, Mapping) else {task.name: task.kind for task in tasks}
        for name in kinds:
            if not name or "." in name or hasattr(nn.ModuleDict, name):
                raise RotaError(f"A head expects a name without dots that torch does not use. Found '{name}'.")
        self.encoder = encoder
        self.style = style or encoder.style
        self.heads = nn.ModuleDict({name: Head(kind, encoder.width, self.style) for name, kind in kinds.items()})

    def describe(self) -> dict[str, Any]:
        """Plain JSON from which `build_model` makes the model again, without its weights."""
        kinds = {name: head.kind.describe() for name, head in self.heads.items() if isinstance(head, Head)}
        return {"encoder": self.encoder.describe(), "style": asdict(self.style), "kinds": kinds}

    def forward(self, task: str, inputs: dict[str, Tensor]) -> Tensor:
        return self._answer(task, inputs, self.encoder)

    def copied(self, task: str, inputs: dict[str, Tensor], copies: int, layers: int) -> Tensor:
        """What it says of `copies` copies of the rows, one copy after the other. What comes before the head and the
        last `layers` layers of the encoder is computed once, since no dropout is there."""

        def encode(own: dict[str, Tensor]) -> Features:
            return self.encoder.copied(own, copies, layers) if layers else self.encoder(own).repeated(copies)

        return self._answer(task, inputs, encode, copies)

    def late_parts(self, layers: int) -> list[nn.Module]:
        """The heads and the last `layers` layers of the encoder."""
        return [*(self.encoder.last_layers(layers) if layers else []), self.heads]

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
        """The parameters that a task has for itself: its head's."""
        return list(self.heads[task].parameters())

    def several(self, tasks: Sequence[str], inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        """What the heads of several tasks say of the same rows; the encoder reads these once."""
        features = self.encoder(inputs)
        return {task: self.heads[task](features, inputs.get("spans")) for task in tasks}
