"""Trainings inside of a run: for a method that trains several times."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from rich.console import Console

from rota.methods._plan import Plan, make_plan
from rota.runlog import INNER, PLAN, RUN, SUMMARY, Run, write_json
from rota.training import Watch


class InnerRuns:
    """Trains in `runs/NAME` of a folder, each training once.

    Args:
        plan: What the trainings have in common.
        folder: Of the outer run.
        progress: Whether to show a progress bar of each training.
        told: Whether to print what there is to say about them; by default where bars are shown.
        outer: Whether the folder is that of a run, which goes on by its plan.

    Attributes:
        runs: All trainings so far.
    """

    def __init__(self, plan: Plan, folder: Path, progress: bool, told: bool | None = None, outer: bool = True) -> None:
        self.plan, self.folder, self.progress, self.outer = plan, folder, progress, outer
        self._writes = int(os.environ.get("RANK", 0)) == 0  # of the processes that torchrun started
        self._told = self._writes and (progress if told is None else told)
        self.runs: list[Run] = []

    def train(self, name: str, watch: Watch | None = None, **changes: Any) -> Run:
        if self.outer and self._writes and not (self.folder / PLAN).is_file():
            # So that somebody who dies in an inner run can go on.
            self.folder.mkdir(parents=True, exist_ok=True)
            write_json(self.folder / PLAN, self.plan.model_dump(mode="json"))
        folder = self.folder / INNER / name
        begun = (folder / RUN).is_file()
        if not (begun and Run(folder).finished):
            from rota.methods._run import run_plan  # late: it trains inner runs in its turn

            plan = make_plan({**self.plan.model_dump(exclude_unset=True), **changes})
            run_plan(plan, folder, resume=begun, progress=self.progress, watch=watch)
        self.runs.append(Run(folder))
        return self.runs[-1]

    def count_earlier(self) -> None:
        """What a process that was killed has finished counts, too."""
        known = {run.folder for run in self.runs}
        done = sorted(path.parent for path in (self.folder / INNER).glob(f"*/{SUMMARY}"))
        self.runs += [Run(folder) for folder in done if folder not in known]

    def inside(self, name: str) -> InnerRuns:
        """For many short trainings in `runs/NAME` of this folder, of which a bar on a terminal is enough."""
        found = InnerRuns(self.plan, self.folder / INNER / name, self.progress and _on_terminal(), self._told, False)
        found.runs = self.runs
        return found

    def say(self, line: str) -> None:
        if self._told:
            Console(stderr=True).print(line, highlight=False, markup=False, soft_wrap=True)


def _on_terminal() -> bool:
    return Console(stderr=True).is_terminal
