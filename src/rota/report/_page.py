"""What every section of the page can ask for, and what a section is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from rota.analysis import Cost, Group, RunHistory, ScoreTable, all_costs, all_scores, read_history, tasks_of
from rota.report._palette import LineStyle, method_styles, task_styles
from rota.report._pieces import Text
from rota.report._words import counted
from rota.runlog import Run

if TYPE_CHECKING:
    from markupsafe import Markup


@dataclass(frozen=True)
class ReportPage:
    """The runs of a page and what is known of them. Attributes that take a while are worked out once, when the first
    section asks for them.

    Args:
        runs: All runs, finished or not.
        groups: The same runs by method; runs that differ in their seed only are one group.
        baseline: The name of the group that the others are compared with; None for `uniform`.

    Attributes:
        tasks: All tasks, each with whether it is auxiliary; those that count come first.
        method_styles: How each group is drawn, by its name.
        task_styles: How each task is drawn.
        histories: What the logs say about the course of the runs of each group, in the order of its `runs`.
        scores: What each group reached.
        costs: What each group with a finished run cost.
        title: Of the page.
    """

    runs: tuple[Run, ...]
    groups: tuple[Group, ...]
    baseline: str | None = None

    @cached_property
    def tasks(self) -> dict[str, bool]:
        return tasks_of(self.runs)

    @cached_property
    def method_styles(self) -> dict[str, LineStyle]:
        return method_styles(group.name for group in self.groups)

    @cached_property
    def task_styles(self) -> dict[str, LineStyle]:
        return task_styles(self.tasks)

    @cached_property
    def histories(self) -> dict[str, list[RunHistory]]:
        return {group.name: [read_history(run) for run in group.runs] for group in self.groups}

    @cached_property
    def scores(self) -> ScoreTable:
        return all_scores(self.groups, self.baseline)

    @cached_property
    def costs(self) -> list[Cost]:
        return all_costs(self.groups)

    def named(self, method: str) -> Text:
        """The name of a group behind a piece of its line, for tables and headings."""
        return (self.method_styles[method], " ", method)

    @property
    def title(self) -> str:
        suites = dict.fromkeys(name for run in self.runs for name in run.plan.get("tasks") or run.info["tasks"])
        named = ", ".join(suites) if len(suites) <= 6 else counted(len(suites), "task")
        return f"{named}: {counted(len(self.groups), 'method')}, {counted(len(self.runs), 'run')}"


@dataclass(frozen=True)
class Section:
    """A part of the page with a heading of its own.

    A section reads the runs, so it may also show what only some runs have. Lines of its figures that have a button in a
    legend are shown and hidden inside of the section only.

    Args:
        title: The heading.
        render: Makes what stands below it. `markupsafe.Markup` is taken as it is, so it has to escape the names that
            it shows; any other string is escaped and becomes a paragraph; None leaves the section out.

    >>> def slowest(page):
    ...     last = max(page.costs, key=lambda cost: cost.seconds, default=None)
    ...     return f"{last.group.name} took longest: {last.seconds:.0f} s." if last else None
    >>> Section("Patience", slowest).title
    'Patience'
    """

    title: str
    render: Callable[[ReportPage], Markup | str | None]
