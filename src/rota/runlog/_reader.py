"""Read one run, or find many."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from rota.arrays import Ids
from rota.draws import pass_order
from rota.errors import RotaError, resuming
from rota.notebooks import shown_inline
from rota.runlog._line_records import read_line
from rota.runlog._records import (
    DamagedFileError,
    PlanRecord,
    RunRecord,
    SearchContent,
    SummaryRecord,
    read_record,
)
from rota.runlog._schema import INNER, LOG, PLAN, RUN, SCHEMA, SEARCH, SUMMARY
from rota.runlog._task_changes import MARK, as_if_begun, has_changes, with_changes

TAIL = 2**16  # bytes at the end of a log in which its last step is looked for


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a log. A torn last line (the process died while writing) is left out.

    >>> from rota.testing import written_run
    >>> run = written_run({"rte": [0.5], "mnli": [0.6]})
    >>> [line["kind"] for line in read_lines(run.folder / LOG)]
    ['step', 'step', 'eval']
    """
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            if (line := parse_line(path, number, raw)) is not None:
                yield line


def parse_line(path: Path, number: int, raw: bytes) -> dict[str, Any] | None:
    """One line of a log; None for a torn one at its end."""
    try:
        return read_line(raw, path, number)
    except DamagedFileError:
        if not raw.endswith(b"\n"):
            return None
        raise


