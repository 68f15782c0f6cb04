"""What every section of the page can ask for, and what a section is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from rota.analysis import (
    Cost,
    Group,
    RunHistory,
    ScoreTable,
    ShareCourses,
    all_costs,
    all_scores,
    plain_mixtures,
    read_history,
    share_courses,
    tasks_of,
)
from rota.report._many_tasks import DRAWN
from rota.report._palette import LineStyle, method_styles, task_styles
from rota.report._pieces import Text
from rota.report._words import counted
from rota.runlog import Run

if TYPE_CHECKING:
    from markupsafe import Markup

KINDS = 3  # of curves that have a panel for each task: scores, losses, shares
ALL_COLUMNS, COARSEST, FINEST = 4500, 25, 100  # of all lines together; of one line at least, at most


@dataclass(frozen=True)
class ReportPage:
    """The runs of a page and what is known of them. Attributes that take a while are worked out once, when the first
    section asks for them.

    Args:
        runs: All runs, finished or not.
        groups: The same runs by method; runs that differ in their seed only are one group.
        baseline: The name of the group that the others are compared with; None for `uniform`.
        medians: Whether curves of scores and losses are medians over seeds, as some papers draw them, and not means.

    Attributes:
        tasks: All tasks, each with whether it is auxiliary; those that count come first.
        method_styles: How each group is drawn, by its name.
        task_styles: How each task is drawn.
        histories: What the logs say about the course of the runs of each group, in the order of its `runs`.
        scores: What each group reached.
        costs: What each group with a finished run cost.
        shares: Which share of the updates each task had, of each group.
        plain: What plain mixtures would have given to each task, by their names.
        repeated: Whether a group has several runs, so that there are means and intervals.
        columns: How finely curves are drawn: the more lines, the coarser, so that no page becomes large.
        title: Of the page.

    >>> from rota.analysis import group_runs
    >>> from rota.testing import written_run
    >>> runs = tuple(written_run({"rte": [0.5], "mnli": [0.6]}, name) for name in ("uniform", "exp3s"))
    >>> page = ReportPage(runs, tuple(group_runs(runs)))
    >>> page.title, page.scores.ranking.baseline.name
    ('rte, mnli: 2 methods, 2 runs', 'uniform')
    """

    runs: tuple[Run, ...]
    groups: tuple[Group, ...]
    baseline: str | None = None
    medians: bool = False

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

    @cached_property
    def shares(self) -> dict[str, ShareCourses]:
        return {name: share_courses(own) for name, own in self.histories.items()}

    @cached_property
    def plain(self) -> dict[str, dict[str, float]]:
        return plain_mixtures(self.runs)

    @property
    def repeated(self) -> bool:
        return any(len(group.runs) > 1 for group in self.groups)

    @property
    def columns(self) -> int:
        lines = len(self.groups) * KINDS * min(len(self.tasks) + 1, DRAWN)
        return max(COARSEST, min(ALL_COLUMNS // lines, FINEST))

    def named(self, method: str) -> Text:
        """The name of a group behind a piece of its line, for tables and headings."""
        return (self.method_styles[method], " ", method)

    @property
    def title(self) -> str:
        suites = dict.fromkeys(name for run in self.runs for name in run.plan.get("tasks") or run.info["tasks"])
        named = ", ".join(suites) if len(suites) <= 6 else counted(len(suites), "task")
        if len(self.runs) == 1:
            return f"{named}: {self.groups[0].name}"
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
