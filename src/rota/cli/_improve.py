"""`rota improve`: a better mixture from finished runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from rota.cli._console import open_console
from rota.errors import RotaError, unknown_name
from rota.offpolicy import Estimate, Log, best_mixture, heard, improving, planned, read_logs, value
from rota.runlog import write_json

REWARDS = {"improving": improving, "heard": heard}


def improve(
    runs: Annotated[list[Path], typer.Argument(help="run folders with one task per step, drawn at random")],
    entropy: Annotated[
        str, typer.Option(metavar="auto|NUMBER", help="weight of the entropy; auto plans with learning curves instead")
    ] = "auto",
    reward: Annotated[
        str,
        typer.Option(metavar="|".join(REWARDS), help="what a step was worth: from its loss, or as the policy heard"),
    ] = "improving",
    steps: Annotated[int | None, typer.Option(min=1, help="of the next run [dim](as many as logged)[/dim]")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="write the mixture here, as JSON")] = None,
) -> None:
    """Find a mixture for the next run in the logs of others (the counterfactual policy of Glover & Hokamp, 2019).

    rota improve runs/uniform-0 -o mixture.json
    rota train --mixture mixture.json --tasks digits --seed 1
    """
    if reward not in REWARDS:
        raise unknown_name("reward", reward, REWARDS)
    log = read_logs(runs, REWARDS[reward])
    if entropy == "auto":
        plan = planned(log, steps)
        mixture, weight = plan.mixture, plan.entropy
        said = f"planned with learning curves; expected gain in the mean score {plan.predicted_gain:+.3f}"
    else:
        mixture, weight = best_mixture(log, _number(entropy)), _number(entropy)
        said = f"by CMA-ES with the entropy weighted by {weight:g}"
    shares = mixture.mixture
    estimates = {"logged": value(log, log.mixture), "improved": value(log, shares)}
    console = open_console()
    console.print(_table(log, shares, estimates))
    console.print(f"{len(log):,} decisions; {said}.", highlight=False)
    if out is not None:
        found = estimates["improved"]
        write_json(
            out,
            {
                "mixture": shares,
                "entropy": weight if weight != float("inf") else None,
                "value": found.value,
                "stderr": found.stderr,
                "effective_sample_size": found.effective_sample_size,
                "runs": [str(run) for run in runs],
            },
        )
        console.print(f"Train with it: rota train --mixture {out} …", highlight=False, markup=False)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise RotaError(f"--entropy expects 'auto' or a number. Found '{text}'.") from error


def _table(log: Log, shares: dict[str, float], estimates: dict[str, Estimate]) -> Table:
    sizes, sums = log.totals()
    table = Table(title="Mixtures", title_justify="left")
    for column in ("task", "logged", "improved", "mean reward"):
        table.add_column(column, justify="left" if column == "task" else "right")
    for k, task in enumerate(log.tasks):
        table.add_row(escape(task), f"{log.mixture[task]:.3f}", f"{shares[task]:.3f}", f"{sums[k] / sizes[k]:.3f}")
    table.add_section()
    both = (estimates["logged"], estimates["improved"])
    table.add_row("estimated reward", *(f"{own.value:.3f}" for own in both), "", style="bold")
    table.add_row("its 95 % interval", *("{:.3f} – {:.3f}".format(*own.interval()) for own in both), "")
    table.add_row("effective sample size", *(f"{own.effective_sample_size:,.0f}" for own in both), "")
    return table
