"""Ten thousand sources: what a decision costs, how large a state is, how much a step logs, how long a report takes.

    python benchmarks/many_sources.py

Times are those of this process's own work (CPU seconds), so that a busy machine does not spoil them; of writing a
state, those of the thread that writes, since plans are made in another one, without the garbage of earlier steps.
"""

from __future__ import annotations

import gc
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from rota import Mix
from rota.feedback import Choice
from rota.policies import Auto, Exp3S, Policy, Thompson, Tracking
from rota.report import write_report
from rota.runlog import LOG, RUN, SCHEMA, SUMMARY, Ledger, LogWriter, find_runs, step_line, write_json

SOURCES, STEPS = 10_000, 12_000
NAMES = [f"source-{k:05d}" for k in range(SOURCES)]
SIZES = {name: 500.0 + k for k, name in enumerate(NAMES)}
POLICIES: dict[str, tuple[Callable[[], Policy], int, float, float]] = {
    # How it is made, for how many steps, limits of the mean and of the slowest step in ms.
    "Auto": (lambda: Auto(NAMES, horizon=2 * STEPS, sizes=SIZES), STEPS, 1.0, 20.0),
    "Auto, in groups": (
        lambda: Auto(NAMES, horizon=2 * STEPS, sizes=SIZES, groups={name: name[-2:] for name in NAMES}),
        STEPS,
        1.0,
        20.0,
    ),
    "Exp3S": (lambda: Exp3S(NAMES), 3000, 0.15, 20.0),
    "Thompson": (lambda: Thompson(NAMES), 500, 5.0, 20.0),
    "Tracking": (lambda: Tracking(NAMES), 3000, 0.15, 20.0),
}
LONG, LOTS = (100_000, 1, 5.0), (3000, 200, 10.0)  # steps, runs, seconds

exceeded: list[str] = []


def told(what: str, value: float, limit: float, unit: str) -> None:
    print(f"{what:44s} {value:10.3f} {unit:10s} limit {limit:g}{'' if value <= limit else '   EXCEEDED'}", flush=True)
    if value > limit:
        exceeded.append(what)


def decisions(name: str) -> None:
    make, steps, mean, slowest = POLICIES[name]
    policy, rng, losses = make(), np.random.default_rng(0), np.random.default_rng(1).random(steps).tolist()
    times = []
    for step in range(steps):
        start = time.process_time()
        policy.observe(policy.choose(step, rng).scored(1 / (1 + step / steps) + 0.1 * losses[step]))
        times.append(time.process_time() - start)
    told(f"{name}: mean step", 1e3 * float(np.mean(times)), mean, "ms")
    told(f"{name}: slowest step", 1e3 * max(times), slowest, "ms")
    gc.collect()
    start = time.thread_time()
    text = json.dumps(policy.state_dict())
    told(f"{name}: writing its state", time.thread_time() - start, 0.1, "s")
    told(f"{name}: its state", len(text) / 1e6, 2.0, "MB")
    again = make()
    again.load_state_dict(json.loads(text))
    assert np.array_equal(again.probabilities(steps), policy.probabilities(steps))


def mixing(folder: Path) -> None:
    mix = Mix({name: range(1000) for name in NAMES}, Auto(NAMES, horizon=2 * STEPS), epoch=STEPS, log=folder)
    start = time.process_time()
    for step, _ in zip(range(3000), mix, strict=False):
        mix.tell(1 / (1 + step / STEPS))
    told("Mix of Auto: mean step", 1e3 * (time.process_time() - start) / 3000, 2.0, "ms")
    gc.collect()
    start = time.thread_time()
    state = json.dumps(mix.state_dict())
    told("Mix of Auto: writing its state", time.thread_time() - start, 0.1, "s")
    told("Mix of Auto: its state", len(state) / 1e6, 2.0, "MB")
    mix.close()
    size = (folder / LOG).stat().st_size / 3000 - len(NAMES[0])
    told("log of a step, 32 rows, without the name", size, 160, "bytes")


def write_runs(place: Path, steps: int, count: int) -> None:
    """Runs as `fit` writes them, with made-up numbers: eight tasks, twenty evaluations."""
    tasks = NAMES[:8]
    even = dict.fromkeys(tasks, 1 / len(tasks))
    for number in range(count):
        rng, folder = np.random.default_rng(number), place / f"{number}"
        folder.mkdir(parents=True)
        plan = {"steps": steps, "seed": number // 4, "method": ("uniform", "auto", "exp3s", "union")[number % 4]}
        described = {task: {"kind": "x", "unit": 1.0, "rows": {"train": 20_000, "dev": 500}} for task in tasks}
        surroundings = {"policy": "Fixed", "device": "cpu", "versions": {"rota": "made up"}, "mixture": even}
        plan |= {"tasks": ["made up"], "options": {}, "batch_size": 32}
        info = {"schema": SCHEMA, "id": str(number), "plan": plan, "tasks": described}
        write_json(folder / RUN, {**info, **surroundings})
        log, used = LogWriter(folder / LOG), dict.fromkeys(tasks, 0)
        scores: dict[str, object] = {}
        for step in range(steps + 1):
            if step % (steps // 20) == 0:
                found = {
                    task: {"loss": 1.0, "score": step / steps + 0.1 * rng.random(), "metrics": {}, "n": 500}
                    for task in tasks
                }
                scores = {"split": "dev", "average": 0.5, "loss": 1.0, "tasks": found}
                log.write({"kind": "eval", "step": step, **scores, "mixture": even})
            if step < steps:
                task = tasks[rng.integers(len(tasks))]
                part = {"task": task, "weight": 1.0, "n": 32, "rows": [used[task], used[task] + 32]}
                used[task] += 32
                log.write(step_line(step, Choice(task, 0.125, step), [part], [float(rng.random())], [None]))
        log.close()
        best = {"step": steps, "rule": "score", "dev": scores, "test": {**scores, "split": "test"}}
        summary = {"steps": steps, "stopped": "budget", "best": best, "last": {"dev": scores}, "skipped": 0}
        cost = Ledger(steps, 32 * steps).as_dict()
        write_json(folder / SUMMARY, {**summary, "updates": used, "cost": cost, "seconds": 1.0})


def reports(place: Path) -> None:
    for name, (steps, count, limit) in {"long": LONG, "lots": LOTS}.items():
        write_runs(place / name, steps, count)
        start = time.process_time()
        write_report(find_runs([place / name]), place / f"{name}.html")
        told(f"report of {count} run(s) of {steps:,} steps", time.process_time() - start, limit, "s")


def main() -> int:
    for name in POLICIES:
        decisions(name)
    with tempfile.TemporaryDirectory() as place:
        mixing(Path(place) / "mix")
        reports(Path(place))
    print(f"{len(exceeded)} limits exceeded" if exceeded else "all within their limits")
    return len(exceeded)


if __name__ == "__main__":
    sys.exit(main())
