"""What does a batch of `rota.Mix` cost?  Beside a plain sampler and what other libraries mix with.

    python benchmarks/mix.py

Every line is the median over repeats of microseconds per batch of 32 row numbers; the rows themselves are not fetched,
except where a library has no row numbers to give. What `Mix` takes beyond its policy's own `choose` and `observe` is
its overhead, measured in the same process by turns.
"""

from __future__ import annotations

import itertools
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

import rota
from rota.mixing import Mix
from rota.seeds import generator

BATCH, BATCHES, REPEATS = 32, 2000, 7
LIMITS = {8: 30.0, 10_000: 60.0}


def microseconds(run: Callable[[int], None], batches: int) -> float:
    began = time.perf_counter()
    run(batches)
    return (time.perf_counter() - began) / batches * 1e6


def policy_of(tasks: list[str]) -> rota.Policy:
    return rota.Exp3S(tasks, eta=0.01)


def through_mix(tasks: list[str], rows: int) -> Callable[[int], None]:
    mix = Mix({task: range(rows) for task in tasks}, policy_of(tasks), BATCH, lag=0, epoch=10**9)
    batches = iter(mix)

    def run(count: int) -> None:
        for _ in range(count):
            next(batches)
            mix.tell(0.5)

    return run


def policy_alone(tasks: list[str]) -> Callable[[int], None]:
    policy, rng = policy_of(tasks), generator(0, "choice")

    def run(count: int) -> None:
        for step in range(count):
            policy.observe(policy.choose(step, rng).scored(0.0, "gain"))

    return run


def plain_sampler(rows: int) -> Callable[[int], None]:
    from torch.utils.data import BatchSampler, RandomSampler

    def run(count: int) -> None:
        sampler = BatchSampler(RandomSampler(range(rows), replacement=True, num_samples=BATCH * count), BATCH, False)
        for _ in sampler:
            pass

    return run


def interleaved(tasks: list[str], rows: int) -> Callable[[int], None]:
    import datasets

    own = [datasets.Dataset.from_dict({"x": np.arange(rows)}).to_iterable_dataset() for _ in tasks]
    mixed = datasets.interleave_datasets(own, [1 / len(tasks)] * len(tasks), seed=0, stopping_strategy="all_exhausted")

    def run(count: int) -> None:
        rows = iter(mixed)
        for _ in range(count * BATCH):
            next(rows)

    return run


def nodes(tasks: list[str], rows: int) -> Callable[[int], None]:
    from torchdata.nodes import Batcher, IterableWrapper, Loader, MultiNodeWeightedSampler

    own = {task: IterableWrapper(range(rows)) for task in tasks}
    loader = Loader(
        Batcher(MultiNodeWeightedSampler(own, dict.fromkeys(tasks, 1.0), "CYCLE_UNTIL_ALL_DATASETS_EXHAUSTED"), BATCH)
    )

    def run(count: int) -> None:
        batches = itertools.chain.from_iterable(itertools.repeat(loader))
        for _ in range(count):
            next(batches)

    return run


def main() -> int:
    broken = 0
    for sources, limit in LIMITS.items():
        tasks, rows = [f"source-{k}" for k in range(sources)], 1000
        batches = BATCHES if sources < 1000 else 400
        mix, policy = through_mix(tasks, rows), policy_alone(tasks)
        mix(sources)  # the first batch of each source makes the order of its rows
        pairs = [(microseconds(mix, batches), microseconds(policy, batches)) for _ in range(REPEATS)]
        extra = statistics.median(whole - alone for whole, alone in pairs)
        broken += extra > limit
        print(f"{sources} sources")
        print(f"  rota.Mix with Exp3S          {statistics.median(own for own, _ in pairs):8.1f} µs a batch")
        print(f"  its policy alone             {statistics.median(own for _, own in pairs):8.1f}")
        print(
            f"  Mix beyond that              {extra:8.1f}   limit {limit:.0f}: {'BROKEN' if extra > limit else 'kept'}"
        )
        others = {"torch RandomSampler": plain_sampler(rows)}
        if sources < 1000:  # both take minutes to set up thousands of sources
            others["datasets.interleave_datasets"] = interleaved(tasks, rows)
            try:
                others["torchdata nodes"] = nodes(tasks, rows)
            except ImportError:
                print("  torchdata nodes              not installed")
        for name, run in others.items():
            print(f"  {name:28s} {statistics.median(microseconds(run, 200) for _ in range(3)):8.1f}")
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
