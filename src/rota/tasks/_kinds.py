"""The table of kinds, to read them back from JSON."""

from __future__ import annotations

from typing import Any

from rota.errors import RotaError, unknown_name
from rota.plugins import PluginTable
from rota.tasks._classification import Classification, MultipleChoice, SpanClassification
from rota.tasks._grouped import Cloze, GroupedAnswers
from rota.tasks._kind import Kind
from rota.tasks._language import Causal
from rota.tasks._regression import Regression
from rota.tasks._spans import Answer, Span
from rota.tasks._tagging import Tagging

OWN: tuple[type[Kind], ...] = (
    Classification,
    SpanClassification,
    MultipleChoice,
    Regression,
    Tagging,
    Span,
    Answer,
    GroupedAnswers,
    Cloze,
    Causal,
)


def _kind(name: str, found: Any) -> type[Kind] | None:
    """A kind of another package; its name is that of its class, by which saved models know it."""
    if not (isinstance(found, type) and issubclass(found, Kind)):
        return None  # a suite
    if found.__name__ != name:
        raise RotaError(f"a kind expects the name of its class, {found.__name__}")
    return found


KINDS: PluginTable[type[Kind]] = PluginTable({kind.__name__: kind for kind in OWN}, {"rota.tasks": _kind})
"""Kinds of tasks by the names of their classes: those of the house, and those of plug-ins."""


def kind_from(description: dict[str, Any]) -> Kind:
    """The kind that `Kind.describe` wrote.

    >>> kind_from(Classification(3).describe())
    classification (3 classes)
    """
    content = dict(description)
    name = content.pop("type", None)
    if name not in KINDS:
        raise unknown_name("kind of task", str(name), KINDS)
    return KINDS[name](**{key: tuple(value) if isinstance(value, list) else value for key, value in content.items()})
