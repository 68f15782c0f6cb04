"""How much faster is a comparison whose runs train side by side in each process? One comparison both ways, in turn.

    python benchmarks/side_by_side.py [--pairs 3] [--seeds 10] [--steps 600] [--jobs 2]
    python benchmarks/side_by_side.py --data DIR --pairs 1 --steps 2000 --seeds 8 [--apart-seeds 4]    # on a GPU

Five methods on digits, or with `--data` six methods with `minilm` on six GLUE tasks, from the start of the command to
its table, with the same evaluations. `apart` is one run after the other in each process, as comparisons did before
there were stacks: two processes on a CPU, eight on a GPU. With `--apart-seeds` fewer runs are trained apart, and the
time from their beginning is scaled. On a GPU the scores of equal runs are compared, too: they differ by seed noise and
must not differ on average.
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
from typing import Any

from datapath import TASKS
from scipy import stats

from rota.comparisons import ALONE, make_comparison, train_cells
from rota.runlog import RUN, Run
from rota.workers import Processes


def side_by_side(methods: list[str], fields: dict[str, Any], seeds: int, jobs: int | None, out: Path) -> float:
    """Seconds of `rota compare`."""
    began = time.perf_counter()
    flags = [f"--{name}={','.join(own) if name == 'tasks' else own}" for name, own in fields.items()]
    command = [sys.executable, "-m", "rota", "compare", f"--methods={','.join(methods)}", f"--out={out}", *flags]
    which = [f"--seeds={','.join(map(str, range(seeds)))}", *([f"--jobs={jobs}"] if jobs else [])]
    subprocess.run([*command, *which], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def apart(methods: list[str], fields: dict[str, Any], seeds: int, jobs: int, out: Path, of: int) -> float:
    """Seconds that runs one by one in each process take, and their table, for so many seeds."""
    began, clock = time.perf_counter(), time.time()
    comparison = make_comparison({"methods": methods}, fields, seeds=range(seeds))
    out.mkdir()
    for _ in train_cells(comparison.cells, out, Processes(jobs), ALONE):
        pass
    side_by_side(methods, fields, seeds, 1, out)  # all runs are there: this makes the table
    start = min((folder / RUN).stat().st_mtime for folder in folders(out)) - clock
    return start + (time.perf_counter() - began - start) * of / seeds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--apart-seeds", type=int, help="fewer seeds for the runs apart")
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--jobs", type=int, help="processes; default 2 on a CPU, one on a GPU")
    parser.add_argument("--data", type=Path, default=None, help="folder with glue/: texts, on a GPU")
    parser.add_argument("--encoder", default="minilm", help="minilm, or a folder with it")
    asked = parser.parse_args()
    fields: dict[str, Any] = {"steps": asked.steps}
    if asked.data is None:
        methods, jobs = ["exp3s"], asked.jobs or 2
        fields |= {"tasks": ["digits"], "device": "cpu"}
    else:
        methods, jobs = ["exp3s", "auto"], 8  # and the four plain mixtures, which are part of every comparison
        fields |= {"tasks": TASKS, "data": str(asked.data), "model": asked.encoder, "best": "last"}
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for pair in range(asked.pairs):
            outs = {way: Path(folder) / f"{way} {pair}" for way in ("apart", "together")}
            took = {"together": side_by_side(methods, fields, asked.seeds, asked.jobs, outs["together"])}
            print(f"together: {len(folders(outs['together']))} runs, {took['together']:.1f} s", flush=True)
            if asked.data is not None:
                print(f"logs and summaries: {packed(outs['together']) / 2**20:.1f} MiB packed", flush=True)
            seeds = asked.apart_seeds or asked.seeds
            keep = {"keep": "all" if asked.data is None else "best"}  # as it was
            took["apart"] = apart(methods, {**fields, **keep}, seeds, jobs, outs["apart"], asked.seeds)
            ratios.append(took["apart"] / took["together"])
            print(f"apart: {len(folders(outs['apart']))} runs, {took['apart']:.1f} s for {asked.seeds} seeds")
            print(f"{1 / ratios[-1]:.2f} of the time, {ratios[-1]:.2f}×", flush=True)
            if asked.data is not None:
                compare_scores(outs)
    print(f"median {statistics.median(ratios):.2f}× ({min(ratios):.2f}–{max(ratios):.2f})")


def compare_scores(outs: dict[str, Path]) -> None:
    """The average score of each method: runs apart minus the same runs side by side."""
    scores = {way: {run.name: score_of(Run(run)) for run in folders(out)} for way, out in outs.items()}
    differences: dict[str, list[float]] = {}
    for name, score in scores["apart"].items():
        method = name.rpartition("-")[0]
        differences.setdefault(method, []).append(100 * (score - scores["together"][name]))
    differences["all"] = [one for own in differences.values() for one in own]
    for method, own in differences.items():
        middle = statistics.mean(own)
        half = stats.t.ppf(0.975, len(own) - 1) * statistics.stdev(own) / len(own) ** 0.5
        interval = f"[{middle - half:.2f}, {middle + half:.2f}]"
        print(f"  {method}: apart − together {middle:+.2f} {interval}, n = {len(own)}")


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
