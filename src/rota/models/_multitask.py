"""One encoder for all tasks, one head for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from torch import Tensor, nn

from rota.errors import RotaError, unknown_name
from rota.models._features import Encoder, HeadStyle
from rota.models._heads import Head
from rota.tasks import Kind, Task


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
        if task not in self.heads:
            raise unknown_name("task", task, self.heads.keys())
        head = self.heads[task]
        assert isinstance(head, Head)
        if head.kind.sees != "choices":
            return head(self.encoder(inputs), inputs.get("spans"))
        # Each choice is a text of its own: [N, C, L] -> [N·C, L] -> one number each -> [N, C]
        n, choices = next(iter(inputs.values())).shape[:2]
        flat = {name: tensor.flatten(0, 1) for name, tensor in inputs.items()}
        return head(self.encoder(flat)).view(n, choices)

    def only_for(self, task: str) -> list[nn.Parameter]:
        """The parameters that a task has for itself: its head's."""
        return list(self.heads[task].parameters())

    def several(self, tasks: Sequence[str], inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        """What the heads of several tasks say of the same rows; the encoder reads these once."""
        features = self.encoder(inputs)
        return {task: self.heads[task](features, inputs.get("spans")) for task in tasks}
