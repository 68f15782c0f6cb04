"""The command line: one file per verb."""

from __future__ import annotations

import os
import sys
import warnings
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
from rota.cli._flags import in_flags
from rota.cli._headroom import headroom
from rota.cli._help import Command, Verbs
from rota.cli._improve import improve
from rota.cli._interrupts import INTERRUPTED, code_of_end, is_interrupt, orderly_end, said_at_end
from rota.cli._methods import methods
from rota.cli._parameters import parameters
from rota.cli._predict import predict
from rota.cli._report import report
from rota.cli._search import search
from rota.cli._select import select
from rota.cli._similarity import similarity
from rota.cli._simulate import simulate
from rota.cli._tasks import tasks
from rota.cli._train import train
from rota.cli._transfer import transfer
from rota.deprecation import RenamedWarning
from rota.errors import RotaError, missing_package
from rota.plugins import PluginWarning

app = typer.Typer(
    cls=Verbs,
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
    transfer,
    headroom,
    select,
    search,
    autosem,
    demo,
    report,
    methods,
    tasks,
    parameters,
    similarity,
    simulate,
):
    app.command(cls=Command)(verb)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"rota {__version__}")
        raise typer.Exit


@app.callback()
def _about(
    version: Annotated[bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show it.")] = False,
) -> None:
    """What should a model that learns many tasks train on next?"""


PARSER_ERROR: type[Any] = typer.BadParameter.__mro__[2]  # click's base error, wherever typer keeps its click


def main() -> None:
    """Run the command line; wrong input ends with one sentence and exit code 2."""
    if len(sys.argv) == 1:
        sys.argv.append("--help")
    with warnings.catch_warnings(), orderly_end():
        _tell_warnings()
        _run()


def _tell_warnings() -> None:
    """Old names and plug-ins that are left out get a sentence, as wrong input does."""
    usual = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any) -> None:
        if issubclass(category, PluginWarning | RenamedWarning):
            sys.stderr.write(f"rota: {message}\n")
        else:
            usual(message, category, *where)

    for category in (PluginWarning, RenamedWarning):
        warnings.simplefilter("default", category)
    warnings.showwarning = show  # type: ignore[assignment]


def _run() -> None:
    try:
        code = app(prog_name="rota", standalone_mode=False)  # also as `python -m rota`
    except RotaError as error:
        _say(in_flags(str(error)), code=2)
    except PARSER_ERROR as error:
        said = error.format_message().rstrip(".")
        _say(f"{said}{'' if said.endswith('?') else '.'} {_advice(error)}", code=2)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        extra = next((extra for extra, names in EXTRAS.items() if package in names), None)
        if extra is None:
            raise
        _say(str(missing_package(f"`rota {' '.join(sys.argv[1:2])}`", package, extra)), code=2)
    except (OSError, MemoryError) as error:
        _say(f"expected files and memory that can be used. Found {type(error).__name__}: {error}.", code=2)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED  # typer says it in one of these ways, or by the code
    except Exception as error:
        if not is_interrupt(error):
            raise
        code = INTERRUPTED
    if code == INTERRUPTED:
        code = code_of_end()
        if int(os.environ.get("RANK", 0)) == 0:  # the first of several processes speaks
            sys.stderr.write(f"rota: {said_at_end()}\n")  # as it is: a command is copied
    sys.exit(code)


EXTRAS = {
    "train": ("torch", "accelerate", "safetensors", "filelock", "sklearn"),
    "report": ("plotly", "jinja2", "scipy"),
    "text": ("transformers",),
    "hub": ("datasets", "pyarrow"),
    "search": ("optuna", "cmaes"),
}
"""Which extra brings a package along."""

GONE = {
    "--weights": "--option weights=left=2,right=1",
    "--rounds": "--option rounds=N",
    "--log": "--option logs=RUN,RUN",
    "--uncertainty-rows": "--option rows=N",
    "--candidates": "--option candidates=N",
    "--score-every": "--option every=N",
}
"""Flags that `rota train` had for single methods, and how they are said now."""


def _advice(error: Any) -> str:
    verb = next(iter(sys.argv[1:2]), "")
    gone = GONE.get(getattr(error, "option_name", ""))
    if verb == "train" and gone:
        return f"It is an option of a method: {gone}. See `rota methods NAME`."
    known = "" if verb.startswith("-") else verb  # an unknown one has been refused
    return f"See `{' '.join(filter(None, ['rota', known, '--help']))}`."


def _say(sentence: str, code: int) -> NoReturn:
    sys.stderr.write(f"rota: {' '.join(sentence.split())}\n")
    sys.exit(code)
