"""Learn a better mixture from your own log: train once, ask what others would have earned, train with the best.

    python examples/better_mixture.py

Four tasks share a network; two are learned at once, one is hard, one cannot be learned well. The first training draws
them alike and writes down what it drew, how likely that was, and what came of it. That is all that is needed.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

import rota
from rota.offpolicy import Visit, best_mixture, improving, value

TASKS = ["sum", "first", "wave", "dice"]
Log = tuple[list[str], list[float], list[float]]


def answers(task: str, x: Tensor, generator: torch.Generator) -> Tensor:
    return {
        "sum": (x.sum(1) > 0).long(),
        "first": (x[:, 0] > 0).long(),
        "wave": (torch.sin(3 * x[:, 0]) * torch.sin(3 * x[:, 1]) > 0).long(),
        "dice": torch.randint(2, (len(x),), generator=generator),
    }[task]


def train(policy: rota.Policy, seed: int, steps: int = 1500) -> tuple[float, Log]:
    """The mean accuracy on new rows, and what was decided: tasks, probabilities, rewards."""
    torch.manual_seed(seed)
    generator, rng = torch.Generator().manual_seed(seed), np.random.default_rng(seed)
    shared = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
    model = nn.ModuleDict({"shared": shared, **{task: nn.Linear(64, 2) for task in TASKS}})
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    tasks: list[str] = []
    probabilities: list[float] = []
    rewards: list[float] = []
    last: dict[str, float] = {}
    for step in range(steps):
        choice = policy.choose(step, rng)
        x = torch.randn(32, 2, generator=generator)
        y = answers(choice.task, x, generator)
        loss = nn.functional.cross_entropy(model[choice.task](shared(x)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        worth = improving(Visit(loss.item(), None, last.get(choice.task)))
        last[choice.task] = loss.item()
        if worth is not None:  # a first visit has nothing to be compared with
            tasks.append(choice.task)
            probabilities.append(choice.probability)
            rewards.append(worth)
    x = torch.randn(4000, 2, generator=generator)
    with torch.no_grad():
        right = [(model[t](shared(x)).argmax(1) == answers(t, x, generator)).float().mean().item() for t in TASKS[:3]]
    return sum(right) / len(right), (tasks, probabilities, rewards)


def main() -> None:
    before, log = train(rota.uniform(TASKS), seed=0)
    found = best_mixture(log, steps=1500)
    for name, mixture in {"uniform": dict.fromkeys(TASKS, 1.0), "found": found.mixture}.items():
        estimate = value(log, mixture)
        shares = "  ".join(f"{task} {share / sum(mixture.values()):.2f}" for task, share in mixture.items())
        print(f"{name:8} {shares}   estimated reward {estimate.value:.3f} ± {estimate.stderr:.3f}")
    after, _ = train(found, seed=1)
    again, _ = train(rota.uniform(TASKS), seed=1)
    print(f"accuracy without dice: uniform {before:.3f} and {again:.3f}, found {after:.3f}")


if __name__ == "__main__":
    main()
