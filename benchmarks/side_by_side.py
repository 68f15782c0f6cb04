"""How much faster is a comparison whose runs train side by side in each process? One comparison both ways, in turn.

    python benchmarks/side_by_side.py [--pairs 3] [--seeds 10] [--steps 600] [--jobs 2]

Five methods on digits, from the start of the command to its table and page, with the same evaluations. `apart` is one
run after the other in each process (`--engine eager --keep all`, as comparisons did before there were stacks).
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WAYS = {"apart": ["--engine", "eager", "--keep", "all"], "side by side": []}


def seconds(flags: list[str], out: Path) -> float:
    began = time.perf_counter()
    command = [sys.executable, "-m", "rota", "compare", "--methods", "exp3s", "--tasks", "digits", "--out", str(out)]
    subprocess.run([*command, "--device", "cpu", *flags], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    common = ["--seeds", ",".join(map(str, range(asked.seeds))), "--steps", str(asked.steps), "--jobs", str(asked.jobs)]
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for pair in range(asked.pairs):
            took = {
                way: seconds([*common, *flags], Path(folder) / f"{pair}-{number}")
                for number, (way, flags) in enumerate(WAYS.items())
            }
            ratios.append(took["apart"] / took["side by side"])
            print(", ".join(f"{way} {own:.1f} s" for way, own in took.items()), f"→ {ratios[-1]:.2f}×", flush=True)
    print(f"median {statistics.median(ratios):.2f}× ({min(ratios):.2f}–{max(ratios):.2f})")


if __name__ == "__main__":
    main()
