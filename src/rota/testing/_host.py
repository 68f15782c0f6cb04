"""Does a third-party trainer resume exactly with a mix?"""

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
    """Train once; then once more from each of these updates on. Decisions, rows, losses and weights must be equal, bit
    for bit.

    Args:
        run: Trains.
        folder: A new one.
        stops: After which updates it is interrupted.
        twice: Whether what was resumed is interrupted and resumed once more.

    >>> import json
    >>> import tempfile
    >>> import numpy as np
    >>> from rota import Exp3S, Mix
    >>> def run(folder, resume):
    ...     mix, weight = Mix({"a": range(9), "b": range(6)}, Exp3S(["a", "b"]), batch_size=3, log=folder / "log"), 0.0
    ...     if resume is not None:
    ...         saved = json.loads((folder / f"{resume}.json").read_text())
    ...         mix.load_state_dict(saved["mix"])
    ...         weight = saved["weight"]
    ...     for done, batch in enumerate(mix, start=1 + (resume or 0)):
    ...         weight += 0.1 * len(batch)  # your training step
    ...         mix.tell(1 / (1 + weight))
    ...         state = {"mix": mix.state_dict(), "weight": weight}
    ...         (folder / f"{done}.json").write_text(json.dumps(state))
    ...     mix.close()
    ...     return {"weight": np.array(weight)}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     check_host(run, Path(folder), stops=(1, 3))  # silent: it resumes exactly
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
