"""Where tasks come from."""

from rota.data._load import SUITES, load_tasks
from rota.data._suite import Suite

__all__ = ["SUITES", "Suite", "load_tasks"]
