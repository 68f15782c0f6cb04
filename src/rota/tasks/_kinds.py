"""The table of kinds, to read them back from JSON."""

from __future__ import annotations

from typing import Any

from rota.errors import RotaError
from rota.tasks._classification import Classification, MultipleChoice, SpanClassification
from rota.tasks._grouped import Cloze, GroupedAnswers
from rota.tasks._kind import Kind
from rota.tasks._regression import Regression
from rota.tasks._spans import Answer, Span
from rota.tasks._tagging import Tagging

KINDS: dict[str, type[Kind]] = {
    kind.__name__: kind
    for kind in (
        Classification,
        SpanClassification,
        MultipleChoice,
        Regression,
        Tagging,
        Span,
        Answer,
        GroupedAnswers,
        Cloze,
    )
}


def kind_from(description: dict[str, Any]) -> Kind:
    """The kind that `Kind.describe` wrote.

    >>> kind_from(Classification(3).describe())
    classification (3 classes)
    """
    content = dict(description)
    name = content.pop("type", None)
    if name not in KINDS:
        raise RotaError(f"Expected a kind of task among {', '.join(KINDS)}. Found {name!r}.")
    return KINDS[name](**{key: tuple(value) if isinstance(value, list) else value for key, value in content.items()})
