"""`rota parameters`: what a method adds to an encoder, and what of it is trained."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer
from rich.markup import escape
from rich.table import Table

from rota.cli._console import open_console
from rota.cli._fields import pairs
from rota.errors import RotaError, nearest
from rota.pretrained import BILSTMS

if TYPE_CHECKING:
    from rota.models.core import Amount, Counted, Pretrained

SIZES = ("base", "large")
USUAL_TASKS = 9
AS_PRINTED = (
    "The paper prints 1.12 × for both sizes, and 5.6 % trained for each task, which is half of BERT over 9 tasks."
)


def parameters(
    model: Annotated[
        str,
        typer.Argument(
            metavar="base|large|ENCODER|RUN", help="a size of BERT, an encoder as for --model, or a run folder"
        ),
    ] = "base",
    tasks: Annotated[
        int | None, typer.Option(min=1, help=f"how many share the encoder [dim]({USUAL_TASKS})[/dim]")
    ] = None,
    adapter: Annotated[
        list[str] | None, typer.Option(help="count an encoder with these, too: houlsby:size=64, pals, lora:r=8")
    ] = None,
    parts: Annotated[
        list[str] | None, typer.Option(help="count CA-MTL with these parts, too: released, or norm=off,bottleneck=off")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON instead of a table")] = False,
) -> None:
    """Count the parameters of CA-MTL, of adapters or of a BiLSTM around an encoder, or of the model of a run, by part.

    Of an encoder its config alone is read, never its weights.

    rota parameters large --tasks 8 --adapter houlsby:size=256
    rota parameters roberta-base --parts released --parts norm=off
    rota parameters bilstm-1024
    """
    counts = _counts(model, tasks, adapter or [], parts or [])
    if as_json:
        typer.echo(json.dumps({name: counted.describe() for name, counted in counts.items()}))
        return
    console = open_console()
    console.print(_table(model, counts))
    if model in SIZES:
        console.print(AS_PRINTED, highlight=False)


def _counts(model: str, tasks: int | None, adapters: list[str], parts: list[str]) -> dict[str, Counted]:
    if model in SIZES:
        return _of_size(model, tasks or USUAL_TASKS, adapters, parts)
    if Path(model).is_dir() and not (Path(model) / "config.json").is_file():
        if adapters or parts:
            flag = "--adapter" if adapters else "--parts"
            raise RotaError(f"{flag} expects {', '.join(SIZES)} or an encoder. Found the run folder {model}.")
        return _of_run(model, tasks)
    near = nearest(model, SIZES)
    if near and not Path(model).is_dir():
        raise RotaError(
            f"Expected {', '.join(SIZES)}, an encoder or a run folder. Found '{model}'. Did you mean '{near}'?"
        )
    return _of_encoder(model, tasks or USUAL_TASKS, adapters, parts)


def _of_size(size: str, tasks: int, adapters: list[str], parts: list[str]) -> dict[str, Counted]:
    from rota.models.camtl import bert_outline, default_counts, released_counts  # late: they load torch

    known = cast(Literal["base", "large"], size)
    found = {"released": released_counts(known, tasks), "defaults": default_counts(known, tasks)}
    return found | _with_parts(lambda: bert_outline(known), tasks, adapters, parts)


def _of_encoder(name: str, tasks: int, adapters: list[str], parts: list[str]) -> dict[str, Counted]:
    """Of the plain encoder, and with CA-MTL's parts where they can be or were asked for."""
    from rota.models.camtl import conditional_counts  # late: they load torch
    from rota.models.core import count_parameters, outline

    kind, _, inner = name.partition(":")
    if kind in BILSTMS:
        return _of_bilstm(kind, inner or "minilm", tasks, [*adapters, *parts])
    conditional = kind == "camtl"
    place = (inner or "minilm") if conditional else name
    plain = outline(place)
    found = {"plain": count_parameters(plain, tasks)}
    if conditional or plain.stack.like_bert:
        found["camtl"] = conditional_counts(plain, tasks)
    return found | _with_parts(lambda: outline(place), tasks, adapters, parts)


def _of_bilstm(kind: str, encoder: str, tasks: int, more: list[str]) -> dict[str, Counted]:
    from rota.models import bilstm_counts  # late: it loads torch

    if more:
        raise RotaError(f"--adapter and --parts expect an encoder of layers. Found {kind}, which takes none.")
    return {kind: bilstm_counts(kind, encoder, tasks)}


def _with_parts(
    encoder: Callable[[], Pretrained], tasks: int, adapters: list[str], parts: list[str]
) -> dict[str, Counted]:
    """With each of these, in an encoder of its own."""
    from rota.models.adapters import adapted_counts, make_adapter  # late: they load torch
    from rota.models.camtl import conditional_counts, parts_for

    found = {}
    for text in parts:
        wanted = parts_for(pairs(text, "parts") if "=" in text else text)
        found[text if "=" in text else f"parts {text}"] = conditional_counts(encoder(), tasks, wanted)
    return found | {text: adapted_counts(encoder(), make_adapter(text), tasks) for text in adapters}


def _of_run(folder: str, tasks: int | None) -> dict[str, Counted]:
    if tasks is not None:
        raise RotaError(
            f"--tasks expects {', '.join(SIZES)} or an encoder. Found the run folder {folder}, which has its own tasks."
        )
    from rota.inference import Trained  # late: they load torch
    from rota.models.camtl import count_parameters

    return {"run": count_parameters(Trained(folder).with_heads)}


def _table(model: str, counts: dict[str, Counted]) -> Table:
    shared = max(counted.tasks for counted in counts.values())
    title = f"BERT {model}, cased" if model in SIZES else escape(model)
    table = Table(title=f"{title}: parameters, {shared} task{'s' if shared > 1 else ''}", title_justify="left")
    table.add_column("part")
    for name in counts:
        table.add_column(name, justify="right")
        table.add_column("trained", justify="right")
    columns = counts.values()

    def add(name: str, cells: list[tuple[str, str]], style: str = "") -> None:
        table.add_row(name, *(cell for pair in cells for cell in pair), style=style)

    add("plain encoder", [_cells(counted.base) for counted in columns])
    for part in dict.fromkeys(part for counted in columns for part in counted.parts):
        add(part, [_cells(counted.parts.get(part)) for counted in columns])
    table.add_section()
    add("total", [(f"{counted.total:,}", f"{counted.trained:,}") for counted in columns], style="bold")
    add("of the plain one", [(f"{own.growth:.2f} ×", f"{100 * own.trained_share:.1f} %") for own in columns])
    add("for each task", [("", f"{100 * counted.per_task:.1f} %") for counted in columns])
    if any(counted.heads.parameters for counted in columns):
        table.add_section()
        add("heads, beside the total", [_cells(counted.heads) for counted in columns], style="dim")
    return table


def _cells(amount: Amount | None) -> tuple[str, str]:
    if amount is None:
        return "", ""
    return f"{amount.parameters:,}", f"{amount.trained:,}"
