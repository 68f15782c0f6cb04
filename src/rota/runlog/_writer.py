"""Write one run: a log that grows by lines, and the line of a step."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rota.errors import RotaError
from rota.feedback import Choice
from rota.runlog._writer_lock import refuse_lost


class LogWriter:
    """Appends JSON lines, buffered: lines wait in memory until a call of `flush`.

    A flush that fails half-way (a full disk) leaves the file as it was and the lines in memory, so that
    nothing is lost when it is called again with room on the disk.

    Args:
        path: The log. Created if absent, else continued.
        offset: Cut the log back to so many bytes first: the state of a checkpoint.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = LogWriter(Path(folder) / "log.jsonl")
    ...     log.write({"kind": "step", "step": 0})
    ...     log.waiting, log.flush() > 0, log.waiting
    ...     log.close()
    (1, True, 0)
    """

    def __init__(self, path: Path, offset: int | None = None) -> None:
        self._path = path
        self._lines: list[str] = []
        self._size = path.stat().st_size if path.exists() else 0
        if offset is not None:
            if offset > self._size:
                raise RotaError(
                    f"{path} expects at least {offset} bytes, as its checkpoint says. Found {self._size}: the log "
                    f"was cut or replaced. Resume from an earlier checkpoint."
                )
            self._size = offset
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
        os.ftruncate(self._file, self._size)

    @property
    def waiting(self) -> int:
        """Lines in memory."""
        return len(self._lines)

    def write(self, line: Mapping[str, Any]) -> None:
        """Append one line, in memory."""
        self._lines.append(json.dumps(line, separators=(",", ":"), allow_nan=False))

    def flush(self) -> int:
        """Write what waits in memory and return the size of the log in bytes."""
        if self._lines:
            refuse_lost(self._path)
            data = ("\n".join(self._lines) + "\n").encode()
            try:
                done = 0
                while done < len(data):
                    done += os.pwrite(self._file, data[done:], self._size + done)
            except OSError:
                os.ftruncate(self._file, self._size)
                raise
            self._size += len(data)
            self._lines.clear()
        return self._size

    def sync(self) -> int:
        """Flush, and wait until the log is on the disk."""
        size = self.flush()
        os.fsync(self._file)
        return size

    def close(self) -> None:
        try:
            self.flush()
        finally:
            os.close(self._file)


def finite_or_none(numbers: Sequence[float | None]) -> list[float | None]:
    """As JSON has them: None for a number that is none.

    >>> finite_or_none([0.5, float("nan"), None])
    [0.5, None, None]
    """
    return [number if number is not None and math.isfinite(number) else None for number in numbers]


def step_line(
    step: int,
    choice: Choice | None,
    parts: Sequence[Mapping[str, Any]],
    losses: Sequence[float | None],
    values: Sequence[float | None],
) -> dict[str, Any]:
    """What was trained on in one update, and the feedback.

    Args:
        step: Which update.
        choice: The task that was drawn; None without a draw.
        parts: Of each task in it: `task`, `weight` of its loss, `n` rows, `tokens` where they are counted,
            and which: their `ids`, or `rows`, their place among the rows of all passes.
        losses: Of each part, before the update.
        values: What the policy heard of each part; empty where nobody measures anything.

    >>> line = step_line(0, None, [{"task": "rte", "weight": 1.0, "n": 2, "ids": [4, 1]}], [0.7], [])
    >>> line["kind"], line["tasks"]["rte"]["loss"]
    ('step', 0.7)
    """
    told, losses = finite_or_none(values) or [None] * len(parts), finite_or_none(losses)
    if choice is None:
        tasks = {
            part["task"]: {
                "weight": part["weight"],
                "loss": losses[k],
                "value": told[k],
                "n": part["n"],
                **_amounts(part),
            }
            for k, part in enumerate(parts)
        }
        return {"kind": "step", "step": step, "task": None, "probability": None, "tasks": tasks}
    return {
        "kind": "step",
        "step": step,
        "task": choice.task,
        "probability": choice.probability,
        "round": choice.round,
        "loss": losses[0],
        "value": told[0],
        "n": parts[0]["n"],
        **_amounts(parts[0]),
    }


def _amounts(part: Mapping[str, Any]) -> dict[str, Any]:
    """How many tokens were trained, where they are counted, and which rows: their numbers, or where they stand among
    those of all passes."""
    tokens = {"tokens": part["tokens"]} if "tokens" in part else {}
    return tokens | ({"ids": part["ids"]} if "ids" in part else {"rows": part["rows"]})
