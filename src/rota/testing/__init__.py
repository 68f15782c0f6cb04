"""Checks for your own policies and trainers, and helpers for tests of sources and streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rota.testing._conformance import check_policy
from rota.testing._host import check_host
from rota.testing._written import written_run

if TYPE_CHECKING:
    from rota.testing._runs import access_to

__all__ = ["access_to", "check_host", "check_policy", "written_run"]


def __getattr__(name: str) -> Any:
    """Policies are checked without torch."""
    if name == "access_to":
        from rota.testing._runs import access_to

        return access_to
    raise AttributeError(f"module 'rota.testing' has no attribute '{name}'")
