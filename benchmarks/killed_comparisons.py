"""Is a comparison that was killed again and again the comparison that was never stopped?

    python benchmarks/killed_comparisons.py              # ten kills of each kind
    python benchmarks/killed_comparisons.py --kills 3 --seed 1
    python benchmarks/killed_comparisons.py --data DIR [--encoder minilm] --kills 1      # the same on a GPU

Runs of a comparison share processes: small picture models train in one pass ("stack"), others take turns ("side by
side"); on a GPU encoders of texts train in one pass, others on streams. The whole comparison is killed at random
moments and begun again after each kill; in the end every run must have the log and the weights, to the byte, of a
comparison that nobody touched. Exits with 1 on any difference.
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

COMMON = "--methods exp3s,auto --keep all --checkpoint-every 20 --eval-every 50"
SMALL = f"{COMMON} --seeds 0,1 --device cpu --jobs 2"
ON_CPU = {
    "stack": f"{SMALL} --tasks digits --steps 600",
    "side by side": f"{SMALL} --tasks toytext --steps 300 --batch-size 8",
}


def on_gpu(data: Path, encoder: str) -> dict[str, str]:
    few = "--seeds 0 --tasks rte,mrpc,cola --steps 100 --eval-rows 100"
    texts = f"{COMMON} {few} --data {data} --model {encoder} --jobs 1"
    return {"stack on a GPU": texts, "streams": f"{texts} --engine graph"}


def begin(flags: str, folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "rota", "compare", *flags.split(), "--out", str(folder)]
    with Path(f"{folder}.said").open("ab") as said:
        return subprocess.Popen(command, stdout=said, stderr=said, start_new_session=True)


def finish(flags: str, folder: Path) -> None:
    if code := begin(flags, folder).wait():
        said = Path(f"{folder}.said").read_text()[-2000:]
        raise SystemExit(f"rota compare {flags}: exit code {code}: {said}")


def written(folder: Path) -> dict[str, bytes]:
    """The log and the last weights of each run."""
    weights = {run: sorted((run / "checkpoints").glob("step-*"))[-1] for run in folder.iterdir() if run.is_dir()}
    files = [*folder.glob(f"*/{LOG}"), *(last / "model.safetensors" for last in weights.values())]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def log_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob(f"*/{LOG}"))


def kill(flags: str, folder: Path, more: float) -> bool:
    """Go on, and kill all processes when the logs have grown by so many bytes; False if it ended before."""
    enough = log_bytes(folder) + more
    process = begin(flags, folder)
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
    parser.add_argument("--data", type=Path, help="folder with glue/: texts, on a GPU")
    parser.add_argument("--encoder", default="minilm", help="minilm, or a folder with it")
    asked = parser.parse_args()
    rng, wrong = random.Random(asked.seed), 0
    with tempfile.TemporaryDirectory() as place:
        for kind, flags in (ON_CPU if asked.data is None else on_gpu(asked.data, asked.encoder)).items():
            whole = Path(place) / f"{kind} whole"
            finish(flags, whole)
            expected, size = written(whole), log_bytes(whole)
            kills = rounds = 0
            while kills < asked.kills:
                folder = Path(place) / f"{kind} {rounds}"
                alive = True
                while kills < asked.kills and alive:
                    alive = kill(flags, folder, rng.uniform(0, 0.4) * size)
                    kills += alive
                finish(flags, folder)
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
