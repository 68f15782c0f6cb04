"""What is measured in a run and told to nobody."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rota.errors import RotaError, unknown_name
from rota.methods import Recipe, checked, options_of
from rota.sources import USUAL, Source, Survey, source_from, usual_sources


def sources_of(recipe: Recipe, observe: Mapping[str, Mapping[str, Any]] | None) -> list[Source] | None:
    """Who is listened to in a run: those that the recipe names, and observers. None: the usual ones, and nobody else.

    What the policy hears anyhow is not measured twice.

    Args:
        recipe: Of the run's method.
        observe: Words, each with options of the usual source of it; `Plan(observe=…)`.

    >>> from rota.policies import uniform
    >>> [observer] = sources_of(Recipe(uniform(["rte", "mrpc"])), {"uncertainty": {"every": 50}})
    >>> observer.name, observer.every
    ('survey', 50)
    """
    listen = None if recipe.listen is None else [source_from(own) for own in recipe.listen]
    if not observe:
        return listen
    found = usual_sources(recipe.policy) if listen is None else listen
    heard = {source.says for source in found}
    return found + [source for source in observers(observe) if source.says not in heard]


def observers(observe: Mapping[str, Mapping[str, Any]] | None) -> list[Source]:
    """Who measures what is told to nobody; refuse unknown words and options.

    >>> [source.describe()["measure"] for source in observers({"gain": {}})]
    ['visit_gain']
    """
    return [_observer(word, options) for word, options in (observe or {}).items()]


def _observer(word: str, options: Mapping[str, Any]) -> Source:
    if word not in USUAL:
        raise unknown_name("word to observe", word, USUAL)
    usual, where = USUAL[word], f"Plan(observe={word})"
    if not options:
        return usual
    if not isinstance(usual, Survey):
        raise RotaError(f"{where} expects no options. Found {', '.join(options)}.")
    return Survey(**checked(options_of(Survey, but=("says",)), options, where).model_dump())
