"""Is it as fast as another commit?  Updates per second of the same plans, with both trees by turns.

    python benchmarks/against.py                     # against HEAD: a plan of the demo
    python benchmarks/against.py main~9 --data DIR   # another commit, and minilm on three GLUE tasks as well
    python benchmarks/against.py HEAD --pairs 9

Each pair is one run with the other commit and one with the working tree, in changing order; the ratio of a pair is free
of what slows the machine down for minutes. The median of the ratios counts.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
DEMO = "--tasks digits --method auto --steps 1500 --eval-every 500 --checkpoint-every 1500 --seed 0"
TEXTS = (
    "--tasks cola,mrpc,rte --model minilm --method auto --steps 30 --eval-every 30 --checkpoint-every 30 --eval-rows 8 "
    "--rows cola=600,mrpc=600,rte=600 --longest 64 --threads 2 --seed 0"
)
LEAST = 0.97


def updates_per_second(source: Path, plan: str, folder: Path) -> float:
    command = [sys.executable, "-m", "rota", "train", *plan.split(), "-q", "--out", str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    subprocess.run(command, check=True, env=environment, capture_output=True, cwd=folder.parent)
    summary = json.loads((folder / "summary.json").read_text())
    return float(summary["steps"] / summary["seconds"])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("base", nargs="?", default="HEAD")
    parser.add_argument("--data", help="folder with glue/; for the plan with texts")
    parser.add_argument("--pairs", type=int, default=9)
    asked = parser.parse_args()
    plans = {"demo": DEMO} | ({"minilm": f"{TEXTS} --data {Path(asked.data).resolve()}"} if asked.data else {})
    broken = 0
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        subprocess.run(
            ["git", "worktree", "add", "--detach", tree, asked.base], cwd=ROOT, check=True, capture_output=True
        )
        try:
            for name, plan in plans.items():
                ratios, speeds = [], []
                for pair in range(asked.pairs + 1):
                    found = {}
                    for which in ("base", "now") if pair % 2 else ("now", "base"):
                        source = (tree if which == "base" else ROOT) / "src"
                        found[which] = updates_per_second(source, plan, Path(folder) / f"{name}-{pair}-{which}")
                    if pair:  # the first one fills caches
                        ratios.append(found["now"] / found["base"])
                        speeds.append(found["now"])
                ratio = statistics.median(ratios)
                verdict = "kept" if ratio >= LEAST else "BROKEN"
                broken += ratio < LEAST
                spread = f"{min(ratios):.3f} – {max(ratios):.3f}"
                print(
                    f"{name}: {statistics.median(speeds):.1f} updates/s, {ratio:.3f} of {asked.base} ({spread}, "
                    f"{len(ratios)} pairs); limit {LEAST}: {verdict}"
                )
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True, capture_output=True)
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
