"""Which task each step trained, read from a log without the rest of its lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rota.runlog._reader import parse_line

STEP_OF_ONE_TASK = re.compile(rb'\{"kind":"step","step":(\d+),"task":"([^"\\]+)".*\}\n')


def read_turns(path: Path) -> Iterator[tuple[int, str] | dict[str, Any]]:
    """The lines of a log, as `read_lines` has them; of a step with one task only its number and the task. Most lines
    are such steps, and most readers want no more of them.

    >>> from rota.runlog import LOG
    >>> from rota.testing import written_run
    >>> run = written_run({"rte": [0.5], "mnli": [0.6]})
    >>> [turn if isinstance(turn, tuple) else turn["kind"] for turn in read_turns(run.folder / LOG)]
    [(0, 'rte'), (1, 'mnli'), 'eval']
    """
    names: dict[bytes, str] = {}
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            if found := STEP_OF_ONE_TASK.fullmatch(raw):
                step, name = found.groups()
                if name not in names:
                    names[name] = name.decode()
                yield int(step), names[name]
            elif (line := parse_line(path, number, raw)) is not None:
                yield line
