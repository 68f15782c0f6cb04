"""How long does it take to pick a batch?  `batchbald` next to `batchbald-redux` and `baal`, and do they pick the same?

python benchmarks/batchbald.py [threads]

All get the same number of joint samples, and one thread by default: what is compared is work, not how threads get along
with whatever else the machine does. `batchbald-redux` calls `gc.collect` all the time, which is most of what it takes,
so it is timed a second time without; that is the fair one of both.
"""

from __future__ import annotations

import gc
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any
from unittest import mock

os.environ["TQDM_DISABLE"] = "1"  # the progress bars of batchbald-redux

import numpy as np
import torch
from threadpoolctl import threadpool_limits
from torch import Tensor

from rota.signals import batchbald

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from baal.active.heuristics import BatchBALD
        from batchbald_redux.batchbald import get_batchbald_batch
except ImportError as missing:
    print(f"Nothing to compare with ({missing}). To install it, best in a virtual environment of its own with rota:")
    print("  pip install --no-deps baal==2.1.0 batchbald-redux==2.0.5 toma structlog pillow torchmetrics")
    sys.exit(0)

PROBLEMS = ((320, 10, 3, 8), (1000, 10, 3, 10))
SAMPLES = 10_000
QUICK, SLOW = 7, 3  # rounds
KINDS: dict[str, Callable[[int, int, int, torch.Generator], Tensor]] = {
    "passes on their own, N(0, 1)": lambda N, K, C, g: normal(N, K, C, g),
    "passes around a mean, N(0, 1) + 0.3 N(0, 1)": lambda N, K, C, g: normal(N, 1, C, g) + 0.3 * normal(N, K, C, g),
}


def normal(N: int, K: int, C: int, generator: torch.Generator) -> Tensor:
    return torch.randn(N, K, C, dtype=torch.float64, generator=generator)


def redux(p: Tensor, size: int) -> list[int]:
    return list(get_batchbald_batch(p.log(), size, SAMPLES, dtype=torch.float64).indices)


def redux_without_gc(p: Tensor, size: int) -> list[int]:
    with mock.patch.object(gc, "collect", return_value=0):
        return redux(p, size)


def baal(p: Tensor, size: int) -> list[int]:
    """Its picks in the order of their scores, which is nearly the order in which it picked. It begins with a pick by
    BALD and makes `num_samples` more."""
    scores = BatchBALD(size - 1, num_draw=SAMPLES // p.shape[1]).compute_score(p.transpose(1, 2).numpy())
    picks = np.flatnonzero(scores)
    return [int(k) for k in picks[np.argsort(scores[picks])]]


CONTENDERS: dict[str, tuple[Callable[[Tensor, int], list[int]], int]] = {
    "rota": (lambda p, size: batchbald(p, size, SAMPLES).indices, QUICK),
    "batchbald-redux, no gc": (redux_without_gc, QUICK),
    "batchbald-redux": (redux, SLOW),
    "baal": (baal, SLOW),
}


def compare(p: Tensor, size: int) -> None:
    seconds: dict[str, list[float]] = {name: [] for name in CONTENDERS}
    picks: dict[str, Any] = {}
    torch.manual_seed(0)
    batchbald(p, size, SAMPLES)  # whatever happens only once
    for turn in range(QUICK):
        for name, (act, rounds) in CONTENDERS.items():
            if turn < rounds:
                start = time.perf_counter()
                picks[name] = act(p, size)
                seconds[name].append(time.perf_counter() - start)
    ours, C = picks["rota"], p.shape[2]
    exact = sum(C**count <= SAMPLES for count in range(size))
    base = statistics.median(seconds["rota"])
    for name, times in seconds.items():
        ratios = [one / own for one, own in zip(times, seconds["rota"], strict=False)]
        said = "in order" if picks[name][:exact] == ours[:exact] else f"{len({*picks[name]} & {*ours})} of {size}"
        print(
            f"  {name:24}{1e3 * statistics.median(times):10.1f} ms ({1e3 * min(times):.1f}–{1e3 * max(times):.1f})"
            f"{statistics.median(times) / base:9.1f}x (rounds {min(ratios):.1f}–{max(ratios):.1f})"
            f"   same picks: {said}"
        )


def main() -> None:
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    torch.set_num_threads(threads)
    print(f"threads: {threads}; joint samples: {SAMPLES:,}; medians (least–most); 'in order': all picks that are exact")
    with threadpool_limits(threads):
        for kind, logits in KINDS.items():
            for N, K, C, size in PROBLEMS:
                print(f"\nN = {N}, K = {K}, C = {C}, {size} picks; {kind}")
                compare(logits(N, K, C, torch.Generator().manual_seed(0)).softmax(-1), size)
    print("\nlimits: 9x against batchbald-redux without gc, 30x against baal")


if __name__ == "__main__":
    main()
