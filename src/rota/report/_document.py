"""The file around the sections: one page, nothing fetched."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rota.errors import RotaError
from rota.report._plots import COMMON
from rota.report._script import plotly_script
from rota.report._templates import render
from rota.runlog import write_text

if TYPE_CHECKING:
    from markupsafe import Markup


def document(
    title: str, sections: Sequence[tuple[str, Markup | str]], summary: Markup | str = "", reload_s: float | None = None
) -> str:
    """Everything in one string.

    Args:
        title: Of the page.
        sections: Titles and what stands under them; a string that is no markup is a paragraph.
        summary: What stands before the first of them.
        reload_s: The page loads itself again after so many seconds; never by default.
    """
    script = plotly_script("".join(body for _, body in sections))
    common = COMMON if reload_s is None else {**COMMON, "reload": reload_s}
    return str(render("page.html", title=title, summary=summary, sections=sections, common=common, plotly=script))


def write_file(path: Path, content: str) -> None:
    """Write the page, so that a browser sees the old one or the new one; one sentence where it is impossible."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, content)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise RotaError(f"The report expects a file that it can write at {path}. Found: {error.strerror}.") from error
