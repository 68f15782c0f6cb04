"""Stage 2 of AutoSeM (Guo et al. 2019): the ratios that a search tried, the best one, and its model of the others."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rota.runlog import INNER, SEARCH, STAGE_2, Run, best_trial


@dataclass(frozen=True)
class SearchRecord:
    """What a `search.json` says.

    Args:
        name: Of the folder that it belongs to.
        sampler: Who proposed the ratios.
        tasks: The target first.
        steps: Updates of each training.
        planned: How many trials there are to be.
        tried: The trials so far, in their order.
        best: The one with the highest score; None as long as none is finished.
        slices: By task: numbers of it, their shares, means and deviations.
        random: The best score that is expected after each of so many random ratios.

    >>> trials = [{"number": k, "state": "done", "value": value} for k, value in enumerate([0.6, 0.5, 0.7])]
    >>> search = SearchRecord("search", "gp", ("rte", "mnli"), 100, 5, trials, trials[2], slices={}, random=[])
    >>> search.best_so_far
    {1: 0.6, 2: 0.6, 3: 0.7}
    >>> [trial["number"] for trial in search.ranked]
    [2, 0, 1]
    """

    name: str
    sampler: str
    tasks: tuple[str, ...]
    steps: int
    planned: int
    tried: list[dict[str, Any]]
    best: dict[str, Any] | None
    slices: dict[str, dict[str, list[float]]]
    random: list[float]

    @property
    def best_so_far(self) -> dict[int, float]:
        """The highest score after each trial, from the first finished one on. Trials count from 1."""
        found: dict[int, float] = {}
        for trial in self.tried:
            finished = [trial["value"]] if finished_trial(trial) else []
            if scores := [*list(found.values())[-1:], *finished]:
                found[trial["number"] + 1] = max(scores)
        return found

    @property
    def ranked(self) -> list[dict[str, Any]]:
        """The trials, higher scores first; those that were stopped come last."""
        return sorted(self.tried, key=_rank)


def read_searches(runs: Iterable[Run]) -> list[SearchRecord]:
    """The searches inside of these runs and those that these runs are trainings of, each once.

    >>> import tempfile
    >>> from rota.runlog import write_json
    >>> from rota.testing import written_run
    >>> told = {"sampler": "gp", "tasks": ["rte", "mnli"], "steps": 10, "trials": 9, "slices": {}, "random": []}
    >>> trial = {"number": 0, "state": "done", "ratio": {"rte": 1.0}, "value": 0.6, "values": [0.6], "runs": ["0-0"]}
    >>> told |= {"tried": [trial], "best": 0}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = written_run({"rte": [0.6], "mnli": [0.7]}, folder=Path(folder) / INNER / "0-0")
    ...     write_json(Path(folder) / SEARCH, told)
    ...     [search] = read_searches([run])
    >>> f"{len(search.tried)} of {search.planned} trials, the best with {search.best['value']}"
    '1 of 9 trials, the best with 0.6'
    """
    places: dict[Path, None] = {}
    for run in runs:
        folder = run.folder.resolve()
        around = [folder.parent.parent] if folder.parent.name == INNER else []
        places |= dict.fromkeys(place for place in (folder / INNER / STAGE_2, *around) if (place / SEARCH).is_file())
    homes = [place.parent.parent if place.parent.name == INNER else place for place in places]
    names = [home.name for home in homes]
    return [
        _read(place, home.name if names.count(home.name) == 1 else f"{home.parent.name}/{home.name}")
        for place, home in zip(places, homes, strict=True)
    ]


def comparable_searches(searches: Sequence[SearchRecord]) -> list[list[SearchRecord]]:
    """Searches of the same tasks for the same target with trainings of the same length, together.

    >>> one = SearchRecord("one", "gp", ("rte", "mnli"), 100, 5, [], None, slices={}, random=[])
    >>> two = SearchRecord("two", "random", ("rte", "mnli"), 100, 5, [], None, slices={}, random=[])
    >>> longer = SearchRecord("longer", "gp", ("rte", "mnli"), 900, 5, [], None, slices={}, random=[])
    >>> [[search.name for search in family] for family in comparable_searches([one, longer, two])]
    [['one', 'two'], ['longer']]
    """
    families: dict[tuple[str, frozenset[str], int], list[SearchRecord]] = {}
    for one in searches:
        families.setdefault((one.tasks[0], frozenset(one.tasks), one.steps), []).append(one)
    return list(families.values())


def finished_trial(trial: Mapping[str, Any]) -> bool:
    """Whether it was not stopped, and has a score.

    >>> finished_trial({"state": "done", "value": 0.6}), finished_trial({"state": "pruned", "value": 0.4})
    (True, False)
    """
    return trial["state"] != "pruned" and trial["value"] is not None


def _read(folder: Path, name: str) -> SearchRecord:
    told: dict[str, Any] = json.loads((folder / SEARCH).read_text(encoding="utf-8"))
    return SearchRecord(
        name=name,
        sampler=told["sampler"],
        tasks=tuple(told["tasks"]),
        steps=told["steps"],
        planned=told["trials"],
        tried=sorted(told["tried"], key=lambda trial: int(trial["number"])),
        best=best_trial(folder),
        slices=told["slices"],
        random=told["random"],
    )


def _rank(trial: Mapping[str, Any]) -> tuple[bool, float]:
    """Finished ones come first, then higher scores."""
    return not finished_trial(trial), np.inf if trial["value"] is None else -trial["value"]
