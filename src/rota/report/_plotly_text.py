"""Text inside figures, where plotly reads a little HTML of its own and fills in what stands in %{braces}."""

from __future__ import annotations

from html import escape

LINE_BREAK = "<br>"


def label(name: str) -> str:
    """A name, shown as it is written.

    >>> label("<b>%{x}")
    '&lt;b&gt;%&#123;x}'
    """
    return escape(name).replace("%{", "%&#123;")


def shorter(name: str, most: int = 16) -> str:
    """A label that fits.

    >>> shorter("mean-of-everything", 8)
    'mean-of…'
    """
    return label(name if len(name) <= most else name[: most - 1] + "…")


def bold(text: str, colour: str | None = None) -> str:
    """A label in bold, and in a colour of its own."""
    style = "" if colour is None else f' style="color:{colour}"'
    return f"<b{style}>{text}</b>"


def fine_print(text: str) -> str:
    """A label in small type."""
    return f'<span style="font-size:11px">{text}</span>'


def pointer(text: str) -> str:
    """What stands under the pointer, and nothing beside it: plotly would add the name of the line."""
    return f"{text}<extra></extra>"
