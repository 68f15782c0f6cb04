"""A policy inside of transformers' Trainer: three sources of handwritten digits, one of which teaches nothing.

    python examples/in_a_trainer.py

`clean` has the right labels, `few` has them for a tenth of the rows, `noise` has random ones. Then the Trainer goes on
from a checkpoint in the middle: the same decisions, the same weights.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import torch
from sklearn.datasets import load_digits
from torch import nn
from transformers import Trainer, TrainingArguments

import rota
import rota.integrations.hf

STEPS = 200
digits = load_digits()
pictures, numbers = torch.tensor(digits.data, dtype=torch.float32) / 16, torch.tensor(digits.target)
random_labels = torch.randint(0, 10, numbers.shape, generator=torch.Generator().manual_seed(0))
SPLITS = {
    "clean": (slice(0, 600), numbers),
    "few": (slice(600, 660), numbers),
    "noise": (slice(660, 1260), random_labels),
}


def rows(part: slice, labels: torch.Tensor) -> list[dict[str, torch.Tensor]]:
    return [{"x": x, "labels": y} for x, y in zip(pictures[part], labels[part], strict=True)]


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 10))

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        logits = self.layers(x)
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


class MyTrainer(rota.integrations.hf.Mixing, Trainer):
    pass


def train(folder: Path, resume: str | None = None) -> tuple[Net, dict[str, float]]:
    """The trained network, and the share that each source has at the end."""
    torch.manual_seed(0)
    net = Net()
    sources = rota.join({name: rows(*split) for name, split in SPLITS.items()})
    sizes = {name: len(own) for name, own in sources.datasets.items()}
    policy = rota.Auto(list(SPLITS), horizon=STEPS, sizes=sizes, every=20)
    args = TrainingArguments(
        str(folder), max_steps=STEPS, per_device_train_batch_size=32, learning_rate=5e-3, save_steps=STEPS // 2,
        report_to="none", use_cpu=True, disable_tqdm=True, logging_steps=STEPS,
    )  # fmt: skip
    trainer = MyTrainer(net, args, train_dataset=sources, policy=policy, log=folder / "log")
    trainer.train(resume_from_checkpoint=resume)
    return net, trainer.mix.shares()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        first, shares = train(Path(folder) / "first")
        again, _ = train(Path(folder) / "first", resume=str(Path(folder) / "first" / f"checkpoint-{STEPS // 2}"))
    same = all(torch.equal(a, b) for a, b in zip(first.parameters(), again.parameters(), strict=True))
    with torch.no_grad():
        logits = first.eval()(pictures[1260:], numbers[1260:])["logits"]
    print(f"{(logits.argmax(1) == numbers[1260:]).float().mean():.0%} of new digits right")
    print("shares at the end:", "  ".join(f"{name} {share:.0%}" for name, share in shares.items()))
    print(f"gone on from the middle, the weights are the same: {same}")


if __name__ == "__main__":
    main()
