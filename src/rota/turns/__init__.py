"""Several trainings in one process take turns, and do together what can be done together."""

from rota.turns._company import forget_shared, give_way, own_time, places, shared, surroundings, together
from rota.turns._taking_turns import Turns
from rota.turns._turn_place import Surroundings

__all__ = [
    "Surroundings",
    "Turns",
    "forget_shared",
    "give_way",
    "own_time",
    "places",
    "shared",
    "surroundings",
    "together",
]
