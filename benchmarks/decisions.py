"""What does a decision cost?  µs per `choose` + `observe`, next to NumPy's `Generator.choice` and a training step.

python benchmarks/decisions.py
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from rota.plans import make_plan
from rota.policies import Cycle, Exp3S, Hold, Policy, Tempered, Union, WithFloor, proportional, uniform
from rota.runs import run_plan
from rota.schedules import annealed_power

COUNTS = (8, 100, 1000, 10_000)
REPEATS = 7

POLICIES: dict[str, Callable[[dict[str, int]], Policy]] = {
    "uniform": lambda sizes: uniform(list(sizes)),
    "proportional": proportional,
    "Tempered, annealed": lambda sizes: Tempered(sizes, annealed_power(10, 100)),
    "Union": Union,
    "Cycle": Cycle,
    "Exp3S": lambda sizes: Exp3S(list(sizes)),
    "WithFloor(Exp3S)": lambda sizes: WithFloor(Exp3S(list(sizes)), 0.1),
    "Hold(Exp3S, 10)": lambda sizes: Hold(Exp3S(list(sizes)), 10),
}
LEARNS = {"Exp3S", "WithFloor(Exp3S)", "Hold(Exp3S, 10)"}


def microseconds(act: Callable[[int], object], steps: int) -> float:
    """Median over repeats of the time of one call."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        for step in range(steps):
            act(step)
        times.append((time.perf_counter() - start) / steps)
    return 1e6 * statistics.median(times)


def decision(policy: Policy, learns: bool) -> Callable[[int], object]:
    rng = np.random.default_rng(0)
    values = np.random.default_rng(1).normal(size=4096).tolist()

    def act(step: int) -> None:
        choice = policy.choose(step, rng)
        if learns:
            policy.observe(choice.scored(values[step % 4096]))

    for step in range(2000):  # fill the reservoir
        act(step)
    return act


def numpy_choice(count: int) -> Callable[[int], object]:
    rng, p = np.random.default_rng(0), np.full(count, 1 / count)
    return lambda step: rng.choice(count, p=p)


def training_step() -> float:
    """µs per training step of the demo: median over repeats of a long run less a short one, so that evaluations
    at the ends do not count."""
    with tempfile.TemporaryDirectory() as folder:

        def seconds(steps: int, repeat: int) -> float:
            plan = make_plan({"steps": steps, "eval_every": 10_000})
            return run_plan(plan, Path(folder) / f"{steps}-{repeat}", progress=False).summary["seconds"]

        return 1e6 * statistics.median((seconds(500, k) - seconds(100, k)) / 400 for k in range(REPEATS))


def main() -> None:
    step = training_step()
    print(f"one training step of the demo: {step:,.0f} µs\n")
    print(
        f"{'µs per decision':24}"
        + "".join(f"{count:>10,} tasks" for count in COUNTS)
        + f"{'of a step':>12}{'1,000 / 8':>12}"
    )
    rows = {"numpy Generator.choice": [microseconds(numpy_choice(count), 2000) for count in COUNTS]}
    for name, make in POLICIES.items():
        rows[name] = []
        for count in COUNTS:
            sizes = {f"task{k}": 1 + k % 50 for k in range(count)}
            rows[name].append(microseconds(decision(make(sizes), name in LEARNS), max(200, 20_000 // count)))
    for name, row in rows.items():
        print(
            f"{name:24}" + "".join(f"{value:16.1f}" for value in row) + f"{row[0] / step:12.2%}{row[2] / row[0]:11.1f}x"
        )
    plain = max(row[0] for name, row in rows.items() if name in POLICIES and name not in LEARNS)
    growth = max(row[2] / row[0] for name, row in rows.items() if name in POLICIES)
    print(f"\nwithout learning, 8 tasks, dearest: {plain / step:.2%} of a step (limit 1 %)")
    print(f"Exp3S, 8 tasks: {rows['Exp3S'][0] / step:.2%} of a step (limit 3 %)")
    print(f"1,000 tasks over 8, dearest: {growth:.1f}x (limit 5x)")


if __name__ == "__main__":
    main()
