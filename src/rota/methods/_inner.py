"""Trainings inside of a run: for a method that trains several times."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rota.budgets import UPDATES
from rota.callbacks import Callback
from rota.plans import Plan, make_plan
from rota.runlog import INNER, PLAN, RUN, SUMMARY, Run, write_json


class InnerRuns:
    """Trains in `runs/NAME` of a folder, each training once.

    Args:
        run_plan: Trains a plan; `rota.runs.run_plan`.
        plan: What the trainings have in common.
        folder: Of the outer run.
        progress: Whether to show a progress bar of each training.
        told: Whether to print what there is to say about them; by default where bars are shown.
        outer: Whether the folder is that of a run, which goes on by its plan.

    Attributes:
        runs: All trainings so far.

    >>> import tempfile
    >>> from rota.testing import written_run
    >>> def trains(plan, folder, **_):
    ...     return written_run({"rte": [0.5]}, plan.method, folder=folder)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     inner = InnerRuns(trains, make_plan({"tasks": ["rte"]}), Path(folder), progress=False)
    ...     [inner.train("first", method="exp3s").plan["method"], inner.train("first").plan["method"]]  # trained once
    ['exp3s', 'exp3s']
    """

    def __init__(
        self,
        run_plan: Callable[..., Run],
        plan: Plan,
        folder: Path,
        progress: bool,
        told: bool | None = None,
        outer: bool = True,
    ) -> None:
        self._run_plan = run_plan
        self.plan, self.folder, self.progress, self.outer = plan, folder, progress, outer
        self._writes = int(os.environ.get("RANK", 0)) == 0  # of the processes that torchrun started
        self._told = self._writes and (progress if told is None else told)
        self.runs: list[Run] = []

    def train(self, name: str, callbacks: Sequence[Callback] = (), **changes: Any) -> Run:
        """The finished run of this name, trained now if it is not yet."""
        self._keep_plan()
        folder = self.folder / INNER / name
        begun = (folder / RUN).is_file()
        if not (begun and Run(folder).finished):
            # What they train, their method counts in updates.
            shared = {**self.plan.model_dump(exclude_unset=True, exclude={"observe"}), "budget": UPDATES}
            plan = make_plan({**shared, **changes})
            self._run_plan(plan, folder, resume=begun, progress=self.progress, callbacks=callbacks)
        self.runs.append(Run(folder))
        return self.runs[-1]

    def _keep_plan(self) -> None:
        """So that a run that is killed in an inner training can go on."""
        if self.outer and self._writes and not (self.folder / PLAN).is_file():
            self.folder.mkdir(parents=True, exist_ok=True)
            write_json(self.folder / PLAN, self.plan.model_dump(mode="json"))

    def count_earlier(self) -> None:
        """What a process that was killed has finished counts, too."""
        known = {run.folder for run in self.runs}
        done = sorted(path.parent for path in (self.folder / INNER).glob(f"*/{SUMMARY}"))
        self.runs += [Run(folder) for folder in done if folder not in known]

    def inside(self, name: str) -> InnerRuns:
        """For many short trainings in `runs/NAME` of this folder, of which a bar on a terminal is enough."""
        self._keep_plan()
        shown = self.progress and _on_terminal()
        found = InnerRuns(self._run_plan, self.plan, self.folder / INNER / name, shown, self._told, outer=False)
        found.runs = self.runs
        return found

    def say(self, line: str) -> None:
        """Tell a person what is going on."""
        if self._told:
            _console().print(line, highlight=False, markup=False, soft_wrap=True)


def _on_terminal() -> bool:
    return bool(_console().is_terminal)


def _console() -> Any:
    from rich.console import Console  # late: naming a method needs none

    return Console(stderr=True)
