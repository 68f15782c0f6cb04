"""Is a comparison that was killed again and again the comparison that was never stopped?

    python benchmarks/killed_comparisons.py              # ten kills of each kind
    python benchmarks/killed_comparisons.py --kills 3 --seed 1

Runs of a comparison share processes: small picture models train in one pass ("stack"), others take turns ("side by
side"). The whole comparison is killed at random moments and begun again after each kill; in the end every run must have
the log and the weights, to the byte, of a comparison that nobody touched. Exits with 1 on any difference.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rota.runlog import LOG

SMALL = "--seeds 0,1 --device cpu --jobs 2 --keep all --checkpoint-every 20 --eval-every 50"
KINDS = {
    "stack": f"--methods exp3s,auto --tasks digits --steps 600 {SMALL}",
    "side by side": f"--methods exp3s,auto --tasks toytext --steps 300 --batch-size 8 {SMALL}",
}


def begin(kind: str, folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "rota", "compare", *KINDS[kind].split(), "--out", str(folder)]
    with Path(f"{folder}.said").open("ab") as said:
        return subprocess.Popen(command, stdout=said, stderr=said, start_new_session=True)


def finish(kind: str, folder: Path) -> None:
    if code := begin(kind, folder).wait():
        raise SystemExit(f"{kind}: exit code {code}: {Path(f'{folder}.said').read_text()[-2000:]}")


def written(folder: Path) -> dict[str, bytes]:
    """The log and the last weights of each run."""
    weights = {run: sorted((run / "checkpoints").glob("step-*"))[-1] for run in folder.iterdir() if run.is_dir()}
    files = [*folder.glob(f"*/{LOG}"), *(last / "model.safetensors" for last in weights.values())]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def log_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob(f"*/{LOG}"))


def kill(kind: str, folder: Path, more: float) -> bool:
    """Go on, and kill all processes when the logs have grown by so many bytes; False if it ended before."""
    enough = log_bytes(folder) + more
    process = begin(kind, folder)
    while process.poll() is None and log_bytes(folder) < enough:
        time.sleep(0.002)
    if process.poll() is not None:
        return False
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=10, help="of each kind")
    parser.add_argument("--seed", type=int, default=0)
    flags = parser.parse_args()
    rng, wrong = random.Random(flags.seed), 0
    with tempfile.TemporaryDirectory() as place:
        for kind in KINDS:
            whole = Path(place) / f"{kind} whole"
            finish(kind, whole)
            expected, size = written(whole), log_bytes(whole)
            kills = rounds = 0
            while kills < flags.kills:
                folder = Path(place) / f"{kind} {rounds}"
                alive = True
                while kills < flags.kills and alive:
                    alive = kill(kind, folder, rng.uniform(0, 0.4) * size)
                    kills += alive
                finish(kind, folder)
                found = written(folder)
                differ = [name for name in expected if found.get(name) != expected[name]]
                wrong += len(differ)
                rounds += 1
                for name in differ:
                    print(f"{kind}: {name} differs")
            print(f"{kind}: {kills} kills of {rounds} comparisons, {len(expected)} files of each compared", flush=True)
    print(f"{wrong} files differ" if wrong else "all are the same bytes")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
