"""The one table of names that the command line uses."""

from __future__ import annotations

from rota.methods._active import ACTIVE
from rota.methods._auto import AUTO, AUTO_DEV
from rota.methods._autosem import AUTOSEM, RANDOM_RATIO
from rota.methods._counterfactual import COUNTERFACTUAL
from rota.methods._exp3s import EXP3S, EXP3S_VISITS
from rota.methods._method import Method
from rota.methods._mixtures import MIXTURES
from rota.methods._picked import PICKED
from rota.methods._target import TARGETED
from rota.methods._thompson import THOMPSON

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        *MIXTURES,
        AUTO,
        AUTO_DEV,
        EXP3S,
        EXP3S_VISITS,
        COUNTERFACTUAL,
        *ACTIVE,
        *PICKED,
        *TARGETED,
        THOMPSON,
        AUTOSEM,
        RANDOM_RATIO,
    )
}
