"""The one table of names that the command line uses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rota.errors import RotaError
from rota.methods._active import ACTIVE
from rota.methods._auto import AUTO
from rota.methods._autosem import AUTOSEM
from rota.methods._bandits import BANDITS
from rota.methods._by_gradients import GRADIENTS
from rota.methods._counterfactual import COUNTERFACTUAL
from rota.methods._educated_guess import EDUCATED_GUESS
from rota.methods._exp3s import EXP3S
from rota.methods._method import Method
from rota.methods._mixtures import MIXTURES
from rota.methods._of_policy import method_of_policy
from rota.methods._options import Options
from rota.methods._picked import PICKED
from rota.methods._scaling_laws import LAWS
from rota.methods._target import TARGETED
from rota.methods._thompson import THOMPSON
from rota.methods._weightings import WEIGHTINGS
from rota.plugins import PluginTable

FAMILIES = (
    MIXTURES,
    AUTO,
    EXP3S,
    BANDITS,
    LAWS,
    GRADIENTS,
    WEIGHTINGS,
    COUNTERFACTUAL,
    ACTIVE,
    PICKED,
    TARGETED,
    THOMPSON,
    AUTOSEM,
    EDUCATED_GUESS,
)


def _method(name: str, found: Any) -> Method:
    if not isinstance(found, Method):
        raise RotaError(f"expected a rota.methods.Method, found {found!r}")
    if not issubclass(found.options, Options):
        raise RotaError(f"expected a recipe whose `options` are a rota.methods.Options, found {found.options!r}")
    return replace(found, name=name)


METHODS: PluginTable[Method] = PluginTable(
    {method.name: method for family in FAMILIES for method in family},
    {"rota.methods": _method, "rota.policies": method_of_policy},
)
"""Methods by name: those of the house, and those of plug-ins."""
