"""Who trains: processes of this machine, a Ray cluster, or SLURM. How many they are and where changes no number."""

from rota.workers._attempts import Attempts, attempts_at, mark_end, mark_start, marked
from rota.workers._labour import Assignment, HowItEnded, Labour, LabourEvent, Workers
from rota.workers._opening import HERE, WorkPlace, open_workers, read_place
from rota.workers._processes import Processes

__all__ = [
    "HERE",
    "Assignment",
    "Attempts",
    "HowItEnded",
    "Labour",
    "LabourEvent",
    "Processes",
    "WorkPlace",
    "Workers",
    "attempts_at",
    "mark_end",
    "mark_start",
    "marked",
    "open_workers",
    "read_place",
]
