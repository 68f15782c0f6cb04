"""The file around the sections: one page, nothing fetched."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rota.errors import RotaError
from rota.report._plots import COMMON, plotly_script
from rota.report._templates import render

if TYPE_CHECKING:
    from markupsafe import Markup


def document(title: str, sections: Sequence[tuple[str, Markup | str]], summary: Markup | str = "") -> str:
    """Everything in one string.

    Args:
        title: Of the page.
        sections: Titles and what stands under them; a string that is no markup is a paragraph.
        summary: What stands before the first of them.
    """
    return str(
        render("page.html", title=title, summary=summary, sections=sections, common=COMMON, plotly=plotly_script())
    )


def write_file(path: Path, content: str) -> None:
    """Write the page; one sentence where that is impossible."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise RotaError(f"The report expects a file that it can write at {path}. Found: {error.strerror}.") from error
