"""What happened in a run: write it, read it, count what it cost."""

from rota.runlog._atomic import create_json, new_folder, replacing, write_json, write_text
from rota.runlog._ledger import Ledger
from rota.runlog._network_disk import is_shared
from rota.runlog._read_mixture import read_mixture
from rota.runlog._reader import Run, best_trial, find_runs, read_lines, started_plan, written_steps
from rota.runlog._records import (
    ComparisonRecord,
    DamagedFileError,
    SelectionRecord,
    StateRecord,
    check_record,
    read_json,
    read_record,
)
from rota.runlog._registrations import read_registration, registration_beside, registration_hash
from rota.runlog._schema import INNER, LOG, PLAN, PRUNED, RUN, SCHEMA, SEARCH, SELECTION, STAGE_1, STAGE_2, SUMMARY
from rota.runlog._task_changes import as_if_begun, has_changes, present_tasks, task_of_rows
from rota.runlog._turns import read_turns
from rota.runlog._writer import LogWriter, finite_or_none, step_line
from rota.runlog._writer_lock import LOCK, WRITER, FolderBusyError, only_writer, refuse_lost

__all__ = [
    "INNER",
    "LOCK",
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
    "WRITER",
    "ComparisonRecord",
    "DamagedFileError",
    "FolderBusyError",
    "Ledger",
    "LogWriter",
    "Run",
    "SelectionRecord",
    "StateRecord",
    "as_if_begun",
    "best_trial",
    "check_record",
    "create_json",
    "find_runs",
    "finite_or_none",
    "has_changes",
    "is_shared",
    "new_folder",
    "only_writer",
    "present_tasks",
    "read_json",
    "read_lines",
    "read_mixture",
    "read_record",
    "read_registration",
    "read_turns",
    "refuse_lost",
    "registration_beside",
    "registration_hash",
    "replacing",
    "started_plan",
    "step_line",
    "task_of_rows",
    "write_json",
    "write_text",
    "written_steps",
]
