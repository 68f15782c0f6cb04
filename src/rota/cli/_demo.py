"""`rota demo`: several methods on the handwritten digits, and the page that compares them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.table import Table

from rota.cli._claims import correction, verdict_table
from rota.cli._compare import show_comparison
from rota.cli._completion import method_lists
from rota.cli._console import open_console, tell
from rota.cli._dry_run import DryRun
from rota.cli._fields import chosen_methods
from rota.cli._grid import GridProgress
from rota.cli._tables import mean_and_spread
from rota.comparisons import BASELINES, Comparison, make_comparison, run_comparison
from rota.errors import RotaError
from rota.runlog import Run, write_json

if TYPE_CHECKING:
    from rota.analysis import Verdict

RESULTS, PICTURE = "results.json", "picture.svg"

FIRST_SEED = 30
"""The demo's runs have the seeds 30, 31, …: the methods were made while others were looked at."""

VARIANTS = {"without-noise": {"method": "uniform", "only": ["left", "right", "larger", "parity"]}}
"""What nobody can do who does not know which task is noise: what it costs to train on it."""

DIFFER = ["method", "options", "only"]
"""In what the variants may differ."""

EXPECTED = [
    ("sampling by size starves `right`", "score:right", "proportional", "lower", "uniform"),
    ("the root of the sizes starves it less", "score:right", "temperature", "higher", "proportional"),
    ("`noise` wastes updates: without it is better", "average", "without-noise", "higher", "uniform"),
    ("auto is above sampling by size", "average", "auto", "higher", "proportional"),
    ("auto is within 3 points of uniform", "average", "auto", "alike", "uniform"),
]
"""What the making of the tasks lets one expect: `right` has a third of the rows of `left`, `noise` has random labels.
That `uniform` is the best plain mixture here does not follow from anything that is known beforehand. The list was
written before a run of these seeds was made."""


def demo(
    out: Annotated[Path, typer.Option(help="folder for the runs and the page")] = Path("runs/demo"),
    methods: Annotated[
        str, typer.Option(metavar="A,B,…", help="methods to compare", autocompletion=method_lists)
    ] = "uniform,proportional,temperature,auto",
    seeds: Annotated[int, typer.Option(min=1, help="runs of each method")] = 10,
    steps: Annotated[int, typer.Option(min=1, help="updates of each run")] = 600,
    dry_run: DryRun = False,
) -> None:
    """Train on the bundled digits with several methods and seeds, say whether what was expected came true, and write
    report.html.

    Runs that are finished are kept; run it again to go on where it stopped.
    """
    comparison = _comparison(chosen_methods(methods), seeds, steps)
    if dry_run:
        show_comparison(comparison, out, jobs=1)
        return
    tell(f"{out}: {len(comparison.cells)} runs of {', '.join(comparison.variants)}")
    from rota.analysis import judge, read_claims  # late: these take a moment
    from rota.report import refuse_without_packages, write_picture, write_report

    refuse_without_packages()
    console = open_console()
    runs = []
    with GridProgress(comparison, out, console, jobs=1) as progress:
        for event in run_comparison(comparison, out, progress=console.is_terminal):
            progress.hear(event)
            if event.kind == "failed":
                raise RotaError(event.said)
            runs += [event.run] if event.run else []
    rows = _scores(comparison, runs)
    console.print(_table(rows))
    verdicts = judge(read_claims(comparison.claims, "the demo"), out, comparison.described()["variants"])
    if seeds > 1 and verdicts:
        console.print(verdict_table("Expected, and found: differences with 95 % intervals", verdicts))
        for line in correction(verdicts):
            console.print(line, highlight=False)
    write_json(out / RESULTS, _results(comparison, rows, verdicts))
    page, names = out / "report.html", {cell.folder(out): cell.variant for cell in comparison.cells}
    write_report(runs, page, names=names)
    write_picture(runs, out / PICTURE, names=names)
    console.print(f"The report is in {page.resolve()}", highlight=False, markup=False, soft_wrap=True)


def _comparison(methods: list[str], seeds: int, steps: int) -> Comparison:
    """Methods beside what is left of the expectations about them."""
    variants = VARIANTS if "uniform" in methods else {}
    known = {*methods, *variants}
    claims = [
        {"says": says, "measure": measure, "of": of, "is": is_, "than": than, "split": "test", "differ": DIFFER}
        | ({"within": 3.0} if is_ == "alike" else {})
        for says, measure, of, is_, than in EXPECTED
        if of in known and than in known
    ]
    content = {
        "about": "the demo: which plain mixture is right, nobody knows beforehand",
        "common": {"tasks": ["digits"], "steps": steps},
        "methods": methods,
        "variants": variants,
        "without": list(BASELINES),
        "seeds": list(range(FIRST_SEED, FIRST_SEED + seeds)),
        "claims": claims,
    }
    return make_comparison(content, {})


def _scores(comparison: Comparison, runs: list[Run]) -> dict[str, dict[str, list[float]]]:
    """Of each variant: test scores of its best checkpoints, and seconds."""
    by_name = {run.folder.name: run for run in runs}
    counted = [task for task, info in runs[0].info["tasks"].items() if not info["auxiliary"]]
    found = {}
    for variant in comparison.variants:
        own = [by_name[cell.name].summary for cell in comparison.cells if cell.variant == variant]
        tests = [summary["best"]["test"] for summary in own]
        scores = {task: [test["tasks"][task]["score"] for test in tests] for task in counted}
        seconds = [summary["seconds"] for summary in own]
        found[variant] = {"average": [test["average"] for test in tests], **scores, "seconds": seconds}
    return found


def _table(scores: dict[str, dict[str, list[float]]]) -> Table:
    table = Table(title="Test scores of the best checkpoint, mean ± std over seeds", title_justify="left")
    table.add_column("method")
    columns = [name for name in next(iter(scores.values())) if name != "seconds"]
    for column in (*columns, "s per run"):
        table.add_column(column, justify="right")
    for variant, own in scores.items():
        table.add_row(variant, *(mean_and_spread(own[name]) for name in columns), f"{np.mean(own['seconds']):.1f}")
    return table


def _results(
    comparison: Comparison, scores: dict[str, dict[str, list[float]]], verdicts: list[Verdict]
) -> dict[str, Any]:
    """The numbers of both tables, as plain data."""
    return {
        "steps": comparison.cells[0].plan.steps,
        "seeds": sorted({cell.seed for cell in comparison.cells}),
        "scores": {
            variant: {name: values for name, values in own.items() if name != "seconds"}
            for variant, own in scores.items()
        },
        "expected": [
            {"says": verdict.claim.says, "found": verdict.ours, "verdict": verdict.told} for verdict in verdicts
        ],
    }
