"""Train for the good of one task, in a loop of your own: αVIL, a round at a time.

    python examples/one_target.py

`sign` is what we want. `sum` might help it, and `dice` has nothing to learn: watch their weights.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rota.trials import alpha_vil

TASKS = {"sign": 2, "sum": 2, "dice": 6}
"""The tasks, and how many answers each has."""


def rows(task: str, count: int, seed: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(count, 4, generator=generator)
    answers = {
        "sign": (x[:, 0] * x[:, 1] > 0).long(),
        "sum": (x[:, 0] + x[:, 1] > 0).long(),
        "dice": torch.randint(6, (count,), generator=generator),
    }
    return x, answers[task]


def main() -> None:
    torch.manual_seed(0)
    shared = nn.Sequential(nn.Linear(4, 32), nn.ReLU())
    model = nn.ModuleDict({"shared": shared, **{task: nn.Linear(32, answers) for task, answers in TASKS.items()}})
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    train = {task: rows(task, 400, seed) for seed, task in enumerate(TASKS)}
    dev = rows("sign", 200, seed=100)

    def loss(task: str, x: Tensor, answers: Tensor) -> Tensor:
        return F.cross_entropy(model[task](model["shared"](x)), answers)

    def branch(task: str, weight: float) -> None:
        """One pass over the rows of a task."""
        for x, answers in zip(*(part.split(20) for part in train[task]), strict=True):
            optimizer.zero_grad()
            (weight * loss(task, x, answers)).backward()
            optimizer.step()

    def gradient() -> float:
        """Of the loss that counts: the target's, on rows that nobody trains on."""
        optimizer.zero_grad()
        value = loss("sign", *dev)
        value.backward()
        return value.item()

    branches = {task: lambda weight, task=task: branch(task, weight) for task in TASKS}
    weights: dict[str, float] = {}
    for number in range(20):
        done = alpha_vil(model, optimizer, branches, "sign", gradient, weights, weighting="alignment")
        weights = done["weights"]
        if number % 5 == 4:
            shown = "  ".join(f"{task} {weight / sum(weights.values()):.0%}" for task, weight in weights.items())
            print(f"round {number + 1:2}   dev loss {done['loss']['after']:.3f}   weights {shown}")


if __name__ == "__main__":
    main()