class Run:
    """A run folder, read when asked.

    Args:
        folder: The folder that holds `run.json`.

    >>> from rota.testing import written_run
    >>> kept = written_run({"rte": [0.5, 0.6]}, method="exp3s")
    >>> run = Run(kept.folder)
    >>> run.plan["method"], run.finished, run.summary["best"]["dev"]["average"]
    ('exp3s', True, 0.6)
    >>> [line["step"] for line in run.lines("eval")]
    [2, 4]
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        if not (self.folder / RUN).is_file():
            raise RotaError(f"Expected a run folder (with {RUN}) at {self.folder}. Found none.")

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r})"

    def _repr_html_(self) -> str | None:
        """How a notebook shows it."""
        return shown_inline(self)

    @cached_property
    def info(self) -> dict[str, Any]:
        """What was asked for; where tasks came and went, with all of them."""
        return with_changes(self.started, self.task_changes)

    @cached_property
    def task_changes(self) -> list[dict[str, Any]]:
        """Lines of the log about tasks that came and went."""
        return self.lines("tasks") if has_changes(self.folder / LOG) else []

    def info_at(self, end: int) -> dict[str, Any]:
        """What was asked for when the log had so many bytes, as if it had begun so."""
        return as_if_begun(with_changes(self.started, self.changes_before(end)))

    def changes_before(self, end: int) -> list[dict[str, Any]]:
        """Those of its tasks that the first bytes of the log tell of."""
        if not self.task_changes:
            return []
        with (self.folder / LOG).open("rb") as file:
            told = (b"\n" + file.read(end)).count(b"\n" + MARK)
        return self.task_changes[:told]

    @cached_property
    def started(self) -> dict[str, Any]:
        """What was asked for when it was started."""
        info = read_record(self.folder / RUN, RunRecord)
        log = self.folder / LOG
        if log.exists() and not log.is_file():
            raise DamagedFileError(log, f"Expected the log of a run at {log}. Found something that is no file.")
        if info["schema"] != SCHEMA:
            raise DamagedFileError(
                self.folder / RUN,
                f"{self.folder / RUN}: expected schema {SCHEMA}. Found {info['schema']}. "
                f"Read it with the version of rota that wrote it.",
            )
        return info

    @property
    def plan(self) -> dict[str, Any]:
        plan: dict[str, Any] = self.info["plan"]
        return plan

    @property
    def trial(self) -> dict[str, Any]:
        """What was tried in its rounds, if it was trained in rounds; {} otherwise."""
        older = self.info.get("trial")  # where runs of the first versions have it
        return dict(older or (self.info.get("picking") or {}).get("trial") or {})

    @property
    def finished(self) -> bool:
        return (self.folder / SUMMARY).is_file()

    @cached_property
    def summary(self) -> dict[str, Any]:
        """How it ended."""
        if not self.finished:
            raise RotaError(f"{self.folder} is not finished. Continue it with {resuming(self.folder)}.")
        path = self.folder / SUMMARY
        found = read_record(path, SummaryRecord)
        strangers = sorted({*found["updates"], *found["best"]["dev"]["tasks"]} - self.info["tasks"].keys())
        if strangers:
            raise DamagedFileError(
                path, f"{path}: expected the tasks of {RUN}. Found {', '.join(map(repr, strangers))}."
            )
        return found

    def row_ids(self, task: str, part: Mapping[str, Any]) -> list[int]:
        """The numbers of the training rows that a line of the log tells of.

        Args:
            task: Whose.
            part: The line of a step; of a joint step what it says of the task.
        """
        if "ids" in part:
            return list(part["ids"])
        first, end = part["rows"]
        # A task that came back may have other rows: only those of the start are told by their place.
        known = self.started["tasks"].get(task) or self.info["tasks"][task]
        rows, found = known["rows"]["train"], list[int]()
        if rows is None:  # of a stream, in the order in which they came
            return list(range(first, end))
        while first < end:
            turn, place = divmod(first, rows)
            own = self._pass(task, turn, rows)[place : place + end - first]
            found += own.tolist()
            first += len(own)
        return found

    def _pass(self, task: str, turn: int, rows: int) -> Ids:
        known = self._passes.get(task)
        if known is None or known[0] != turn:
            known = self._passes[task] = turn, pass_order(self.plan["seed"], task, turn, rows)
        return known[1]

    @cached_property
    def _passes(self) -> dict[str, tuple[int, Ids]]:
        return {}

    def lines(self, *kinds: str) -> list[dict[str, Any]]:
        """The lines of the log of these kinds; of all kinds if none is named."""
        path = self.folder / LOG
        if not path.is_file():
            return []
        return [line for line in read_lines(path) if not kinds or line["kind"] in kinds]


def written_steps(folder: Path) -> int:
    """How many updates the log of a run that may be in the middle of it tells of.

    >>> from rota.testing import written_run
    >>> run = written_run({"rte": [0.5, 0.6]}, every=50, finished=False)
    >>> written_steps(run.folder)
    100
    """
    path = folder / LOG
    if not path.is_file():
        return 0
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - TAIL))
        whole = file.read().split(b"\n")[:-1]
    for raw in reversed(whole):
        with contextlib.suppress(ValueError):
            line = json.loads(raw)
            if isinstance(line, dict) and line.get("kind") == "step":
                return int(line["step"]) + 1
    return 0


def started_plan(folder: Path) -> dict[str, Any]:
    """The plan of a run, also of one that has only inner runs yet. Where there are inner runs, as it was
    asked for: they began before it was known what `auto` resolves to.

    >>> from rota.testing import written_run
    >>> run = written_run({"rte": [0.5]}, method="exp3s", finished=False)
    >>> started_plan(run.folder)["method"]
    'exp3s'
    """
    if (folder / PLAN).is_file():
        return read_record(folder / PLAN, PlanRecord)
    return Run(folder).plan


def find_runs(places: Iterable[Path | str]) -> list[Run]:
    """All run folders at or below these places, in the order of their paths. Inner runs (of a method that
    trains several times) belong to their outer run and are left out; a search stands for the trainings with its best
    ratio.

    >>> import tempfile
    >>> from rota.testing import written_run
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("uniform-0", "exp3s-0", f"exp3s-0/{INNER}/first"):
    ...         _ = written_run({"rte": [0.5]}, folder=Path(folder) / name)
    ...     [run.folder.name for run in find_runs([folder])]  # without the inner one
    ['exp3s-0', 'uniform-0']
    """
    found: list[Run] = []
    for place in map(Path, places):
        if not place.exists():
            raise RotaError(f"Expected a folder with runs at {place}. Found nothing there.")
        folders = sorted(path.parent for path in place.rglob(RUN))
        outer = [folder for folder in folders if not any(other in folder.parents for other in folders)]
        outer = [folder for folder in outer if _is_shown(folder)]
        if not outer:
            raise RotaError(f"Expected at least one run folder (with {RUN}) in {place}. Found none.")
        found += [Run(folder) for folder in outer]
    return found


def _is_shown(folder: Path) -> bool:
    """Whether this run is no training of a search, or one of its best."""
    search = folder.parent.parent
    if folder.parent.name != INNER or not (search / SEARCH).is_file():
        return True
    best = best_trial(search)
    return best is not None and folder.name in best["runs"]


def best_trial(folder: Path) -> dict[str, Any] | None:
    """The best trial of the search in this folder; None as long as none has finished.

    >>> import tempfile
    >>> from rota.runlog import write_json
    >>> same = {"runs": [], "value": None, "values": [], "state": "complete"}
    >>> tried = [{"number": 0, "ratio": {"rte": 1.0, "mnli": 4.0}, **same}]
    >>> tried += [{"number": 1, "ratio": {"rte": 2.0, "mnli": 1.0}, **same}]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_json(Path(folder) / SEARCH, {"tried": tried, "best": 1})
    ...     best_trial(Path(folder))["ratio"]
    {'rte': 2.0, 'mnli': 1.0}
    """
    content = read_record(folder / SEARCH, SearchContent)
    return next((trial for trial in content["tried"] if trial["number"] == content["best"]), None)
