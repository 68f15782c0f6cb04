"""What do gains cost, and do they say the same?  `prediction_gain` (a second forward pass) next to `visit_gain` (none).

python benchmarks/gains.py
"""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

import numpy as np

from rota.data import load_tasks
from rota.models import MultiTaskModel, encoder_for
from rota.plans import make_plan
from rota.policies import uniform
from rota.runlog import Run
from rota.runs import run_plan
from rota.settings import Settings
from rota.signals import prediction_gain
from rota.training import fit

ROUNDS, STEPS, LONG, BLOCK = 3, 300, 3000, 20
METHODS = ("uniform", "exp3s-visits", "exp3s")


def costs(folder: Path) -> None:
    """Seconds and forward passes of each method, in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in METHODS}
    passes = {}
    for turn in range(ROUNDS):
        for name in METHODS:
            plan = make_plan({"tasks": ["digits"], "method": name, "steps": STEPS, "eval_every": STEPS})
            summary = run_plan(plan, folder / f"{name}-{turn}", progress=False).summary
            seconds[name].append(summary["seconds"])
            passes[name] = summary["cost"]["forward_equivalents"]
    print(f"digits, {STEPS} updates, {ROUNDS} rounds in turn: against uniform")
    for name in METHODS:
        ratios = [own / base for own, base in zip(seconds[name], seconds["uniform"], strict=True)]
        spread = f"{min(ratios):.2f}–{max(ratios):.2f}"
        print(f"  {name:13} time {statistics.median(ratios):.2f}x ({spread})", end="  ")
        print(f"forward passes {passes[name] / passes['uniform']:.2f}x")


def correlations(folder: Path) -> None:
    """How both gains go together: a uniform run logs the prediction gain, and its losses give the other one, which is
    heard a visit later."""
    tasks = load_tasks(["digits"])
    model = MultiTaskModel(encoder_for(tasks, "auto"), tasks)
    settings = Settings(steps=LONG, eval_every=LONG)
    names = [task.name for task in tasks]
    fit(model, tasks, uniform(names), folder, settings, listen=prediction_gain, progress=False)
    lines = Run(folder).lines("step")
    print(f"\ncorrelation of prediction_gain with visit_gain, {LONG} updates of a uniform run")
    print(f"  {'task':8} {'same visit':>14} {'visit before':>14} {f'means of {BLOCK}':>14}")
    for name in names:
        own = [line for line in lines if line["task"] == name]
        predicted = np.array([line["value"] for line in own[1:]])
        visited = -np.diff([line["loss"] for line in own])
        blocks = len(predicted) // BLOCK * BLOCK
        means = [gains[:blocks].reshape(-1, BLOCK).mean(axis=1) for gains in (predicted, visited)]
        pairs = ((predicted, visited), (predicted[:-1], visited[1:]), means)
        print(f"  {name:8}", *(f"{np.corrcoef(*pair)[0, 1]:14.2f}" for pair in pairs))


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        costs(Path(place))
        correlations(Path(place) / "long")


if __name__ == "__main__":
    main()
