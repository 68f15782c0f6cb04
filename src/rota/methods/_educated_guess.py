"""Auxiliary tasks that a person names, in a ratio that a search finds: what AutoSeM's first stage has to beat."""

from __future__ import annotations

from pydantic import Field

from rota.errors import RotaError, unknown_name
from rota.methods._autosem import SearchOptions, ready_to_search, searched, with_found_ratio
from rota.methods._method import Method, Recipe, RunContext, Stage

NAME = "educated-guess"


class GuessOptions(SearchOptions):
    """Which tasks, and of the search of their ratio."""

    auxiliaries: tuple[str, ...] = Field(min_length=1, description="The auxiliary tasks, such as qqp,mnli.")


def _guess(options: GuessOptions, context: RunContext) -> Recipe:
    ready_to_search(NAME)
    return with_found_ratio(options, context, _named(options, context))


def _outlook(options: GuessOptions, context: RunContext) -> tuple[list[Stage], Recipe]:
    trials, final = searched(options, context, _named(options, context))
    return [trials], final


def _named(options: GuessOptions, context: RunContext) -> list[str]:
    """The target and its auxiliaries."""
    assert context.target is not None, "it needs one"
    for task in options.auxiliaries:
        if task not in context.tasks:
            raise unknown_name("auxiliary task", task, context.tasks)
    named = list(dict.fromkeys([context.target, *options.auxiliaries]))
    if len(named) <= len(options.auxiliaries):
        raise RotaError(
            f"Method '{NAME}' expects different auxiliaries, without the target '{context.target}'. "
            f"Found {', '.join(options.auxiliaries)}."
        )
    return named


EDUCATED_GUESS = [
    Method(
        NAME,
        "auxiliary tasks that you name, in the ratio that a search finds: autosem without its stage 1",
        _guess,
        "baseline of Guo et al. 2019",
        ("target",),
        _outlook,
    )
]
