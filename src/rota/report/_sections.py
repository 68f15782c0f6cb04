"""What the page is made of, from top to bottom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rota.errors import RotaError
from rota.plugins import PluginTable, said
from rota.report._bandit_section import bandit_section
from rota.report._convergence_section import convergence_section
from rota.report._cost_section import cost_section
from rota.report._curve_section import curve_section
from rota.report._log_section import log_section
from rota.report._outlook_section import outlook_section
from rota.report._page import ReportPage, Section
from rota.report._pool_section import pool_section
from rota.report._round_section import round_section
from rota.report._score_section import score_section
from rota.report._search_section import search_section
from rota.report._settings_section import settings_section
from rota.report._share_section import share_section

if TYPE_CHECKING:
    from markupsafe import Markup

SECTIONS = (
    Section("Scores", score_section),
    Section("Shares", share_section),
    Section("Curves", curve_section),
    Section("Convergence", convergence_section),
    Section("Outlook", outlook_section),
    Section("Pools", pool_section),
    Section("Rounds", round_section),
    Section("Task selection", bandit_section),
    Section("Ratio search", search_section),
    Section("Mixtures and logs", log_section),
    Section("Cost", cost_section),
    Section("Settings", settings_section),
)
"""The built-in ones."""


def sections() -> list[Section]:
    """All sections of a page, in their order; those of other packages come last."""
    return [*SECTIONS, *PLUGINS.values()]


def _section(name: str, found: Any) -> Section:
    if not isinstance(found, Section):
        raise RotaError(f"expected a rota.report.Section, found {found!r}")

    def render(page: ReportPage) -> Markup | str | None:
        try:
            return found.render(page)
        except Exception as error:  # the rest of the page does not depend on it
            return f"The plug-in '{name}' could not make this section: {said(error)}."

    return Section(found.title, render)


PLUGINS: PluginTable[Section] = PluginTable({}, {"rota.report_sections": _section})
