"""What a method can be told: declared once, in one class."""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Mapping
from typing import Any, ClassVar, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model, model_validator
from pydantic.fields import FieldInfo

from rota.deprecation import warn
from rota.errors import RotaError, describe_mistakes


class Options(BaseModel):
    """Options of a method. A subclass is the only place where they are declared: flags, YAML files, `rota methods NAME`
    and the tables of the documents are made from it, or checked against it.

    >>> class Mine(Options):
    ...     eta: float = Field(0.1, gt=0, description="how fast it learns")
    ...     weights: dict[str, float] = {}
    >>> Mine(weights="rte=2,mnli=1")  # as typed on the command line
    Mine(eta=0.1, weights={'rte': 2.0, 'mnli': 1.0})
    """

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, frozen=True)

    renamed: ClassVar[Mapping[str, str]] = {}
    """What options with an old name are called now."""

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, given: Any) -> Any:
        """What a person types for a mapping or a list: `left=2,right=1`, `runs/a,runs/b`, `1-20`."""
        if not isinstance(given, dict):
            return given
        for old in [name for name in given if name in cls.renamed]:
            warn(old, cls.renamed[old], of=f"the options of {cls.__name__}")
            given = {cls.renamed[old]: given[old], **{name: own for name, own in given.items() if name != old}}
        return {name: _parsed(cls.model_fields.get(name), value) for name, value in given.items()}

    def of(self, owner: Any) -> dict[str, Any]:
        """Those that are arguments of a constructor, by name."""
        known = inspect.signature(owner).parameters
        return {name: getattr(self, name) for name in type(self).model_fields if name in known}


def options_of(owner: Any, but: Collection[str] = (), defaults: Mapping[str, Any] | None = None) -> type[Options]:
    """Options from the arguments of a constructor: types, defaults and limits, with the descriptions of its docstring.

    Args:
        owner: A policy or a source.
        but: Arguments that are no options.
        defaults: Other defaults than the constructor has.

    >>> from rota.policies import Exp3S
    >>> found = options_of(Exp3S, but=["tasks"], defaults={"eta": 0.5})
    >>> found().eta, "tasks" in found.model_fields
    (0.5, False)
    """
    hints = get_type_hints(owner.__init__, include_extras=True)
    reasons = argument_reasons(inspect.getdoc(owner) or "")
    fields: dict[str, Any] = {}
    for name, parameter in inspect.signature(owner).parameters.items():
        if name in but or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        default = (defaults or {}).get(name, parameter.default)
        wanted = ... if default is inspect.Parameter.empty else default
        fields[name] = hints.get(name, Any), Field(wanted, description=reasons.get(name))
    found = create_model(f"{getattr(owner, '__name__', 'own')}Options", __base__=Options, **fields)
    found.renamed = getattr(owner.__init__, "renamed_arguments", {})
    return found


def checked(model: type[Options], given: Mapping[str, Any], owner: str) -> Options:
    """All options from those that were given; report every wrong one at once.

    Args:
        model: The class that declares them.
        given: Some of them, by name.
        owner: Whose options they are, for complaints.

    >>> class Mine(Options):
    ...     eta: float = Field(0.1, gt=0)
    >>> checked(Mine, {"eta": 0}, "My options")
    Traceback (most recent call last):
    rota.errors.RotaError: My options: 1 wrong field: 'eta' expects greater than 0, found 0.
    """
    try:
        return model.model_validate(dict(given))
    except ValidationError as error:
        raise RotaError(f"{owner}: {describe_mistakes(error.errors(), list(model.model_fields))}") from error


def _parsed(field: FieldInfo | None, value: Any) -> Any:
    if field is not None and type(value) in (int, float) and get_origin(field.annotation) is tuple:
        return [value]  # a list of one, of which YAML makes a number
    if field is None or not isinstance(value, str):
        return value
    origins = {get_origin(part) or part for part in (*get_args(field.annotation), field.annotation)}
    parts = [part.strip() for part in value.split(",") if part.strip()]
    if origins & {dict, Mapping} and all("=" in part for part in parts):
        return dict(part.split("=", 1) for part in parts)
    if tuple not in origins:
        return value
    return value.split("-") if re.fullmatch(r"\d+-\d+", value) else parts


def argument_reasons(docstring: str) -> dict[str, str]:
    """What a docstring says about each argument.

    >>> argument_reasons("Sums.\\n\\nArgs:\\n    a, b: What is\\n        added.\\n    c: More.\\n\\nNote: c: no.")
    {'a': 'What is added.', 'b': 'What is added.', 'c': 'More.'}
    """
    _, _, rest = docstring.partition("Args:\n")
    found: dict[str, str] = {}
    names: list[str] = []
    for line in rest.splitlines():
        if line and not line.startswith(" "):
            break
        entry = re.match(r" {4}(\w+(?:, \w+)*): (.*)", line)
        if entry:
            names = entry.group(1).split(", ")
            found |= dict.fromkeys(names, entry.group(2))
        elif line.startswith(" " * 8) and names:
            found |= {name: f"{found[name]} {line.strip()}" for name in names}
        else:
            names = []
    return found
