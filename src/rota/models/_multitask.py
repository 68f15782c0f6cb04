"""One encoder for all tasks, one head for each."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from rota.errors import RotaError, unknown_name
from rota.models._features import Encoder
from rota.models._heads import Head
from rota.tasks import Task


class MultiTaskModel(nn.Module):
    """A shared encoder and one head per task.

    Args:
        encoder: What the tasks share.
        tasks: What the heads are for.

    The call `model(task, inputs)` is all that training needs: any module that answers it can be trained.
    """

    def __init__(self, encoder: Encoder, tasks: Sequence[Task]) -> None:
        super().__init__()
        for task in tasks:
            if not task.name or "." in task.name or hasattr(nn.ModuleDict, task.name):
                raise RotaError(f"A head expects a name without dots that torch does not use. Found '{task.name}'.")
        self.encoder = encoder
        self.heads = nn.ModuleDict({task.name: Head(task.kind, encoder.width) for task in tasks})

    def forward(self, task: str, inputs: dict[str, Tensor]) -> Tensor:
        if task not in self.heads:
            raise unknown_name("task", task, self.heads.keys())
        head = self.heads[task]
        assert isinstance(head, Head)
        if head.kind.sees != "choices":
            return head(self.encoder(inputs))
        # Each choice is a text of its own: [N, C, L] -> [N·C, L] -> one number each -> [N, C]
        n, choices = next(iter(inputs.values())).shape[:2]
        flat = {name: tensor.flatten(0, 1) for name, tensor in inputs.items()}
        return head(self.encoder(flat)).view(n, choices)
