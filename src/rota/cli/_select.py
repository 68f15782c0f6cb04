"""`rota select`: which tasks help a target?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from rota.cli._console import open_console, tell
from rota.cli._dry_run import DryRun, show_run
from rota.cli._fields import refuse_decided, with_option_flags, with_plan_flags
from rota.cli._tables import number
from rota.errors import RotaError
from rota.methods import METHODS
from rota.names import folder_name
from rota.plans import make_plan
from rota.search import FLOOR, select_from

if TYPE_CHECKING:
    from rota.search import Selection

DECIDED = {"method", "steps", "budget", "only"}
"""Fields of a plan that are not for the caller."""


@with_plan_flags(rare=["above", "utility", "candidates", "batch_size", "lr"], decided=DECIDED)
@with_option_flags(METHODS["autosem"].options, "rounds", "top", "above", "utility", "candidates")
def select(
    target: Annotated[str, typer.Option(help="the task that is to be helped")],
    out: Annotated[Path | None, typer.Option(help="folder for the run [dim](runs/select-TARGET-SEED)[/dim]")] = None,
    dry_run: DryRun = False,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON instead of a table")] = False,
    *,
    options: dict[str, Any],
    fields: dict[str, Any],
) -> None:
    """Choose auxiliary tasks for a target: AutoSeM's first stage.

    rota select --target left --tasks digits

    A bandit gives tasks rounds of ten updates and remembers after whose rounds the target's dev score did not fall.
    Its options are those of method thompson: --option decay=0.3. Interrupted, the same command goes on.
    """
    refuse_decided("select", DECIDED, fields)
    rule = METHODS["autosem"].checked(options)
    bandit = {"floor": FLOOR, **fields.get("options", {})}
    steps = rule.rounds * METHODS["thompson"].checked(bandit).round
    plan = make_plan({**fields, "target": target, "method": "thompson", "options": bandit, "steps": steps}, "the flags")
    folder = out or Path("runs") / f"select-{folder_name(target, 'target')}-{plan.seed}"
    tell(f"{folder}: reading {', '.join(plan.tasks)}")
    from rota.plans import candidates_of  # late: they load torch
    from rota.runs import run_plan

    kept, left_out = candidates_of(plan, rule.candidates)
    console = open_console()
    if left_out:
        tell(f"Left out, since of another kind: {', '.join(left_out)}. They take part with --candidates all.")
    if len(kept) < 2:
        raise RotaError(f"`rota select` expects candidates beside the target '{target}'. Found none.")
    plan = plan.model_copy(update={"only": tuple(kept)})
    if dry_run:
        show_run(plan, folder)
        return
    run = run_plan(plan, folder, resume=folder.is_dir(), progress=open_console(stderr=True).is_terminal)
    found = select_from(run, rule.top, rule.above, rule.utility)
    if as_json:
        typer.echo(json.dumps({"chosen": found.chosen, "utilities": found.utilities}))
        return
    console.print(selection_table(found))
    chosen = ", ".join(found.chosen[1:]) or "nobody"
    console.print(f"Chosen for {target}: {chosen}", highlight=False, markup=False)
    console.print(f"Find their ratio with: rota search {folder}", highlight=False, markup=False, soft_wrap=True)


def selection_table(found: Selection) -> Table:
    """What is believed about each task, the most useful first."""
    beliefs = found.beliefs
    table = Table(
        title=f"{len(beliefs.arms)} rounds for {escape(beliefs.primary)}: how often does a round do good?",
        title_justify="left",
    )
    for column in ("task", "rounds", "good", "utility", "at the end", "80 % interval", "chosen"):
        table.add_column(column, justify="left" if column in ("task", "chosen") else "right")
    ranked = sorted(beliefs.tasks, key=lambda task: (task != beliefs.primary, -found.utilities[task]))
    for task in ranked:
        low, high = beliefs.interval(task)
        name = escape(task) + (" (target)" if task == beliefs.primary else "")
        table.add_row(
            name,
            str(beliefs.turns(task)),
            f"{beliefs.good(task):g}",
            number(beliefs.averaged[task], 2, scale=1),
            number(beliefs.last[task], 2, scale=1),
            f"{low:.2f} – {high:.2f}",
            "yes" if task in found.chosen else "",
        )
    return table
