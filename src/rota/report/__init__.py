"""Tables and pictures from run logs: one page that a person reads. Never imports torch."""

from rota.report._claims import Claim, Verdict, judge, read_claims
from rota.report._foresight import Foresight, foresight
from rota.report._groups import Group, group_runs
from rota.report._history import read_history
from rota.report._measures import MEASURES
from rota.report._numbers import Spread, spread, task_spread
from rota.report._paired import Difference, paired
from rota.report._results import Cost, Score, Scores, all_costs, all_scores
from rota.report._scores import score
from rota.report._simulation import write_simulation
from rota.report._write import report_text, write_report

__all__ = [
    "MEASURES",
    "Claim",
    "Cost",
    "Difference",
    "Foresight",
    "Group",
    "Score",
    "Scores",
    "Spread",
    "Verdict",
    "all_costs",
    "all_scores",
    "foresight",
    "group_runs",
    "judge",
    "paired",
    "read_claims",
    "read_history",
    "report_text",
    "score",
    "spread",
    "task_spread",
    "write_report",
    "write_simulation",
]
