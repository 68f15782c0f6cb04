"""Two processes that write into one folder at once: is anything damaged, and what is the second one told?

    python benchmarks/writers.py              # twenty pairs of each kind
    python benchmarks/writers.py --pairs 2

A pair are two equal commands that begin in the same moment. Afterwards everything in the folder is read: each run is
finished, no half file and no lock is left, and what was trained is to the byte what one process alone trains. The
second one was told who the first one is (exit code 2), or it was served: it shared the work, or came when it was done.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import rota.cli
import rota.runs  # loads torch once, before the processes are forked
from rota.runlog import LOG, RUN, Run

FORK = multiprocessing.get_context("fork")
DIGITS = ["--tasks", "digits", "--steps", "24", "--eval-every", "12", "--checkpoint-every", "6"]
TOLD = "Expected nobody else who writes into"


def rota_main(arguments: list[str], pipe=None, start=None) -> tuple[int, str]:
    """Run a command in this process: its exit code and what it said."""
    said = io.StringIO()
    sys.argv = ["rota", *map(str, arguments)]
    if start is not None:
        start.wait()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            rota.cli.main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(bool(end.code))
        except BaseException as error:
            code = 1
            said.write(f"{type(error).__name__}: {error}")
    if pipe is not None:
        pipe.send((code, said.getvalue()))
    return code, said.getvalue()


def both(arguments: list[str]) -> list[tuple[int, str]]:
    """Two processes that do the same at the same time."""
    start, ends, processes = FORK.Barrier(2), [], []
    for _ in range(2):
        ours, theirs = FORK.Pipe()
        process = FORK.Process(target=rota_main, args=(arguments, theirs, start))
        process.start()
        ends.append(ours)
        processes.append(process)
    found = [end.recv() for end in ends]
    for process in processes:
        process.join()
    return found


def alone(arguments: list[str]) -> None:
    process = FORK.Process(target=rota_main, args=(arguments,))
    process.start()
    process.join()


def killed(arguments: list[str], folder: Path) -> None:
    """Begin a run and kill it when it has written a checkpoint."""
    process = FORK.Process(target=rota_main, args=(arguments,))
    process.start()
    while process.is_alive() and not list(folder.glob("checkpoints/step-*")):
        time.sleep(0.001)
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert not (folder / "summary.json").is_file(), "it was too fast to be killed"


def logs(folder: Path) -> dict[str, bytes]:
    return {str(path.parent.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob(LOG))}


def damage(folder: Path) -> list[str]:
    """What is wrong with what is there."""
    wrong = [f"{path.name} is left" for path in folder.rglob("*") if path.name.endswith((".tmp", "writer.lock"))]
    wrong += [f"{path.name} is left" for path in folder.rglob("tmp-*")]
    for path in folder.rglob(RUN):
        run = Run(path.parent)
        if not run.finished:
            wrong.append(f"{run.folder.name} is not finished")
        elif not (run.info and run.summary and run.lines("step")):
            wrong.append(f"{run.folder.name} is empty")
    for path in folder.rglob("*.json"):
        json.loads(path.read_text())
    return wrong


class Kinds:
    """What two processes may do at once."""

    def __init__(self, place: Path) -> None:
        self.place = place
        rows = [
            json.dumps({"text": f"the {'cat' if k % 2 else 'dog'} has {k} days", "label": k % 2}) for k in range(40)
        ]
        for name in ("first", "other"):
            (place / f"{name}.jsonl").write_text("\n".join(rows) + "\n")
            about = {"name": name, "kind": "classification", "text": "text", "label": "label"}
            files = dict.fromkeys(("train", "dev"), f"{name}.jsonl")
            (place / f"{name}.yaml").write_text(json.dumps(about | files))
        alone(["train", "--tasks", place / "first.yaml", "--steps", 4, "--out", place / "base", "-q"])
        killed(["train", *DIGITS, "--out", place / "cut", "-q"], place / "cut")

    def resume(self, out: Path) -> list[str]:
        if self.place / "cut" not in out.parents and not out.exists():
            shutil.copytree(self.place / "cut", out)
        return ["train", "--resume", out, "-q"]

    def new(self, out: Path) -> list[str]:
        return ["train", *DIGITS, "--out", out, "-q"]

    def compare(self, out: Path) -> list[str]:
        return ["compare", *DIGITS, "--methods", "uniform", "--without", "proportional,union,temperature", "--seeds",
                "0,1", "--out", out]  # fmt: skip

    def search(self, out: Path) -> list[str]:
        return ["search", *DIGITS, "--target", "left", "--only", "left,right", "--trials", 3, "--sampler", "random",
                "--out", out]  # fmt: skip

    def adapt(self, out: Path) -> list[str]:
        return ["adapt", self.place / "base", "--task", self.place / "other.yaml", "--fractions", "1", "--no-fresh",
                "--steps", 6, "--least", 6, "--out", out]  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--kinds", default="resume,new,compare,search,adapt")
    asked = parser.parse_args()
    bad = 0
    with tempfile.TemporaryDirectory(prefix="rota-writers-") as name:
        place = Path(name)
        os.environ["ROTA_CACHE"] = str(place / "cache")
        kinds = Kinds(place)
        for kind in asked.kinds.split(","):
            make = getattr(kinds, kind)
            reference = place / f"{kind}-alone"
            alone(make(reference))
            ends: Counter[str] = Counter()
            for number in range(asked.pairs):
                out = place / f"{kind}-{number}"
                found = both(make(out))
                wrong = damage(out)
                if kind != "search" and logs(out) != logs(reference):  # which worker gets which ratio is chance
                    wrong.append("other bytes than one process alone")
                wrong += [said for code, said in found if code and TOLD not in said and "not empty" not in said]
                wrong += ["both were refused"] if all(code for code, _ in found) else []
                ends["served" if not any(code for code, _ in found) else "told"] += 1
                bad += bool(wrong)
                for sentence in wrong:
                    print(f"{kind}, pair {number}: {sentence}")
                shutil.rmtree(out)
            told = ", ".join(f"{count} {how}" for how, count in sorted(ends.items()))
            print(f"{kind:8} {asked.pairs} pairs: the second one {told}", flush=True)
    print("nothing damaged" if not bad else f"{bad} pairs with damage")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
