"""The HTML around tables and figures: one file, nothing fetched."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from importlib.resources import files
from pathlib import Path

from rota.errors import RotaError
from rota.report._palette import Look
from rota.report._plots import common


def section(title: str, *parts: str) -> str:
    """A heading and what stands under it."""
    return f"<section><h2>{escape(title)}</h2>{''.join(parts)}</section>"


def legend(looks: Mapping[str, Look], names: Mapping[str, str], notes: Mapping[str, str] | None = None) -> str:
    """Buttons that show and hide lines in all figures of their section.

    Args:
        looks: By what figures call the line.
        names: What the reader calls it.
        notes: A word after some names.
    """
    buttons = (
        f'<button type="button" aria-pressed="true" data-name="{escape(key)}">{look.swatch()} {escape(names[key])}'
        f"{f' <small>{escape(notes[key])}</small>' if notes and notes.get(key) else ''}</button>"
        for key, look in looks.items()
    )
    return f'<div class="legend">{"".join(buttons)}</div>'


def whole_page(title: str, body: str, plotly: str) -> str:
    """Everything in one string. Scripts stand last: text and tables can be read before they are loaded."""
    style, script = (
        files("rota.report").joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "page.js")
    )
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{escape(title)}</title>\n'
        f"<style>\n{style}</style>\n</head>\n<body>\n<main>\n<h1>{escape(title)}</h1>\n{body}\n</main>\n"
        f'<script type="application/json" id="common">{common()}</script>\n'
        f"<script>{plotly}</script>\n<script>\n{script}</script>\n</body>\n</html>\n"
    )


def write_page(path: Path, content: str) -> None:
    """Write the page; one sentence where that is impossible."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise RotaError(f"The report expects a file that it can write at {path}. Found: {error.strerror}.") from error
