"""Hosts, and which of their versions were tried."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version

from rota.errors import RotaError, missing_package


def require(package: str, least: str, below: str) -> None:
    """Refuse to go on without a host, or with a version of it that was not tried.

    Args:
        package: Its name.
        least: The oldest version.
        below: The first version that is not known.
    """
    try:
        found = version(package)
    except PackageNotFoundError:
        raise missing_package(f"rota.integrations for {package}", package, "hosts") from None
    if not _parts(least) <= _parts(found) < _parts(below):
        raise RotaError(
            f"rota.integrations expects {package} {least} or later, below {below}. Found {found}. Install another one: "
            f"pip install '{package}>={least},<{below}'."
        )


def _parts(number: str) -> tuple[int, ...]:
    """
    >>> _parts("5.17.0.dev0") < _parts("5.22.1") < _parts("6")
    True
    """
    return tuple(int(part) for part in re.findall(r"\d+", number)[:3])
