"""Checks for your own policies, shipped with the library."""

from rota.testing._conformance import check_policy

__all__ = ["check_policy"]
