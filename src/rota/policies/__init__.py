"""Which task next? Every policy is a distribution over tasks that changes with feedback."""

from rota.policies._ado import ADO
from rota.policies._anchored import Anchored
from rota.policies._auto import Auto
from rota.policies._auto_dev import AutoDev
from rota.policies._base import Policy, Stateful
from rota.policies._cycle import Cycle
from rota.policies._dga import DGA
from rota.policies._dump import DUMP
from rota.policies._dwa import DWA
from rota.policies._dynamix import DynamixSFT
from rota.policies._ends import WithEnds
from rota.policies._exp3s import Exp3S
from rota.policies._famo import FAMO
from rota.policies._fixed import Fixed, proportional, uniform
from rota.policies._odm import ODM
from rota.policies._pike import PiKE
from rota.policies._rlw import RLW
from rota.policies._sec import SEC
from rota.policies._start import WithStart
from rota.policies._steered import Steered
from rota.policies._tempered import Tempered
from rota.policies._thompson import Thompson
from rota.policies._tracking import Tracking
from rota.policies._union import Union
from rota.policies._uw import UW
from rota.policies._uwso import UWSO
from rota.policies._wrappers import Hold, WithFloor

__all__ = [
    "ADO",
    "DGA",
    "DUMP",
    "DWA",
    "FAMO",
    "ODM",
    "RLW",
    "SEC",
    "UW",
    "UWSO",
    "Anchored",
    "Auto",
    "AutoDev",
    "Cycle",
    "DynamixSFT",
    "Exp3S",
    "Fixed",
    "Hold",
    "PiKE",
    "Policy",
    "Stateful",
    "Steered",
    "Tempered",
    "Thompson",
    "Tracking",
    "Union",
    "WithEnds",
    "WithFloor",
    "WithStart",
    "proportional",
    "uniform",
]
