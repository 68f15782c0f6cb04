"""`rota compare`: variants of a plan, each with several seeds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rota.cli._fields import numbers, read_fields, with_plan_flags
from rota.cli._tables import mean_and_spread, number
from rota.errors import RotaError
from rota.methods import Comparison, make_comparison
from rota.runlog import Run


@with_plan_flags
def compare(
    file: Annotated[Path, typer.Argument(help="a YAML file with common fields, variants and seeds")],
    out: Annotated[
        Path | None, typer.Option(help="folder for the runs and the page [dim](runs/NAME of FILE)[/dim]")
    ] = None,
    seeds: Annotated[str, typer.Option(metavar="A,B,…", help="instead of those in the file")] = "",
    *,
    fields: dict[str, Any],
) -> None:
    """Train every variant with every seed and compare them with the baseline, seed by seed.

    rota compare experiments/002-table-1.yaml --data DIR --steps 1000

    Runs that are finished are kept, and one that fails does not stop the others: run it again to go on.
    """
    comparison = make_comparison(read_fields(file, "variants:"), fields, numbers(seeds, "seeds"), str(file))
    folder = out or Path("runs") / file.stem
    from rota.methods import run_plan  # late: they load torch and plotly
    from rota.report import write_report

    console, done, failed = Console(), {}, []
    for count, cell in enumerate(comparison.cells, start=1):
        place = cell.folder(folder)
        console.print(f"[dim]{count}/{len(comparison.cells)}[/dim]  {cell.variant}, seed {cell.seed}", highlight=False)
        try:
            done[cell.variant, cell.seed] = run_plan(
                cell.plan, place, resume=place.is_dir(), progress=console.is_terminal
            )
        except Exception as error:  # whatever it is, the others go on
            failed.append(place.name)
            said = str(error) if isinstance(error, RotaError) else f"{type(error).__name__}: {error}"
            console.print(f"[red]failed[/red]: {escape(said)}", highlight=False)
    if done:
        console.print(_table(comparison, done))
        page = folder / "report.html"
        write_report(list(done.values()), page)
        console.print(f"The report is in {page}", highlight=False, markup=False, soft_wrap=True)
    if failed:
        raise RotaError(f"Expected {len(comparison.cells)} finished runs. Found {len(failed)} that failed: {failed}.")


def _table(comparison: Comparison, runs: dict[tuple[str, int], Run]) -> Table:
    from rota.report import paired, spread, task_spread

    table = Table(title=escape(comparison.about) or None, title_justify="left")
    tasks = list(dict.fromkeys(name for run in runs.values() for name in run.summary["best"]["dev"]["tasks"]))
    table.add_column("variant", overflow="fold", min_width=max(map(len, comparison.variants)))
    for column in ("average", f"over {comparison.baseline}", "task σ", *tasks, "s per run"):
        table.add_column(column, justify="right")
    scores = {key: run.summary["best"]["dev"] for key, run in runs.items()}

    def average(variant: str) -> dict[int, float]:
        return {seed: own["average"] for (name, seed), own in scores.items() if name == variant}

    def counted(variant: str) -> list[str]:
        about = next(run for (name, _), run in runs.items() if name == variant).info["tasks"]
        return [task for task, info in about.items() if not info["auxiliary"]]

    for variant in comparison.variants:
        own = {seed: dev for (name, seed), dev in scores.items() if name == variant}
        if not own:
            table.add_row(variant, "failed")
            continue
        found = paired(average(variant), average(comparison.baseline))
        by_task = [[dev["tasks"][t]["score"] for dev in own.values() if t in dev["tasks"]] for t in tasks]
        sigma = spread(task_spread([dev["tasks"][t]["score"] for t in counted(variant)]) for dev in own.values())
        seconds = spread(runs[variant, seed].summary["seconds"] for seed in own)
        table.add_row(
            variant,
            mean_and_spread(average(variant).values()),
            "" if variant == comparison.baseline or not found.n else _difference(found.mean, found.error, found.n),
            number(sigma.mean),
            *(mean_and_spread(values) for values in by_task),
            f"{seconds.mean:.0f}",
        )
    return table


def _difference(mean: float, error: float, n: int) -> str:
    return f"{100 * mean:+.1f}" + (f" (se {100 * error:.1f})" if n > 1 else "")
