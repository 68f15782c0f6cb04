"""What would another mixture have earned?"""

from rota.offpolicy._estimate import ESTIMATORS, Estimate, value
from rota.offpolicy._log import Log, as_log, read_logs
from rota.offpolicy._mixture import best_mixture, load_cmaes
from rota.offpolicy._planned import Planned, planned
from rota.offpolicy._reward import Reward, Visit, heard, improving

__all__ = [
    "ESTIMATORS",
    "Estimate",
    "Log",
    "Planned",
    "Reward",
    "Visit",
    "as_log",
    "best_mixture",
    "heard",
    "improving",
    "load_cmaes",
    "planned",
    "read_logs",
    "value",
]
