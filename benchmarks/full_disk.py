"""A disk that is full from the n-th call on, for every n: is anything damaged, and does the run go on?

    python benchmarks/full_disk.py              # every call of a small run
    python benchmarks/full_disk.py --every 10   # some of them

A small run is trained while the n-th call that makes, writes, syncs or renames a file, and each one after it, fails
with "no space left". Then there is room again, and the run is resumed; or begun, where nothing was there yet. Each file
must be whole, the process must have ended with one sentence, and the log and the weights must be those of a run that
always had room.
"""

from __future__ import annotations

import argparse
import builtins
import errno
import io
import multiprocessing
import os
import shutil
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent))

from writers import rota_main

import rota.runs  # noqa: F401 - loads torch once, before the processes are forked
from rota.runlog import LOG, RUN, read_lines

FORK = multiprocessing.get_context("fork")
PLAN = ["--tasks", "digits", "--steps", "12", "--eval-every", "4", "--checkpoint-every", "3", "-q"]
CALLS = ("fsync", "replace", "rename", "mkdir", "pwrite", "link", "ftruncate")


class FullDisk:
    """Counts the calls of this process that write into a folder, and lets them fail from one of them on."""

    def __init__(self, full_from: int | None) -> None:
        self.full_from, self.calls = full_from, 0
        for name in CALLS:
            setattr(os, name, self._counted(getattr(os, name)))
        opened = self._opened(io.open)
        io.open = builtins.open = opened

    def _count(self) -> None:
        self.calls += 1
        if self.full_from is not None and self.calls >= self.full_from:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _counted(self, function):
        def call(*args, **options):
            self._count()
            return function(*args, **options)

        return call

    def _opened(self, function):
        def call(file, mode="r", *args, **options):
            if any(letter in mode for letter in "wxa+") and not str(file).startswith("/dev"):
                self._count()
            return function(file, mode, *args, **options)

        return call


def train(arguments, pipe, full_from: int | None) -> None:
    disk = FullDisk(full_from)
    code, said = rota_main(arguments)
    pipe.send((code, said, disk.calls))


def trained(arguments, full_from: int | None = None) -> tuple[int, str, int]:
    ours, theirs = FORK.Pipe()
    process = FORK.Process(target=train, args=(arguments, theirs, full_from))
    process.start()
    found = ours.recv()
    process.join()
    return found


def content(folder: Path) -> list[bytes]:
    best = sorted((folder / "best").iterdir())[-1] / "model.safetensors"
    last = sorted((folder / "checkpoints").iterdir())[-1] / "model.safetensors"
    return [(folder / LOG).read_bytes(), best.read_bytes(), last.read_bytes()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1)
    asked = parser.parse_args()
    bad = 0
    with tempfile.TemporaryDirectory(prefix="rota-full-") as name:
        place = Path(name)
        code, said, calls = trained(["train", *PLAN, "--out", place / "whole"])
        assert code == 0, said
        expected = content(place / "whole")
        tried = range(1, calls + 1, asked.every)
        for number in tried:
            folder = place / "run"
            code, said, _ = trained(["train", *PLAN, "--out", folder], number)
            wrong = [] if code == 2 and len(said.strip().splitlines()) == 1 else [f"exit code {code}: {said}"]
            if (folder / LOG).is_file():
                list(read_lines(folder / LOG))
            again = ["--resume", folder, "-q"] if (folder / RUN).is_file() else [*PLAN, "--out", folder]
            code, said, _ = trained(["train", *again])
            if code:
                wrong.append(f"not resumed: {said}")
            elif content(folder) != expected:
                wrong.append("other bytes than a run that always had room")
            for sentence in wrong:
                print(f"full from call {number} on: {sentence}")
            bad += bool(wrong)
            shutil.rmtree(folder, ignore_errors=True)
    print(f"{len(tried)} of {calls} calls: {'nothing damaged' if not bad else f'{bad} with damage'}")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
