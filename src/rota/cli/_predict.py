"""`rota predict`: what a trained model says to new rows."""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, TextIO

import typer
from rich.progress import Progress

from rota.cli._console import open_console
from rota.runlog import replacing


def predict(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN", help="a run folder, or several that answer together: an ensemble")
    ],
    task: Annotated[str, typer.Option(help="which task of the runs")],
    input: Annotated[
        Path,
        typer.Option(help="CSV, TSV, JSON lines or Parquet with the columns of the task; - for JSON lines on stdin"),
    ],
    tokens: Annotated[int, typer.Option(min=1, help="most tokens in the answer of a language model")] = 64,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="where to write [dim](the terminal)[/dim]")] = None,
) -> None:
    """Answer the rows of a file, one JSON object per line, in their order.

    Several runs, such as the seeds of one plan, answer with the mean of their probabilities, or of their numbers.

    rota predict runs/first --task rte --input rows.jsonl
    """
    from rota.inference import Ensemble, Trained  # late: they load torch

    members = [Trained(run, task) for run in runs]
    trained = members[0] if len(members) == 1 else Ensemble(members)
    with tempfile.TemporaryDirectory() as folder:
        if str(input) == "-":
            input = Path(folder) / "stdin.jsonl"
            with input.open("wb") as file:
                shutil.copyfileobj(sys.stdin.buffer, file)
        answers = trained.predict(task, input, tokens)  # wrong input is refused before the output is touched
        console = open_console(stderr=True)
        shown = Progress(console=console, transient=True, disable=out is None or not console.is_terminal)
        with _opened(out) as target, shown as bar:
            line = bar.add_task("rows", total=None)
            for answer in answers:
                target.write(json.dumps(answer, ensure_ascii=False) + "\n")
                bar.advance(line)
    for reason, count in sorted(trained.unlabelled.tally.counts.items()):
        console.print(f"{task}: {count:,} × {reason}", highlight=False, markup=False)


@contextlib.contextmanager
def _opened(out: Path | None) -> Iterator[TextIO]:
    """Where answers go: the terminal, or a file that is there when all of them are."""
    if out is None:
        yield sys.stdout
        sys.stdout.flush()
        return
    with replacing(out) as place, place.open("w", encoding="utf-8") as file:
        yield file
