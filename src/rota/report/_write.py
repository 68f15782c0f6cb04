"""From runs to one page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args

from rota.errors import RotaError, unknown_name
from rota.report._convergence import convergence
from rota.report._curves import curve_panels
from rota.report._formats import as_csv, as_json, as_markdown
from rota.report._groups import Group, group_runs, run_names, tasks_of
from rota.report._history import read_history
from rota.report._logs import mixtures_from_logs
from rota.report._mixtures import mixture_figure
from rota.report._outlook import outlook
from rota.report._page import legend, section, whole_page, write_page
from rota.report._palette import AGGREGATE, method_looks, task_looks
from rota.report._plots import plotly_script
from rota.report._pools import pools
from rota.report._rounds import rounds
from rota.report._search import search
from rota.report._selection import selection
from rota.report._settings import settings_section
from rota.report._tables import cost_table, score_table
from rota.report._words import count, unfinished, what_it_shows, what_ran
from rota.runlog import Run

CURVES = (
    '<p class="note">Lines are means over seeds, bands reach from the smallest to the largest seed. Where a run has '
    "no number (it ended earlier, or its loss was none) the mean is over the others: n under the pointer says over "
    "how many.</p>"
)
MIXTURES = (
    '<p class="note">Top: dev loss of each task and of the average over the tasks that count, mean over seeds, with a '
    "marker at each minimum and a line at the average's. <em>mixture</em>: the probability (in joint training the "
    "weight) that the method gave each task at each evaluation. <em>realised</em>: the share of the turns that each "
    "task then got since the evaluation before; a joint step is a turn of every task in it. <em>unsure</em>, where "
    "there were surveys: what they measured, in units of the method's largest number. Rows in one unit have one colour "
    "scale.</p>"
)


Format = Literal["html", "md", "csv", "json"]
FORMATS: tuple[Format, ...] = get_args(Format)


def write_report(
    runs: Sequence[Run],
    page: Path,
    *,
    baseline: str | None = None,
    names: Mapping[Path, str] | None = None,
    form: Format = "html",
) -> None:
    """Write one self-contained HTML page: scores, curves, mixtures, costs, settings.

    The same runs give the same bytes.

    Args:
        runs: Finished or not, of any methods, seeds and tasks.
        page: The file to write; one that exists is replaced.
        baseline: The group that the others are compared with, by its name on the page; by default `uniform`. Must be
            among the runs unless there are `names`: of a comparison it may have failed.
        names: What to call the runs in these folders; those of one name are one group.
        form: "html", or the tables alone as "md", "csv" or "json".
    """
    write_page(page, report_text(runs, form, baseline=baseline, names=names))


def report_text(
    runs: Sequence[Run],
    form: Format = "html",
    *,
    baseline: str | None = None,
    names: Mapping[Path, str] | None = None,
) -> str:
    """What `write_report` writes."""
    if not runs:
        raise RotaError("A report expects at least one run. Found none.")
    if form not in FORMATS:
        raise unknown_name("format", form, FORMATS)
    groups = group_runs(runs, names)
    known = [group.name for group in groups]
    if baseline is not None and names is None and baseline not in known:
        raise unknown_name("baseline", baseline, known)
    if form == "md":
        return as_markdown(groups, _title(runs, len(groups)), baseline)
    if form == "csv":
        return as_csv(groups)
    return as_json(groups, baseline) if form == "json" else _page_of(runs, groups, baseline)


def _page_of(runs: Sequence[Run], groups: Sequence[Group], baseline: str | None) -> str:
    tasks = tasks_of(runs)
    methods, learned = method_looks(group.name for group in groups), task_looks(tasks)
    histories = {group.name: [read_history(run) for run in group.runs] for group in groups}
    learned_mixtures = mixtures_from_logs(groups, methods)
    converged = convergence(groups, histories, methods)
    foretold = outlook(groups, histories, methods)
    picked = pools(groups, histories, methods, learned)
    branched = rounds(groups, methods, learned)
    selected, searched = selection(runs), search(runs)
    open_runs = [name for run, name in zip(runs, run_names(runs), strict=True) if not run.finished]
    body = [
        what_ran(groups),
        what_it_shows(groups, baseline),
        unfinished(open_runs),
        section("Scores", score_table(groups, methods, baseline)),
        section(
            "Curves",
            CURVES,
            legend(methods, {name: name for name in methods}),
            curve_panels(histories, tasks, methods),
        ),
        section(
            "Losses and mixture",
            MIXTURES,
            legend(
                {**{f"task {task}": look for task, look in learned.items()}, "average": AGGREGATE},
                {**{f"task {task}": task for task in tasks}, "average": "average"},
                {f"task {task}": "auxiliary" for task, auxiliary in tasks.items() if auxiliary},
            ),
            mixture_figure(histories, methods, learned),
        ),
        *([section("Convergence", converged)] if converged else []),
        *([section("Outlook", foretold)] if foretold else []),
        *([section("Pools", picked)] if picked else []),
        *([section("Rounds", branched)] if branched else []),
        *([section("Task selection", selected)] if selected else []),
        *([section("Ratio search", searched)] if searched else []),
        *([section("Mixtures and logs", learned_mixtures)] if learned_mixtures else []),
        section("Cost", cost_table(groups, methods)),
        section("Settings", settings_section(groups, methods)),
    ]
    return whole_page(_title(runs, len(groups)), "\n".join(body), plotly_script())


def _title(runs: Sequence[Run], methods: int) -> str:
    suites = dict.fromkeys(name for run in runs for name in run.plan.get("tasks") or run.info["tasks"])
    named = ", ".join(suites) if len(suites) <= 6 else count(len(suites), "task")
    return f"{named}: {count(methods, 'method')}, {count(len(runs), 'run')}"
