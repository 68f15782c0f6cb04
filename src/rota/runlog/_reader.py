"""Read one run, or find many."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from rota.errors import RotaError, resuming
from rota.runlog._schema import INNER, LOG, PLAN, RUN, SCHEMA, SEARCH, SUMMARY

TAIL = 2**16  # bytes at the end of a log in which its last step is looked for


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a log. A torn last line (the process died while writing) is left out."""
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            try:
                line = json.loads(raw)
            except ValueError:
                line = None
            if not isinstance(line, dict) or not line.keys() >= {"kind", "step"}:
                if not raw.endswith(b"\n"):
                    return
                raise RotaError(f"{path}, line {number}: expected a JSON object with a kind. Found {raw[:40]!r}.")
            yield line


class Run:
    """A run folder, read when asked.

    Args:
        folder: The folder that holds `run.json`.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        if not (self.folder / RUN).is_file():
            raise RotaError(f"Expected a run folder (with {RUN}) at {self.folder}. Found none.")

    @cached_property
    def info(self) -> dict[str, Any]:
        """What was asked for."""
        info = _read_json(self.folder / RUN, "schema", "id", "plan", "tasks")
        if info["schema"] != SCHEMA:
            raise RotaError(
                f"{self.folder / RUN}: expected schema {SCHEMA}. Found {info['schema']}. "
                f"Read it with the version of rota that wrote it."
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
        return _read_json(self.folder / SUMMARY, "steps", "best", "updates", "cost", "seconds")

    def lines(self, *kinds: str) -> list[dict[str, Any]]:
        """The lines of the log of these kinds; of all kinds if none is named."""
        path = self.folder / LOG
        if not path.is_file():
            return []
        return [line for line in read_lines(path) if not kinds or line["kind"] in kinds]


def written_steps(folder: Path) -> int:
    """How many updates the log of a run that may be in the middle of it tells of."""
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
    """The plan of a run, also of one that has only inner runs yet."""
    if (folder / PLAN).is_file() and not (folder / RUN).is_file():
        return _read_json(folder / PLAN, "method")
    return Run(folder).plan


def find_runs(places: Iterable[Path | str]) -> list[Run]:
    """All run folders at or below these places, in the order of their paths. Inner runs (of a method that
    trains several times) belong to their outer run and are left out; a search stands for the trainings with its best
    ratio."""
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
    """The best trial of the search in this folder; None as long as none has finished."""
    content = _read_json(folder / SEARCH, "tried")
    return next((trial for trial in content["tried"] if trial["number"] == content["best"]), None)


def _read_json(path: Path, *keys: str) -> dict[str, Any]:
    """A JSON object that has at least these keys."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise RotaError(f"{path}: expected JSON. Found something else ({error}).") from error
    missing = [key for key in keys if content.get(key) is None] if isinstance(content, dict) else list(keys)
    if missing:
        raise RotaError(f"{path}: expected {', '.join(keys)}. Missing: {', '.join(missing)}. Is it a file of rota's?")
    return dict(content)
