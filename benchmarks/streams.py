"""How many updates does a GPU do for several runs of one process together, each on a stream of its own?

    python benchmarks/streams.py --data DIR [--steps 1000] [--runs 8] [--model minilm]

Runs with different methods and seeds on six GLUE tasks: one after the other, then side by side. Their logs must be the
same to the byte. Rows have their real lengths; evaluations are part of the time.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import torch

from rota.plans import Plan, make_plan
from rota.runlog import LOG
from rota.runs import run_plan, take_turns

METHODS = ["uniform", "auto", "exp3s", "temperature"]
TASKS = ["rte", "mrpc", "cola", "sst2", "stsb", "wnli"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--model", default="minilm")
    asked = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("skipped: there is no GPU")
    plans = [_plan(METHODS[number % len(METHODS)], number, asked) for number in range(asked.runs)]
    with tempfile.TemporaryDirectory() as folder:
        run_plan(_plan("uniform", 99, asked, steps=20), Path(folder) / "warm", progress=False)
        rates = {}
        for places in (1, 2, 4, asked.runs):
            out = Path(folder) / str(places)
            turns = take_turns(lambda number, out=out: run_plan(plans[number], out / str(number), progress=False))  # type: ignore[misc]
            torch.cuda.reset_peak_memory_stats()
            began = time.perf_counter()
            ended = [event for event in turns.work_through(list(range(asked.runs)), places) if event[0] == "done"]
            seconds = time.perf_counter() - began
            rates[places] = len(ended) * asked.steps / seconds
            same = sum(_log(out, k) == _log(Path(folder) / "1", k) for k in range(asked.runs))
            memory = torch.cuda.max_memory_allocated() / 2**30
            print(
                f"{places} at a time: {rates[places]:6.1f} updates/s in all, {rates[places] / rates[1]:.2f}×; "
                f"{same} of {asked.runs} logs are those of runs alone; {memory:.1f} GiB",
                flush=True,
            )


def _plan(method: str, seed: int, asked: argparse.Namespace, steps: int | None = None) -> Plan:
    fields = {"tasks": TASKS, "data": asked.data, "model": asked.model, "method": method, "seed": seed, "keep": "logs"}
    return make_plan({**fields, "steps": steps or asked.steps, "longest": 64})


def _log(folder: Path, number: int) -> bytes:
    return (folder / str(number) / LOG).read_bytes()


if __name__ == "__main__":
    main()
