"""How unsure is your own model about each task, and which rows would teach it most?

    python examples/unsure.py

Three tasks: `many` was trained on many rows, `few` on eight, and `dice` has labels by chance. The entropy is largest
for dice, about which nobody can ever be sure. The mutual information of label and model (BALD) is largest where passes
with dropout disagree, which more rows would mend.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

import rota
from rota.signals import bald, batchbald, entropy, mc_dropout

ROWS = {"many": 2000, "few": 8, "dice": 2000}


class Model(nn.Module):
    """Any module with dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.tasks = nn.ModuleDict(
            {task: nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, 2)) for task in ROWS}
        )

    def forward(self, task: str, x: Tensor) -> Tensor:
        logits: Tensor = self.tasks[task](x)
        return logits


def rows(task: str, count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    x = torch.randn(count, 2, generator=generator)
    labels = torch.randint(2, (count,), generator=generator)
    return x, labels if task == "dice" else (x[:, 0] + x[:, 1] > 0).long()


def main() -> None:
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=1e-3)
    data = {task: rows(task, count, generator) for task, count in ROWS.items()}
    for _ in range(150):
        optimizer.zero_grad()
        losses = [nn.functional.cross_entropy(model(task, x), y) for task, (x, y) in data.items()]
        torch.stack(losses).sum().backward()
        optimizer.step()

    policy = rota.Tracking(list(ROWS))
    for task in ROWS:
        x, _ = rows(task, 200, generator)  # new rows; nobody asks for their labels
        with torch.no_grad(), mc_dropout(model):
            p_NKC = torch.stack([model(task, x).softmax(-1) for _ in range(20)], dim=1)
        unsure, disagree = entropy(p_NKC.mean(1)).mean().item(), bald(p_NKC).mean().item()
        policy.observe(rota.Feedback(task, disagree))  # a survey: measured, not chosen
        together = batchbald(p_NKC, size=3).indices
        print(f"{task:5} entropy {unsure:.3f}   bald {disagree:.4f}   label these first: {list(together)}")
    shares = "  ".join(f"{task} {share:.0%}" for task, share in policy.shares(0).items())
    print(f"whose turn, by what the model disagrees about: {shares}")


if __name__ == "__main__":
    main()
