"""The command line: one file per verb."""

from __future__ import annotations

import sys
from typing import Annotated, Any, NoReturn

import typer

from rota import __version__
from rota.cli._adapt import adapt
from rota.cli._autosem import autosem
from rota.cli._claims import claims
from rota.cli._compare import compare
from rota.cli._demo import demo
from rota.cli._evaluate import evaluate
from rota.cli._export import export
from rota.cli._improve import improve
from rota.cli._methods import methods
from rota.cli._parameters import parameters
from rota.cli._predict import predict
from rota.cli._report import report
from rota.cli._search import search
from rota.cli._select import select
from rota.cli._simulate import simulate
from rota.cli._tasks import tasks
from rota.cli._train import train
from rota.errors import RotaError

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for verb in (
    train,
    compare,
    claims,
    adapt,
    evaluate,
    predict,
    export,
    improve,
    select,
    search,
    autosem,
    demo,
    report,
    methods,
    tasks,
    parameters,
    simulate,
):
    app.command()(verb)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"rota {__version__}")
        raise typer.Exit


@app.callback()
def _about(
    version: Annotated[bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show it.")] = False,
) -> None:
    """What should a model that learns many tasks train on next?"""


INTERRUPTED = 130
PARSER_ERROR: type[Any] = typer.BadParameter.__mro__[2]  # click's base error, wherever typer keeps its click


def main() -> None:
    """Run the command line; wrong input ends with one sentence and exit code 2."""
    if len(sys.argv) == 1:
        sys.argv.append("--help")
    try:
        code = app(standalone_mode=False)
    except RotaError as error:
        _say(str(error), code=2)
    except PARSER_ERROR as error:
        _say(f"{error.format_message().rstrip('.')}. See `rota {' '.join(sys.argv[1:2])} --help`.", code=2)
    except (OSError, MemoryError) as error:
        _say(f"expected files and memory that can be used. Found {type(error).__name__}: {error}.", code=2)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED  # typer says it in one of these ways, or by the code
    if code == INTERRUPTED:
        _say(
            "stopped. Repeat the command to go on; a run of `rota train` goes on with `rota train --resume FOLDER`.",
            code,
        )
    sys.exit(code)


def _say(sentence: str, code: int) -> NoReturn:
    sys.stderr.write(f"rota: {' '.join(sentence.split())}\n")
    sys.exit(code)
