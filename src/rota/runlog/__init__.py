"""What happened in a run: write it, read it, count what it cost."""

from rota.runlog._ledger import Ledger
from rota.runlog._reader import Run, best_trial, find_runs, read_lines, started_plan, written_steps
from rota.runlog._schema import INNER, LOG, PLAN, PRUNED, RUN, SCHEMA, SEARCH, SELECTION, STAGE_1, STAGE_2, SUMMARY
from rota.runlog._writer import LogWriter, finite_or_none, step_line, write_json

__all__ = [
    "INNER",
    "LOG",
    "PLAN",
    "PRUNED",
    "RUN",
    "SCHEMA",
    "SEARCH",
    "SELECTION",
    "STAGE_1",
    "STAGE_2",
    "SUMMARY",
    "Ledger",
    "LogWriter",
    "Run",
    "best_trial",
    "find_runs",
    "finite_or_none",
    "read_lines",
    "started_plan",
    "step_line",
    "write_json",
    "written_steps",
]
