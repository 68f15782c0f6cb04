"""How notebooks show objects of the core: by the report, which is imported by its name only when asked."""

from __future__ import annotations

from importlib import import_module

from rota.errors import RotaError

REPORT = "rota.report"  # by its name, and late: it stands above all who call this


def shown_inline(what: object) -> str | None:
    """HTML for a cell of a notebook; None, so that it prints the thing instead, where packages of the report are
    missing or the folder cannot be read."""
    try:
        html: str = import_module(REPORT).inline_html(what)
    except (RotaError, ImportError):
        return None
    return html
