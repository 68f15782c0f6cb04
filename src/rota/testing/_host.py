"""Does a trainer of somebody else's go on with a mix as if it had never stopped?"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rota.runlog import LOG

HostRun = Callable[[Path, int | None], Mapping[str, Any]]
"""Trains in a folder, from its beginning or from the checkpoint of an update that lies there, and returns the weights.
Checkpoints are written at every update, and the mix logs into the folder `log` inside."""


def check_host(run: HostRun, folder: Path, stops: Sequence[int] = (1, 7, 12, 23), *, twice: bool = True) -> None:
    """Train once; then once more from each of these updates on. Decisions, rows, losses and weights must be the same,
    to the last bit.

        def run(folder, resume):
            mix = rota.Mix(datasets, policy, log=folder / "log")
            ...  # save at every update; if resume is a number, go on from that update
            return model.state_dict()

        check_host(run, tmp_path)

    Args:
        run: Trains.
        folder: A new one.
        stops: After which updates it is interrupted.
        twice: Whether what was resumed is interrupted and resumed once more.
    """
    whole = run(folder / "whole", None)
    log = (folder / "whole" / "log" / LOG).read_bytes()
    assert log, "Expected the log of a mix in the folder 'log'. Found an empty one."
    for place, stop in enumerate(stops):
        _go_on(run, folder / "whole", folder / f"from-{stop}", stop, whole, log)
        later = [other for other in stops[place + 1 :] if other > stop]
        if twice and later:
            name = f"from-{stop}-and-{later[0]}"
            _go_on(run, folder / f"from-{stop}", folder / name, later[0], whole, log)


def _go_on(run: HostRun, before: Path, folder: Path, stop: int, whole: Mapping[str, Any], log: bytes) -> None:
    shutil.copytree(before, folder)
    weights = run(folder, stop)
    found = (folder / "log" / LOG).read_bytes()
    assert found == log, f"resumed after update {stop}: {_first_difference(log, found)}"
    assert whole.keys() == weights.keys(), f"resumed after update {stop}: other weights"
    for name, tensor in whole.items():
        assert bool((tensor == weights[name]).all()), f"resumed after update {stop}: weights of {name} differ"


def _first_difference(one: bytes, other: bytes) -> str:
    lines = one.splitlines(), other.splitlines()
    for number, (before, now) in enumerate(zip(*lines, strict=False), start=1):
        if before != now:
            return f"line {number} of the log was {before.decode()[:200]}, is {now.decode()[:200]}"
    return f"the log had {len(lines[0])} lines, has {len(lines[1])}"
