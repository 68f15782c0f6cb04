"""A short help for newcomers, the whole one for those who ask for it, and the nearest verb for a typo."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from rota.errors import unknown_name

WHOLE = "rota.whole_help"
FIRST = "shown_first"


def shown_first(verb: Callable[..., None], names: frozenset[str]) -> None:
    """Of the flags of `verb`, `--help` shows these; `--help-all` shows every one."""
    setattr(verb, FIRST, names)


def _show_all(context: typer.Context, asked: bool) -> None:
    if asked and not context.resilient_parsing:
        context.meta[WHOLE] = True
        typer.echo(context.get_help())
        raise typer.Exit


HELP_ALL = inspect.Parameter(
    "help_all",
    inspect.Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[
        bool, typer.Option("--help-all", callback=_show_all, is_eager=True, help="Show every flag, by groups.")
    ],
)
"""The flag that shows the whole help, as a parameter of a verb."""


class Command(TyperCommand):
    """A verb. One with many flags shows the usual ones; the others are known and completed all the same."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        first = getattr(self.callback, FIRST, None)
        if first is None or ctx.meta.get(WHOLE):
            super().format_help(ctx, formatter)
            return
        options = [option for option in self.params if isinstance(option, TyperOption)]
        rare = [option for option in options if option.name not in first]
        usual = {option: option.help for option in options if option.name in first}
        try:
            for option in rare:
                option.hidden = True
            for option, told in usual.items():
                option.help = _shortened(told or "")
            self.epilog = f"{len(rare)} more flags, by groups: {ctx.command_path} --help-all"
            super().format_help(ctx, formatter)
        finally:  # a flag that stayed hidden would not be completed
            self.epilog = None
            for option in rare:
                option.hidden = False
            for option, told in usual.items():
                option.help = told


class Verbs(TyperGroup):
    """All verbs."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Whose turn it is; refuse a verb that there is not, as any other unknown name."""
        name = args[0]
        if name not in self.commands and not name.startswith("-") and not ctx.resilient_parsing:
            raise unknown_name("verb", name, self.commands)
        return super().resolve_command(ctx, args)


def _shortened(told: str) -> str:
    """What a flag is for, without what comes after a semicolon; its default stays.

    >>> _shortened("how it is; default 3, or more [dim](3)[/dim]")
    'how it is [dim](3)[/dim]'
    """
    said, semicolon, rest = told.partition(";")
    default = rest[rest.index("[dim]") :] if semicolon and "[dim]" in rest else ""
    return f"{said} {default}".rstrip()
