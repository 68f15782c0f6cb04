"""Which ratio of tasks helps one task most? A search over whole trainings, with a training function of your own.

    python examples/search_ratio.py

The target has 40 rows. `near` asks nearly the same and has many; `far` asks something else. A Gaussian process tries
ratios of their batches, each by a training, and says what it came to believe. Needs: pip install 'rota[search]'
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn

import rota
from rota.search import search_ratio

ROWS = {"target": 40, "near": 2000, "far": 2000}


def rows(task: str, count: int, seed: int) -> tuple[Tensor, Tensor]:
    x = torch.randn(count, 10, generator=torch.Generator().manual_seed(seed))
    score = {"target": x[:, :5].sum(1), "near": x[:, :5].sum(1) + 0.5 * x[:, 5], "far": x[:, 5:].prod(1)}[task]
    return x, (score > 0).long()


def train(ratio: Mapping[str, float], seed: int, steps: int = 200) -> float:
    """Accuracy of the target on dev rows after a training with this ratio."""
    torch.manual_seed(seed)
    shared = nn.Sequential(nn.Linear(10, 16), nn.ReLU())
    heads = nn.ModuleDict({task: nn.Linear(16, 2) for task in ROWS})
    optimizer = torch.optim.Adam([*shared.parameters(), *heads.parameters()], lr=1e-2)
    data = {task: rows(task, count, number) for number, (task, count) in enumerate(ROWS.items())}
    policy, rng = rota.Cycle(ratio), np.random.default_rng(seed)
    for step in range(steps):
        task = policy.choose(step, rng).task
        x, y = data[task]
        batch = torch.from_numpy(rng.integers(len(x), size=16))
        loss = nn.functional.cross_entropy(heads[task](shared(x[batch])), y[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    x, y = rows("target", 2000, seed=100)
    with torch.no_grad():
        right: Tensor = heads["target"](shared(x)).argmax(1) == y
    return right.float().mean().item()


def main() -> None:
    if importlib.util.find_spec("optuna") is None:
        print("This example needs Optuna: pip install 'rota[search]'")
        return
    found = search_ratio(lambda ratio, seed, report: train(ratio, seed), list(ROWS), trials=15, seeds_per_point=2)
    for trial in found.trials[-3:]:
        print(f"trial {trial.number:2}: {':'.join(map(str, trial.ratio.values())):8} {trial.value:.3f}")
    assert found.ratio is not None
    alone = {"target": 1, "near": 0, "far": 0}
    ratios: dict[str, Mapping[str, float]]
    ratios = {"found": found.ratio, "alone": alone, "alike": dict.fromkeys(ROWS, 1)}
    seeds = range(10, 15)  # by which nothing was chosen
    for name, ratio in ratios.items():
        scores = [train(ratio, seed) for seed in seeds]
        shown = ":".join(map(str, ratio.values()))
        print(f"{name}  {shown:8} {np.mean(scores):.3f} ± {np.std(scores, ddof=1):.3f}")


if __name__ == "__main__":
    main()
