"""Does it cost more to resume a long run?  Seconds from `fit(resume=True)` to the first new step.

python benchmarks/resume.py
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

import torch
from torch import Tensor, nn

from rota.policies import Exp3S
from rota.settings import Settings
from rota.signals import View
from rota.tasks import Classification, Task, TensorRows
from rota.training import fit

STOPS = (500, 5_000, 20_000)
REPEATS = 7


class Stop(Exception):  # noqa: N818
    """Enough: the time to the first new step is known."""


class Linear(nn.Module):
    """As small as a model can be, so that resuming is all one sees."""

    def __init__(self) -> None:
        super().__init__()
        self.heads = nn.ModuleDict({name: nn.Linear(4, 2) for name in "abc"})

    def forward(self, task: str, inputs: dict[str, Tensor]) -> Tensor:
        return self.heads[task](inputs["x"])


def tasks() -> list[Task]:
    data = TensorRows({"x": torch.rand(64, 4, generator=torch.Generator().manual_seed(0))}, torch.arange(64) % 2)
    return [Task(name, Classification(2), {"train": data, "dev": data}) for name in "abc"]


def run_until(folder: Path, stop: int, resume: bool) -> float:
    """Train until `stop`; the time at which the first step of this call was done, from its start."""
    start, first = time.perf_counter(), 0.0

    def signal(view: View) -> Tensor:
        nonlocal first
        first = first or time.perf_counter() - start
        if view.step == stop:
            raise Stop
        return view.loss

    settings = Settings(steps=100_000, batch_size=4, eval_every=100_000, checkpoint_every=500)
    try:
        fit(Linear(), tasks(), Exp3S(list("abc")), folder, settings, listen=signal, resume=resume, progress=False)
    except Stop:
        return first
    raise AssertionError("the run ended before it was stopped")


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "run"
        run_until(folder, 1, resume=False)
        for stop in STOPS:
            run_until(folder, stop, resume=True)
            times = [run_until(folder, stop, resume=True) for _ in range(REPEATS)]
            size = (folder / "log.jsonl").stat().st_size / 1e6
            median = statistics.median(times)
            print(f"stopped at step {stop:6,}, log {size:5.2f} MB: first new step after {median:.3f} s")


if __name__ == "__main__":
    main()
