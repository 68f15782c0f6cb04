"""`python -m rota` is `rota`."""

from __future__ import annotations

import sys

COMMAND_LINE = ("typer", "rich", "yaml")
"""What the command line needs, whatever the verb."""


def main() -> None:
    """Run the command line; say in one sentence what is missing for that."""
    try:
        from rota.cli import main as run
    except ModuleNotFoundError as error:
        if error.name not in COMMAND_LINE:
            raise
        from rota.errors import missing_package

        sys.stderr.write(f"rota: {missing_package('The command line', str(error.name), 'cli')}\n")
        sys.exit(2)
    run()


if __name__ == "__main__":
    main()
