"""Conditional alignment: each task moves the embeddings before the first layer reads them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from rota.models.camtl._film import FiLM, modulated, of_rows, of_tokens


class FilmAlignment(nn.Module):
    """(1 + γ(z)) ⊙ E + β(z), what the released code of CA-MTL does."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.film = FiLM(width, width)

    def forward(self, hidden: Tensor, z_T: Tensor, tasks: Sequence[str], rows: Tensor | None) -> Tensor:
        return modulated(hidden, of_tokens(self.film(z_T), rows))


class MatrixAlignment(nn.Module):
    """E (R ⊙ (1 + γ(z))) + β(z), as the paper prints it; R begins as the identity."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.matrix = nn.Parameter(torch.eye(width))
        self.film = FiLM(width, width)

    def forward(self, hidden: Tensor, z_T: Tensor, tasks: Sequence[str], rows: Tensor | None) -> Tensor:
        # Scaling the columns of R is scaling what comes out.
        return modulated(hidden @ self.matrix, of_tokens(self.film(z_T), rows))


class TaskAlignment(nn.Module):
    """E Rₜ with a matrix for each task, without a task's vector: what CA-MTL compares with (Wu et al., 2020)."""

    def __init__(self, width: int, tasks: Sequence[str]) -> None:
        super().__init__()
        self._width = width
        self.matrices = nn.ParameterDict()
        for task in tasks:  # one by one: otherwise torch sorts them
            self.matrices[task] = nn.Parameter(torch.eye(width))

    def add_task(self, task: str) -> None:
        self.matrices[task] = nn.Parameter(torch.eye(self._width, device=next(self.parameters()).device))

    def forward(self, hidden: Tensor, z_T: Tensor, tasks: Sequence[str], rows: Tensor | None) -> Tensor:
        return hidden @ of_rows(torch.stack([self.matrices[task] for task in tasks]), rows)
