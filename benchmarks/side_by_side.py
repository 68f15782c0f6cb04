"""How much faster is a comparison whose runs train side by side in each process? One comparison both ways, in turn.

    python benchmarks/side_by_side.py [--pairs 3] [--seeds 10] [--steps 600] [--jobs 2]
    python benchmarks/side_by_side.py --data DIR --pairs 1 --steps 2000 --seeds 8 [--apart-seeds 4]    # on a GPU

Five methods on digits, or with `--data` six methods with `minilm` on six GLUE tasks, from the start of the command to
its table, with the same evaluations. `apart` is one run after the other in each process, as comparisons did before
there were stacks: `--engine eager --keep all` on a CPU, `--engine graph --keep best --jobs 8` on a GPU. With
`--apart-seeds` fewer runs are trained apart, and their time is scaled. On a GPU the scores of equal runs are compared,
too: they differ by seed noise and must not differ on average.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

from datapath import TASKS
from scipy import stats

from rota.runlog import Run


def seconds(methods: list[str], flags: list[str], out: Path) -> float:
    began = time.perf_counter()
    command = [sys.executable, "-m", "rota", "compare", "--methods", ",".join(methods), "--out", str(out)]
    subprocess.run([*command, *flags], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--apart-seeds", type=int, help="fewer seeds for the runs apart")
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--data", type=Path, default=None, help="folder with glue/: texts, on a GPU")
    parser.add_argument("--encoder", default="minilm", help="minilm, or a folder with it")
    asked = parser.parse_args()
    if asked.data is None:
        methods, own = ["exp3s"], ["--tasks", "digits", "--device", "cpu"]
        ways = {"apart": ["--engine", "eager", "--keep", "all", "--jobs", str(asked.jobs)], "side by side": []}
    else:
        methods = ["exp3s", "auto"]  # and the four plain mixtures, which are part of every comparison
        own = ["--tasks", ",".join(TASKS), "--data", str(asked.data), "--model", asked.encoder, "--best", "last"]
        ways = {"apart": ["--engine", "graph", "--keep", "best", "--jobs", "8"], "side by side": []}
    ways["side by side"] = ["--jobs", str(asked.jobs)]
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for pair in range(asked.pairs):
            took, outs = {}, {}
            for number, (way, flags) in enumerate(ways.items()):
                seeds = asked.apart_seeds or asked.seeds if way == "apart" else asked.seeds
                out = outs[way] = Path(folder) / f"{pair}-{number}"
                which = ["--seeds", ",".join(map(str, range(seeds))), "--steps", str(asked.steps)]
                took[way] = seconds(methods, [*own, *which, *flags], out) * asked.seeds / seeds
                print(f"{way}: {len(folders(out))} runs, {took[way]:.1f} s for {asked.seeds} seeds", flush=True)
            ratios.append(took["apart"] / took["side by side"])
            print(f"{1 / ratios[-1]:.2f} of the time, {ratios[-1]:.2f}×", flush=True)
            if asked.data is not None:
                compare_scores(outs)
                print(f"logs and summaries: {packed(outs['side by side']) / 2**20:.1f} MiB packed", flush=True)
    print(f"median {statistics.median(ratios):.2f}× ({min(ratios):.2f}–{max(ratios):.2f})")


def compare_scores(outs: dict[str, Path]) -> None:
    """The average score of each method: runs apart minus the same runs side by side."""
    scores = {way: {run.name: score_of(Run(run)) for run in folders(out)} for way, out in outs.items()}
    differences: dict[str, list[float]] = {}
    for name, score in scores["apart"].items():
        method = name.rpartition("-")[0]
        differences.setdefault(method, []).append(100 * (score - scores["side by side"][name]))
    differences["all"] = [one for own in differences.values() for one in own]
    for method, own in differences.items():
        middle = statistics.mean(own)
        half = stats.t.ppf(0.975, len(own) - 1) * statistics.stdev(own) / len(own) ** 0.5
        interval = f"[{middle - half:.2f}, {middle + half:.2f}]"
        print(f"  {method}: apart − side by side {middle:+.2f} {interval}, n = {len(own)}")


def folders(out: Path) -> list[Path]:
    return sorted(path.parent for path in out.glob("*/summary.json"))


def score_of(run: Run) -> float:
    return float(run.summary["best"]["dev"]["average"])


def packed(out: Path) -> int:
    """Bytes of a comparison in an archive."""
    with tempfile.NamedTemporaryFile() as file:
        with tarfile.open(file.name, "w:gz") as archive:
            archive.add(out)
        return Path(file.name).stat().st_size


if __name__ == "__main__":
    main()
