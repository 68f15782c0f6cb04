"""Your own model, your own loop: only the question "which task next?" is asked of rota.

    python examples/plain_loop.py

Three small regression tasks share a layer; one of them is soon learned. Exp3.S hears how much each update lowered the
loss of its own batch, and the loop can be stopped and resumed because everything that decides is plain JSON.
"""

from __future__ import annotations

import json

import numpy as np
import torch
from torch import nn

import rota

STEPS, SEED = 400, 0
ETA = 0.05  # step size of the bandit; larger than the paper's, because the run is short


def make_data() -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    """Three tasks on the same kind of input, from easy to hard."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(300, 8, generator=generator)
    direction = torch.randn(8, generator=generator)
    return {"easy": (x, x[:, 0]), "slope": (x, x @ direction), "bend": (x, (x @ direction).abs())}


class Model(nn.Module):
    """A shared layer and one head per task. Nothing of it knows rota."""

    def __init__(self, tasks: list[str]) -> None:
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(8, 32), nn.ReLU())
        self.heads = nn.ModuleDict({task: nn.Linear(32, 1) for task in tasks})

    def loss(self, task: str, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return nn.functional.mse_loss(self.heads[task](self.shared(x)).squeeze(-1), y)


def main() -> None:
    data = make_data()
    torch.manual_seed(SEED)
    model = Model(list(data))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    rng = np.random.default_rng(SEED)

    policy = rota.Exp3S(list(data), eta=ETA)
    counts = dict.fromkeys(data, 0)
    for step in range(STEPS):
        choice = policy.choose(step, rng)
        x, y = data[choice.task]
        rows = torch.from_numpy(rng.integers(len(x), size=16))
        loss = model.loss(choice.task, x[rows], y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            after = model.loss(choice.task, x[rows], y[rows])
        policy.observe(choice.scored((loss - after).item()))
        counts[choice.task] += 1

    for task, share in policy.shares(STEPS).items():
        final = model.loss(task, *data[task]).item()
        print(f"{task:6} {counts[task]:4} updates, loss {final:.3f}, next with p = {share:.2f}")

    # Stop here, go on tomorrow: write the policy's memory and the generator to a file, and read them back.
    saved = json.loads(json.dumps({"policy": policy.state_dict(), "rng": rng.bit_generator.state}))
    tomorrow, generator = rota.Exp3S(list(data), eta=ETA), np.random.default_rng()
    tomorrow.load_state_dict(saved["policy"])
    generator.bit_generator.state = saved["rng"]
    assert tomorrow.choose(STEPS, generator) == policy.choose(STEPS, rng)
    print("resumed: the same next choice")


if __name__ == "__main__":
    main()
