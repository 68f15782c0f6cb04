"""Feature-wise linear modulation: a task's vector scales and shifts features."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

DEVIATION = 0.02  # of first weights, as BERT has it


class Modulation(NamedTuple):
    """What T tasks do to features: x becomes (1 + γ) ⊙ x + β. Shapes [T, width]."""

    gamma: Tensor
    beta: Tensor


class FiLM(nn.Module):
    """One linear layer from a task's vector to the γ and β of its features.

    With weights near zero the modulation is near the identity.

    Args:
        tasks: Numbers in the vector of a task.
        width: Features that are modulated.

    >>> film = FiLM(tasks=4, width=2)
    >>> _ = nn.init.zeros_(film.linear.weight)
    >>> modulation = film(torch.ones(1, 4))
    >>> modulated(torch.tensor([[3.0, 5.0]]), modulation).tolist()
    [[3.0, 5.0]]

    Reference: Pilault, Elhattami & Pal, "Conditionally Adaptive Multi-Task Learning" (CA-MTL), section 2, after
    Perez et al. (2018).

    Where this differs from the paper: it prints γ ⊙ x + β; its released code has 1 + γ, as here.
    """

    def __init__(self, tasks: int, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(tasks, 2 * width)
        nn.init.normal_(self.linear.weight, std=DEVIATION)
        nn.init.zeros_(self.linear.bias)

    def forward(self, z_T: Tensor) -> Modulation:
        return Modulation(*self.linear(z_T).chunk(2, dim=-1))


def modulated(x: Tensor, modulation: Modulation) -> Tensor:
    """(1 + γ) ⊙ x + β, for whatever shapes go together."""
    return torch.addcmul(x + modulation.beta, x, modulation.gamma)


def of_rows(values_T: Tensor, rows: Tensor | None) -> Tensor:
    """What belongs to the task of each row: [T, …] makes [N, …]. Without `rows` there is one task, whose values serve
    all rows: [1, …]."""
    return values_T if rows is None else values_T[rows]


def of_tokens(modulation: Modulation, rows: Tensor | None) -> Modulation:
    """The modulation for tokens [N, L, width] of rows."""
    return Modulation(*(of_rows(values, rows)[:, None] for values in modulation))
