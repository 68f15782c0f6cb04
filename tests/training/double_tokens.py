"""A training on tokens in double precision, started by `test_tokens_distributed.py` in one process and in two."""

from __future__ import annotations

import sys

import numpy as np
import torch
from torch import nn

from rota.policies import Exp3S
from rota.settings import Settings
from rota.signals import prediction_gain
from rota.streams import JointStream, TaskStream
from rota.tasks import IGNORED, Causal, Task, TensorRows
from rota.training import fit

WORDS = 11


class Bigrams(nn.Module):
    """The next token from the last one alone."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.table = nn.Embedding(WORDS, WORDS, dtype=torch.float64)

    def forward(self, task: str, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        return self.table(inputs["tokens"])


def rows_of(count: int, seed: int) -> TensorRows:
    """Rows with one token to learn, and rows with many."""
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(WORDS, (count, 20), generator=generator)
    lengths = torch.randint(1, 19, (count,), generator=generator)
    labels = torch.full_like(tokens, IGNORED)
    for row, length in enumerate(lengths.tolist()):
        labels[row, :length] = tokens[row, 1 : length + 1]
    return TensorRows({"tokens": tokens}, labels, side={"tokens": np.array(lengths)})


def main(folder: str, stream: str, batch_size: str) -> None:
    """Train with AdamW; the last batch of a pass is odd."""
    tasks = [
        Task(name, Causal(WORDS), {"train": rows_of(21, seed), "dev": rows_of(9, seed + 5)})
        for seed, name in enumerate(("one", "other"))
    ]
    settings = Settings(steps=20, batch_size=int(batch_size), eval_every=10, checkpoint_every=5, device="cpu")
    kind = {"task": TaskStream, "joint": JointStream}[stream]
    policy = Exp3S(["one", "other"], eta=0.1)
    fit(Bigrams(), tasks, policy, folder, settings, stream=kind, listen=prediction_gain, progress=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
