"""A short help for newcomers, the whole one for those who ask for it, and the nearest verb for a typo."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

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
        bool, typer.Option("--help-all", callback=_show_all, is_eager=True, help="show every flag, by groups")
    ],
)
"""The flag that shows the whole help, as a parameter of a verb."""


PLACEHOLDERS = {"path": "PATH", "list[Path]": "PATH", "str": "NAME", "int": "N", "int range": "N", "float range": "X"}
PLACEHOLDERS |= {"text": "NAME", "integer": "N", "integer range": "N"}  # as older versions of typer say
"""What stands for the value of a flag, instead of the name of its Python type."""


class Command(TyperCommand):
    """A verb. One with many flags shows the usual ones; the others are known and completed all the same."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its flags and arguments, as help shows them."""
        return _as_shown(super().get_params(ctx), ctx)

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

    def get_params(self, ctx: Any) -> list[Any]:
        """The flags before a verb, as help shows them."""
        return _as_shown(super().get_params(ctx), ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The verb that is asked for; refuse a verb that there is not, as any other unknown name."""
        name = args[0]
        if name not in self.commands and not name.startswith("-") and not ctx.resilient_parsing:
            raise unknown_name("command", name, self.commands)
        return super().resolve_command(ctx, args)


def _as_shown(parameters: list[Any], context: Any) -> list[Any]:
    """Flags without a value have no placeholder for one; the others have a word instead of a type."""
    for parameter in parameters:
        if isinstance(parameter, TyperArgument):
            parameter.metavar = parameter.metavar or (parameter.name or "").upper()
            parameter.display_type_rich = lambda ctx: ""  # type: ignore[method-assign]  # its name says enough
        elif parameter.is_flag:
            parameter.metavar = ""
        elif parameter.metavar is None:
            shown = _type_of(parameter, context).strip("<>")
            parameter.metavar = PLACEHOLDERS.get(shown, shown)
        if parameter.name == "help":
            parameter.help = "show this help"
    return parameters


def _type_of(parameter: Any, context: Any) -> str:
    """What kind of value a flag takes; versions of typer before 0.29 have no word for it."""
    if hasattr(parameter, "display_type"):
        return str(parameter.display_type(context))
    choices = getattr(parameter.type, "choices", None)
    return f"[{'|'.join(map(str, choices))}]" if choices else str(parameter.type.name)


def _shortened(told: str) -> str:
    """What a flag is for, without what comes after a semicolon; its default stays.

    >>> _shortened("how it is; default 3, or more [dim](3)[/dim]")
    'how it is [dim](3)[/dim]'
    """
    said, semicolon, rest = told.partition(";")
    default = rest[rest.index("[dim]") :] if semicolon and "[dim]" in rest else ""
    return f"{said} {default}".rstrip()
