"""Your own model and rows, trained by `rota.fit`: logged, resumable, with a report.

    python examples/own_model.py

Run it twice: the second time it finds the finished run. Kill it in between: it goes on where it was.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from torch import Tensor, nn

import rota
from rota.settings import Settings
from rota.tasks import Classification, Regression, Task, TensorRows


class TwoHeads(nn.Module):
    """Any module that answers `model(task, inputs)` will do."""

    def __init__(self) -> None:
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(4, 32), nn.ReLU())
        self.heads = nn.ModuleDict({"sign": nn.Linear(32, 2), "sum": nn.Linear(32, 1)})

    def forward(self, task: str, inputs: dict[str, Tensor]) -> Tensor:
        answers: Tensor = self.heads[task](self.shared(inputs["x"]))
        return answers


def rows(task: str, count: int, seed: int) -> TensorRows:
    x = torch.randn(count, 4, generator=torch.Generator().manual_seed(seed))
    labels = (x[:, 0] * x[:, 1] > 0).long() if task == "sign" else x.sum(1)
    return TensorRows({"x": x}, labels)


def main(folder: Path) -> None:
    tasks = [
        Task("sign", Classification(2), {"train": rows("sign", 600, 1), "dev": rows("sign", 200, 2)}),
        Task("sum", Regression(), {"train": rows("sum", 150, 3), "dev": rows("sum", 200, 4)}, auxiliary=True),
    ]
    policy = rota.Tempered({task.name: task.size() for task in tasks}, power=0.5)
    torch.manual_seed(0)
    settings = Settings(steps=300, lr=1e-2)
    run = rota.fit(TwoHeads(), tasks, policy, folder, settings, resume=(folder / "run.json").exists())
    print(f"sign: {run.summary['best']['dev']['average']:.1%} right. See more with: rota report {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "runs/own-model"))
