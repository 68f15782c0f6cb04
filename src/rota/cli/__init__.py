"""The command line: one file per verb."""

from __future__ import annotations

import sys

import typer

from rota.cli._demo import demo
from rota.cli._methods import methods
from rota.cli._report import report
from rota.cli._simulate import simulate
from rota.cli._tasks import tasks
from rota.cli._train import train
from rota.errors import RotaError

app = typer.Typer(
    help="What should a model that learns many tasks train on next?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for verb in (train, demo, report, methods, tasks, simulate):
    app.command()(verb)


def main() -> None:
    """Run the command line; wrong input ends with one sentence and exit code 2."""
    try:
        app()
    except RotaError as error:
        _say(str(error))
        sys.exit(2)
    except KeyboardInterrupt:
        _say("stopped. A run goes on from its last checkpoint with `rota train --resume FOLDER`.")
        sys.exit(130)


def _say(sentence: str) -> None:
    sys.stderr.write(f"rota: {sentence}\n")
