"""The HTML of the page: templates that escape whatever is put into them."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rota.errors import RotaError, missing_package
from rota.report._words import counted

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

FILTERS = {"counted": counted}
DRAWING = ("plotly", "jinja2")
"""Packages without which there is no page, but there are tables."""
COMPACT = {"separators": (",", ":"), "ensure_ascii": False, "allow_nan": False}  # figures are most of the page


def not_installed(package: str) -> RotaError:
    """What to say where a package that the page needs is missing."""
    return missing_package("The report", package, "report")


def refuse_without_packages() -> None:
    """Refuse now what could not be drawn later; for commands that train first.

    >>> refuse_without_packages()  # says nothing: plotly, jinja2 and scipy are there
    """
    if package := missing_here(*DRAWING, "scipy"):
        raise not_installed(package)


def missing_here(*packages: str) -> str | None:
    """The first of these packages that is not installed.

    >>> missing_here("jinja2", "no_such_package")
    'no_such_package'
    """
    for package in packages:
        try:
            import_module(package)
        except ImportError:
            return package
    return None


def render(template: str, /, **values: Any) -> Markup:
    """A filled-in template. What is not markup already is escaped; a name that the template lacks is an error.

    Args:
        template: The name of a file in `templates`.
        values: What the template calls by these names.
    """
    environment = _environment()
    from markupsafe import Markup  # comes with jinja2

    return Markup(environment.get_template(template).render(values))


@cache
def _environment() -> Environment:
    """Made late and once: nobody who only imports `rota.report` pays for it."""
    try:
        import jinja2
    except ImportError as error:
        raise not_installed("jinja2") from error
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("rota.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(FILTERS)
    environment.policies["json.dumps_kwargs"] = COMPACT
    return environment
