"""`rota claims`: what is claimed, and whether a comparison bears it out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from rota.cli._comparisons import read_comparison
from rota.cli._console import open_console
from rota.cli._fields import USUAL, listed, numbers, read_fields, with_plan_flags
from rota.comparisons import Comparison, make_comparison, register_claims
from rota.errors import RotaError, unknown_name
from rota.runlog import find_runs, registration_beside

if TYPE_CHECKING:
    from rota.analysis import Registration, Verdict


@with_plan_flags(rare=USUAL | {"seeds", "full", "without"}, decided=["seed"])
def claims(
    results: Annotated[list[Path] | None, typer.Argument(help="folders that `rota compare` has filled")] = None,
    file: Annotated[
        Path | None, typer.Option(help="take the claims of this experiment file instead of those it was run with")
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="print a Markdown table")] = False,
    register: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="before the runs: write down the claims and plans of this experiment file"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="with --register: the file to write [dim](runs/NAME of FILE.registered.json)[/dim]"),
    ] = None,
    registered: Annotated[
        Path | None, typer.Option(metavar="FILE", help="the registration, where it is not beside the folder")
    ] = None,
    seeds: Annotated[
        str, typer.Option(metavar="A,B,…", help="with --register: as of `rota compare` [dim](of the file)[/dim]")
    ] = "",
    full: Annotated[bool, typer.Option("--full", help="with --register: as of `rota compare`")] = False,
    without: Annotated[str, typer.Option(metavar="A,B,…", help="with --register: as of `rota compare`")] = "",
    *,
    fields: dict[str, Any],
) -> None:
    """Print what is claimed about a comparison: the paper's figure, ours, and whether it holds.

    rota claims --register experiments/002-table-1.yaml --data DIR
    rota compare experiments/002-table-1.yaml --data DIR
    rota claims runs/002-table-1

    A claim holds, or does not, where the paired t test says so, corrected for the number of claims in the table. Else
    an effect of the printed size may be excluded; else these seeds cannot tell. --register writes claims and plans
    to a file before there are runs; give it the flags that `rota compare` will get.
    """
    if register is not None:
        _register(register, out, fields, seeds, full, listed(without))
        return
    if not results:
        raise RotaError("Expected folders of comparisons, or --register with an experiment file. Found neither.")
    others = {"seeds": seeds, "full": full, "without": without, "out": out}
    if given := [*fields, *(name for name, value in others.items() if value)]:
        raise RotaError(f"--{given[0].replace('_', '-')} goes with --register. Found it without. Leave it out.")
    for folder in results:
        _show(folder, file, markdown, registered or registration_beside(folder), registered is not None)


def _register(
    file: Path, out: Path | None, fields: dict[str, Any], seeds: str, full: bool, without: Sequence[str]
) -> None:
    content = {**read_fields(file, "claims:"), **({"without": without} if without else {})}
    comparison = make_comparison(content, fields, numbers(seeds, "seeds"), str(file), full)
    if not comparison.claims:
        raise RotaError(f"Expected claims in {file}. Found none.")
    check_claims(comparison, str(file))
    folder = Path("runs") / file.stem
    path = out or registration_beside(folder)
    beside = path.with_name(path.name.removesuffix(".registered.json"))
    if beside.is_dir() and (begun := find_runs([beside])):
        raise RotaError(f"Expected a registration before the runs. Found {len(begun)} runs in {beside} already.")
    content = register_claims(comparison, path, str(file))
    console = open_console()
    told = f"{len(content['claims'])} claims about {len(content['plans'])} variants, seeds {content['seeds']}"
    console.print(f"Registered {told} in {path}", highlight=False, markup=False, soft_wrap=True)
    console.print(f"Their hash, to keep elsewhere: {content['hash']}", highlight=False, markup=False, soft_wrap=True)


def check_claims(comparison: Comparison, source: str) -> None:
    """Refuse claims that no run could bear out: about variants or fields that there are none of, or about variants that
    differ in more than they may."""
    from rota.analysis import other_fields, read_claims  # late: it takes a moment

    plans = {cell.variant: cell.plan.model_dump(mode="json") for cell in comparison.cells}
    plans |= {name: plans[of[0]] for name, of in comparison.chosen.items()}  # they differ in what is chosen
    for claim in read_claims(comparison.claims, source):
        for variant in (claim.of, *([claim.than] if isinstance(claim.than, str) else [])):
            if variant not in plans:
                raise unknown_name("variant of a claim", variant, plans)
        if isinstance(claim.than, str) and (others := other_fields(plans[claim.of], plans[claim.than], claim.differ)):
            raise RotaError(
                f"{source}: '{claim.says}' expects {claim.of} and {claim.than} to differ in {', '.join(claim.differ)} "
                f"alone. Found {', '.join(others)}, too. Add them to `differ` of the claim, or make the variants alike."
            )


def _show(folder: Path, file: Path | None, markdown: bool, registered: Path, named: bool) -> None:
    from rota.analysis import (  # late: they take a moment
        Registration,
        begun_runs,
        chosen_on_dev,
        first_start,
        judge,
        read_claims,
    )

    content, console = read_comparison(folder), open_console()
    said = read_claims(
        read_fields(file, "claims:").get("claims", []) if file else content.get("claims", []), str(file or folder)
    )
    found = Registration.read(registered) if named or registered.is_file() else None
    if found is not None:
        said = [*found.claims, *(claim for claim in said if claim not in found.claims)]
    may_differ = ["steps"] if content.get("budget") == "forwards" else []
    chosen = chosen_on_dev(folder, content["variants"], content.get("chosen", {}))
    variants = {**content["variants"], **{name: content["variants"].get(of, []) for name, of in chosen.items()}}
    variants |= {name: [] for name in content.get("chosen", {}) if name not in chosen}
    verdicts = judge(said, folder, variants, may_differ)
    if not verdicts:
        raise RotaError(f"Expected claims about {folder}. Found none in its experiment file.")
    begun = begun_runs(folder, content["variants"])
    start = first_start(folder, content["variants"])
    statuses = [found.status(verdict.claim, start) for verdict in verdicts] if found else []
    if markdown:
        console.print(_markdown(verdicts, statuses), highlight=False, markup=False, soft_wrap=True)
    else:
        console.print(verdict_table(content.get("about", ""), verdicts, statuses))
    picked = [f"{name} is {of}, the best on dev of {', '.join(content['chosen'][name])}" for name, of in chosen.items()]
    for line in [*picked, *correction(verdicts), *_registered(found, found.changes(begun) if found else [])]:
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def verdict_table(title: str, verdicts: Sequence[Verdict], statuses: Sequence[str] = ()) -> Table:
    """Claims and their verdicts; papers, power and registration where there are any."""
    columns, rows = _cells(verdicts, statuses)
    table = Table(*columns, title=escape(title), title_justify="left")
    for row in rows:
        table.add_row(*map(escape, row))
    return table


def correction(verdicts: Sequence[Verdict]) -> list[str]:
    """What a reader of the table has to know of its verdicts."""
    tested = max(verdict.tested for verdict in verdicts)
    if tested < 2:
        return []
    return [f"Verdicts are corrected for {tested} claims (Holm), the 95 % intervals are those of each claim alone."]


def _cells(verdicts: Sequence[Verdict], statuses: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    columns = {
        "claim": [verdict.claim.says for verdict in verdicts],
        "paper": [verdict.claim.paper_told for verdict in verdicts],
        "ours": [verdict.ours for verdict in verdicts],
        "power": ["" if verdict.power is None else f"{100 * verdict.power:.0f} %" for verdict in verdicts],
        "registered": list(statuses),
        "verdict": [verdict.told for verdict in verdicts],
    }
    shown = {name: cells for name, cells in columns.items() if any(cells)}
    return list(shown), [[cell or "–" for cell in row] for row in zip(*shown.values(), strict=True)]


def _markdown(verdicts: Sequence[Verdict], statuses: Sequence[str]) -> str:
    columns, rows = _cells(verdicts, statuses)
    lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join([*lines, ""])


def _registered(found: Registration | None, changes: Sequence[str]) -> list[str]:
    if found is None:
        return ["None of them was registered before the runs (rota claims --register FILE)."]
    line = f"Registered {found.time:%Y-%m-%d %H:%M:%S %z}, hash {found.hash[:12]}."
    changed = "The plan has changed since: " + "; ".join(changes) + "." if changes else "The plan is as registered."
    return [f"{line} {changed}"]
