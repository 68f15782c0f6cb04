"""Your own model, your own loop: only the question "which task next?" is asked of rota.

    python examples/plain_loop.py

Three small regression tasks share a layer; one of them is soon learned. Exp3.S hears how much each update lowered the
loss of its own batch, and the loop can be stopped and resumed because everything that decides is in one JSON file.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn

import rota


@dataclass(frozen=True)
class Args:
    steps: int = 400
    batch_size: int = 16
    lr: float = 0.05
    eta: float = 0.05  # step size of the bandit; larger than the paper's, because the run is short
    seed: int = 0


def make_data() -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    """Three tasks on the same kind of input, from easy to hard."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(300, 8, generator=generator)
    direction = torch.randn(8, generator=generator)
    return {
        "easy": (x, x[:, 0]),
        "slope": (x, x @ direction),
        "bend": (x, (x @ direction).abs()),
    }


class Model(nn.Module):
    """A shared layer and one head per task. Nothing of it knows rota."""

    def __init__(self, tasks: list[str]) -> None:
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(8, 32), nn.ReLU())
        self.heads = nn.ModuleDict({task: nn.Linear(32, 1) for task in tasks})

    def loss(self, task: str, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return nn.functional.mse_loss(self.heads[task](self.shared(x)).squeeze(-1), y)


def main(args: Args) -> None:
    data = make_data()
    torch.manual_seed(args.seed)
    model = Model(list(data))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    rng = np.random.default_rng(args.seed)

    policy = rota.Exp3S(list(data), eta=args.eta)
    counts = dict.fromkeys(data, 0)
    for step in range(args.steps):
        choice = policy.choose(step, rng)

        x, y = data[choice.task]
        rows = torch.from_numpy(rng.integers(len(x), size=args.batch_size))
        loss = model.loss(choice.task, x[rows], y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            after = model.loss(choice.task, x[rows], y[rows])

        policy.observe(choice.scored((loss - after).item()))
        counts[choice.task] += 1

    shares = dict(zip(policy.tasks, policy.probabilities(args.steps), strict=True))
    for task, share in shares.items():
        final = model.loss(task, *data[task]).item()
        print(f"{task:6} {counts[task]:4} updates, loss {final:.3f}, next with p = {share:.2f}")

    # Stop here, go on tomorrow: the policy's memory and the generator are plain JSON.
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "policy.json"
        file.write_text(json.dumps({"policy": policy.state_dict(), "rng": rng.bit_generator.state}))
        saved = json.loads(file.read_text())
    tomorrow, generator = rota.Exp3S(list(data), eta=args.eta), np.random.default_rng()
    tomorrow.load_state_dict(saved["policy"])
    generator.bit_generator.state = saved["rng"]
    assert tomorrow.choose(args.steps, generator) == policy.choose(args.steps, rng)
    print("resumed: the same next choice")


if __name__ == "__main__":
    main(Args())
