"""Presets: a method under a name of its own, with other defaults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import Field, create_model

from rota.errors import unknown_name
from rota.methods._method import Method, Recipe, RunContext
from rota.methods._options import Options


def preset(method: Method, name: str, summary: str, source: str, defaults: Mapping[str, Any]) -> Method:
    """A method with other defaults. Its options are those of the method, with the same types, limits and reasons; what
    a plan says about one of them counts.

    Args:
        method: What it is a preset of.
        name: How the command line calls it: the method's name, @, and whose settings these are.
        summary: What it does, in one line.
        source: Where these settings come from.
        defaults: The options that are others.

    >>> from rota.methods import METHODS
    >>> third = {"power": 1 / 3}
    >>> small = preset(METHODS["temperature"], "temperature@third", "by the cube root of the sizes", "us", third)
    >>> small.name, round(small.checked({}).power, 2), small.checked({"power": 1}).power
    ('temperature@third', 0.33, 1.0)
    """
    declared: Any = with_defaults(method.options, defaults)
    recipe, outlook = _with(method.recipe, declared), method.outlook
    return Method(name, summary, recipe, source, method.needs, outlook)


def with_defaults(options: type[Options], defaults: Mapping[str, Any]) -> type[Options]:
    """The same options with other defaults.

    >>> class Mine(Options):
    ...     eta: float = Field(0.1, gt=0, description="how fast it learns")
    >>> fast = with_defaults(Mine, {"eta": 1.0})
    >>> fast().eta, fast.model_fields["eta"].description
    (1.0, 'how fast it learns')
    """
    fields: dict[str, Any] = {}
    for name, value in defaults.items():
        if name not in options.model_fields:
            raise unknown_name("option", name, options.model_fields)
        own = options.model_fields[name]
        kept: Any = own.annotation
        for limit in own.metadata:
            kept = Annotated[kept, limit]
        fields[name] = kept, Field(value, description=own.description, validate_default=True)
    return create_model(options.__name__, __base__=options, **fields)


def _with(recipe: Callable[[Any, RunContext], Recipe], declared: type[Options]) -> Callable[[Any, RunContext], Recipe]:
    """The same recipe, whose options are those that are declared."""

    def own(options: Options, context: RunContext) -> Recipe:
        return recipe(options, context)

    own.__annotations__["options"] = declared
    return own
