"""Tables and pictures from run logs: one page that a person reads. Never imports torch."""

from rota.deprecation import renamed_names
from rota.report._card import model_card
from rota.report._headroom_page import write_headroom
from rota.report._inline import inline_html
from rota.report._page import ReportPage, Section
from rota.report._picture import write_picture
from rota.report._plots import figure_html
from rota.report._similarity_page import write_similarity
from rota.report._simulation import write_simulation
from rota.report._templates import DRAWING, missing_here, refuse_without_packages
from rota.report._transfer_page import write_transfer
from rota.report._write import report_text, write_report

__all__ = [
    "DRAWING",
    "ReportPage",
    "Section",
    "figure_html",
    "inline_html",
    "missing_here",
    "model_card",
    "refuse_without_packages",
    "report_text",
    "write_headroom",
    "write_picture",
    "write_report",
    "write_similarity",
    "write_simulation",
    "write_transfer",
]

__getattr__ = renamed_names(
    __name__,
    {
        "Claim": "rota.analysis.Claim",
        "Cost": "rota.analysis.Cost",
        "Difference": "rota.analysis.Difference",
        "Foresight": "rota.analysis.Foresight",
        "Group": "rota.analysis.Group",
        "MEASURES": "rota.analysis.MEASURES",
        "Score": "rota.analysis.GroupScore",
        "Scores": "rota.analysis.ScoreTable",
        "Spread": "rota.analysis.Spread",
        "Verdict": "rota.analysis.Verdict",
        "all_costs": "rota.analysis.all_costs",
        "all_scores": "rota.analysis.all_scores",
        "foresight": "rota.analysis.foresight",
        "group_runs": "rota.analysis.group_runs",
        "judge": "rota.analysis.judge",
        "paired": "rota.analysis.paired",
        "read_claims": "rota.analysis.read_claims",
        "read_history": "rota.analysis.read_history",
        "score": "rota.analysis.score",
        "spread": "rota.analysis.spread",
        "task_spread": "rota.analysis.task_spread",
    },
)
