"""What several tests do with runs: make small ones, kill them, compare them."""

from __future__ import annotations

import contextlib
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rota.engine._eager import EagerEngine
from rota.runlog import LOG


@contextlib.contextmanager
def interrupted_at(step: int):
    """What is trained inside, eagerly, is interrupted before a step."""
    real = EagerEngine.update

    def update(self, plan, after_update=None):
        if plan.step == step:
            raise KeyboardInterrupt
        return real(self, plan, after_update)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EagerEngine, "update", update)
        with pytest.raises(KeyboardInterrupt):
            yield


def command(*arguments):
    return [sys.executable, "-m", "rota", *map(str, arguments)]


def rota(*arguments, **options):
    """Run the command line; the finished process with its output."""
    return subprocess.run(command(*arguments), capture_output=True, text=True, **options)


def checkpoints(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "checkpoints").glob("step-*"))


def kill_at_random(arguments, folder: Path, rng: random.Random) -> None:
    """Start a run and kill it without warning, at any moment after it has written a checkpoint."""
    before = checkpoints(folder)
    process = subprocess.Popen(command(*arguments), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and checkpoints(folder) == before:
        time.sleep(0.002)
    time.sleep(rng.uniform(0.0, 0.25))
    process.send_signal(signal.SIGKILL)
    process.wait()


def final_weights(folder: Path) -> bytes:
    latest = sorted((folder / "checkpoints").iterdir())[-1]
    return (latest / "model.safetensors").read_bytes()


def assert_same_run(one: Path, other: Path) -> None:
    """Assert that two runs decided, read, lost and ended alike, to the last bit."""
    assert (one / LOG).read_bytes() == (other / LOG).read_bytes()
    assert final_weights(one) == final_weights(other)
    best = [sorted((folder / "best").iterdir())[-1] for folder in (one, other)]
    assert best[0].name == best[1].name
    assert (best[0] / "model.safetensors").read_bytes() == (best[1] / "model.safetensors").read_bytes()
