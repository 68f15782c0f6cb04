"""From runs to one page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args

from rota.analysis import group_runs
from rota.errors import RotaError, unknown_name
from rota.report._document import document, write_file
from rota.report._formats import as_csv, as_json
from rota.report._markdown import as_markdown
from rota.report._page import ReportPage, Section
from rota.report._sections import sections
from rota.report._summary import summary
from rota.runlog import Run

Format = Literal["html", "md", "csv", "json"]
FORMATS: tuple[Format, ...] = get_args(Format)


def write_report(
    runs: Sequence[Run],
    page: Path,
    *,
    baseline: str | None = None,
    names: Mapping[Path, str] | None = None,
    form: Format = "html",
    extra_sections: Sequence[Section] = (),
    reload_s: float | None = None,
    medians: bool = False,
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
        extra_sections: Sections of your own, below the others; in the HTML page only.
        reload_s: The HTML page loads itself again after this many seconds, while it is being rewritten; by default
            never.
        medians: Draw medians over seeds instead of means, where curves have several.

    >>> import tempfile
    >>> from rota.testing import written_run
    >>> runs = [written_run({"rte": [score]}, seed=seed) for seed, score in enumerate([0.50, 0.52, 0.54])]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(runs, Path(folder) / "report.html")
    ...     (Path(folder) / "report.html").read_text()[:15]
    '<!doctype html>'
    """
    written = report_text(
        runs,
        form,
        baseline=baseline,
        names=names,
        extra_sections=extra_sections,
        reload_s=reload_s,
        medians=medians,
    )
    write_file(page, written)


def report_text(
    runs: Sequence[Run],
    form: Format = "html",
    *,
    baseline: str | None = None,
    names: Mapping[Path, str] | None = None,
    extra_sections: Sequence[Section] = (),
    reload_s: float | None = None,
    medians: bool = False,
) -> str:
    """What `write_report` writes.

    >>> from rota.testing import written_run
    >>> runs = [written_run({"rte": [0.50]}), written_run({"rte": [0.625]}, "exp3s")]
    >>> print(report_text(runs, "csv"), end="")
    method,seed,split,task,metric,value
    uniform,0,dev,rte,score,0.5
    uniform,0,dev,average,score,0.5
    exp3s,0,dev,rte,score,0.625
    exp3s,0,dev,average,score,0.625
    """
    if not runs:
        raise RotaError("A report expects at least one run. Found none.")
    if form not in FORMATS:
        raise unknown_name("format", form, FORMATS)
    page = ReportPage(tuple(runs), tuple(group_runs(runs, names)), baseline, medians)
    known = [group.name for group in page.groups]
    if baseline is not None and names is None and baseline not in known:
        raise unknown_name("baseline", baseline, known)
    if form == "md":
        return as_markdown(page)
    if form == "csv":
        return as_csv(page)
    return as_json(page) if form == "json" else _html(page, [*sections(), *extra_sections], reload_s)


def _html(page: ReportPage, shown: Sequence[Section], reload_s: float | None) -> str:
    rendered = [(section.title, section.render(page)) for section in shown]
    known = [(title, body) for title, body in rendered if body is not None]
    return document(page.title, known, summary(page), reload_s)
