"""What moves α and the weights of αVIL: steps, learning rate, dev rows, the optimizer of the branches. Prints a table.

python benchmarks/alpha.py --seeds 10 --rounds 8
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from rota.analysis import Spread, spread
from rota.plans import make_plan
from rota.runs import run_plan

TARGET, HARMLESS, NOISE = "left", "right", "noise"
PLAN: dict[str, Any] = {
    **{"tasks": ["digits"], "only": [TARGET, HARMLESS, NOISE], "target": TARGET, "method": "alphavil"},
    **{"rows": {TARGET: 300, HARMLESS: 300, NOISE: 300}, "batch_size": 16, "eval_rows": 100, "device": "cpu"},
    **{"optimizer": "sgd", "lr": 0.1, "weight_decay": 0.0, "warmup": 0.0, "schedule": "constant", "clip": None},
    **{"keep": "logs", "eval_every": 1_000_000},
}
ADAMW = {"optimizer": "adamw", "lr": 5e-3}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "s = 10, lr 0.005, all dev rows, SGD": ({}, {}),
    "s = 1": ({"alpha_steps": 1}, {}),
    "s = 50": ({"alpha_steps": 50}, {}),
    "lr 0.001": ({"alpha_lr": 0.001}, {}),
    "lr 0.05": ({"alpha_lr": 0.05}, {}),
    "16 dev rows a step": ({"alpha_batches": 1}, {"eval_batch_size": 16}),
    "16 dev rows a step, lr 0.05": ({"alpha_batches": 1, "alpha_lr": 0.05}, {"eval_batch_size": 16}),
    "AdamW": ({}, ADAMW),
    "AdamW, lr 0.05": ({"alpha_lr": 0.05}, ADAMW),
    "AdamW, lr 0.05, scaling=delta": ({"alpha_lr": 0.05, "scaling": "delta"}, ADAMW),
}


def measured(options: dict[str, Any], fields: dict[str, Any], seed: int, rounds: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as place:
        plan = make_plan({**PLAN, "options": options, "budget": f"kept-rounds:{rounds}", **fields, "seed": seed})
        run = run_plan(plan, Path(place) / "run", progress=False)
        lines = run.lines("round")
        moves = [abs(value - 1) for line in lines for value in line["alpha"].values()]
        last = lines[-1]["weights"]
        lengths = [line["norm"][NOISE] / line["norm"][TARGET] for line in lines]
        return {
            "α target, first": lines[0]["alpha"][TARGET],
            "α noise, first": lines[0]["alpha"][NOISE],
            "mean of abs(α − 1)": sum(moves) / len(moves),
            f"weight of {TARGET}": last[TARGET] / sum(last.values()),
            f"weight of {NOISE}": last[NOISE] / sum(last.values()),
            "length of δ, noise to target": sum(lengths) / len(lengths),
            "dev accuracy": run.summary["last"]["dev"]["tasks"][TARGET]["score"],
        }


def shorter(fields: dict[str, Any], seed: int) -> float:
    """The length of the first branch of a task whose loss counts a tenth, to its length with the whole loss."""
    lengths = []
    for weight in (1.0, 0.1):
        with tempfile.TemporaryDirectory() as place:
            weighted = {**PLAN, "budget": "kept-rounds:1", "per_task": {NOISE: {"loss_weight": weight}}, **fields}
            run = run_plan(make_plan({**weighted, "seed": seed}), Path(place) / "run", progress=False)
            lengths.append(run.lines("round")[0]["norm"][NOISE])
    return lengths[1] / lengths[0]


def told(found: Spread) -> str:
    low, high = found.interval
    return f"{found.mean:.3f} [{low:.3f}, {high:.3f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--only", default="", help="cases whose names have this in them")
    asked = parser.parse_args()
    for name, fields in (("SGD", {}), ("AdamW", ADAMW)):
        found = spread(shorter(fields, seed) for seed in range(asked.seeds))
        print(
            f"length of δ with a tenth of the weight, {name}: {told(found)} of that with the whole weight", flush=True
        )
    header: list[str] = []
    for name, (options, fields) in CASES.items():
        if asked.only not in name:
            continue
        runs = [measured(options, fields, seed, asked.rounds) for seed in range(asked.seeds)]
        if not header:
            header = list(runs[0])
            print(f"| | {' | '.join(header)} |\n|{'---|' * (len(header) + 1)}", flush=True)
        print(f"| {name} | {' | '.join(told(spread(own[key] for own in runs)) for key in header)} |", flush=True)


if __name__ == "__main__":
    main()
