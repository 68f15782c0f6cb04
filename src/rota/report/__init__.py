"""Tables and pictures from run logs: one page that a person reads. Never imports torch."""

from rota.report._numbers import spread
from rota.report._paired import Difference, paired
from rota.report._pools import task_spread
from rota.report._simulation import write_simulation
from rota.report._write import write_report

__all__ = ["Difference", "paired", "spread", "task_spread", "write_report", "write_simulation"]
