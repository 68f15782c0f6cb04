"""All runs of a comparison: those that are finished are kept, one that fails does not stop the others."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rota.budgets import UPDATES
from rota.comparisons._comparison import Cell, Comparison
from rota.errors import RotaError
from rota.methods import METHODS
from rota.plans import Plan, make_plan
from rota.runlog import RUN, FolderBusyError, Run, written_steps
from rota.turns import Turns
from rota.turns import places as company
from rota.workers import Assignment, HowItEnded, Labour, Processes, Workers, marked

UNSETTLED = (None, "auto")  # a run fills these in
COMPANY = (
    *("tasks", "only", "longest", "model", "parts", "adapter", "freeze", "pooling", "head_hidden", "start"),
    *("engine", "device", "precision", "optimizer", "accumulate", "batch_size", "weight_decay", "betas", "eps"),
)
"""Fields of a plan that say with which others a run shares passes: its model, its tasks, and how it is executed."""


@dataclass(frozen=True)
class Event:
    """Something that happened to one run of a comparison.

    Args:
        kind: "kept": it was finished already; "started"; "done"; "failed"; "left": another process is training it;
            "queued": it will be trained later; "waiting": nothing happened for a while.
        cell: Whose.
        run: How it ended, if it did.
        said: What went wrong, or who is training it.

    >>> cell = Cell("exp3s", 1, make_plan({"method": "exp3s"}))
    >>> event = Event("failed", cell, said="The disk is full.")
    >>> f"{event.cell.name} {event.kind}: {event.said}"
    'exp3s-1 failed: The disk is full.'
    """

    kind: str
    cell: Cell | None = None
    run: Run | None = None
    said: str = ""


def run_comparison(
    comparison: Comparison, out: Path, jobs: int = 1, progress: bool = False, workers: Workers | None = None
) -> Iterator[Event]:
    """Train whatever is missing in `out`, and tell what happens. What another process is training is left to it, and
    looked at once more at the end: by then it may be finished, or given up.

    Args:
        comparison: What to train.
        out: A folder; each run gets one in it.
        jobs: Processes at a time, each of which trains several runs side by side where that is faster. It changes no
            number: threads are part of a plan, and a run in company has the numbers of the same run alone.
        progress: Whether each run shows a bar; only where one is trained at a time.
        workers: Who trains, if not `jobs` processes of this machine.

    >>> import tempfile
    >>> from rota.comparisons import make_comparison
    >>> content = {"methods": ["uniform"], "without": ["proportional", "union", "temperature"]}
    >>> comparison = make_comparison(content, {"tasks": ["digits"], "steps": 2, "device": "cpu"}, seeds=[0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = [(event.cell.name, event.kind) for event in run_comparison(comparison, Path(folder))]
    ...     again = [(event.cell.name, event.kind) for event in run_comparison(comparison, Path(folder))]
    >>> first, again
    ([('uniform-0', 'started'), ('uniform-0', 'done')], [('uniform-0', 'kept')])
    """
    yield from train_cells(comparison.cells, out, workers or Processes(jobs), IN_COMPANY, progress)


def train_cells(
    cells: Sequence[Cell], out: Path, workers: Workers, labour: Labour, progress: bool = False
) -> Iterator[Event]:
    """Have whatever is missing in `out` trained, and tell what happens.

    Args:
        cells: What to train.
        out: A folder; each cell gets one in it.
        workers: Who trains.
        labour: How: `IN_COMPANY` of others of the same kind, or `ALONE`.
        progress: Whether each run shows a bar.

    >>> import tempfile
    >>> from rota.comparisons import ALONE
    >>> from rota.workers import Processes
    >>> plan = make_plan({"tasks": ["digits"], "method": "uniform", "steps": 2, "device": "cpu"})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [event.kind for event in train_cells([Cell("own", 0, plan)], Path(folder), Processes(), ALONE)]
    ['started', 'done']
    """
    left: list[Cell] = []
    for event in _train_missing(cells, out, workers, labour, progress):
        if event.kind == "left" and event.cell is not None:
            left.append(event.cell)
        else:
            yield event
    yield from _train_missing(left, out, workers, labour, progress)


def _train_missing(
    cells: Sequence[Cell], out: Path, workers: Workers, labour: Labour, progress: bool
) -> Iterator[Event]:
    by_name = {cell.name: cell for cell in cells}
    assignments = []
    for cell in cells:
        if is_finished(cell.plan, cell.folder(out)):
            yield Event("kept", cell, Run(cell.folder(out)))
        else:
            assignments.append(_assignment(cell, out, progress))
    if not assignments:
        return
    for kind, assignment, ended in workers.work_through(assignments, labour):
        if kind == "done":
            yield _ended(by_name[assignment.name], out, ended)
        elif kind == "died":
            yield _ended(by_name[assignment.name], out, ("failed", ended))
        else:
            yield Event(kind, by_name[assignment.name] if assignment else None)


def _assignment(cell: Cell, out: Path, progress: bool = False) -> Assignment:
    """A cell, as something that can be sent to another process."""
    fields = cell.plan.model_dump(exclude_unset=True)
    return Assignment(cell.name, str(cell.folder(out).absolute()), fields, progress)


def steps_done(cell: Cell, out: Path) -> int:
    """Updates of a run so far.

    >>> import tempfile
    >>> from rota.comparisons import make_comparison
    >>> from rota.testing import written_run
    >>> cell = make_comparison({"methods": ["auto"]}, {"steps": 20}, seeds=[0]).cells[0]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = written_run({"rte": [0.5]}, every=12, finished=False, folder=cell.folder(Path(folder)))
    ...     f"{steps_done(cell, Path(folder))} of {cell.plan.steps}"
    '12 of 20'
    """
    return written_steps(cell.folder(out))


def is_finished(plan: Plan, folder: Path) -> bool:
    """Whether the folder holds the finished run of this plan.

    >>> import tempfile
    >>> from rota.testing import written_run
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plan = make_plan({"method": "exp3s", "seed": 1, "steps": 100, "tasks": ["rte"]})
    ...     kept = json.loads(plan.model_dump_json())
    ...     _ = written_run({"rte": [0.5]}, folder=Path(folder) / "exp3s-1", plan=kept)
    ...     is_finished(plan, Path(folder) / "exp3s-1"), is_finished(plan, Path(folder) / "exp3s-2")
    (True, False)
    """
    if not (folder / RUN).is_file() or not Run(folder).finished:
        return False
    stored, asked = Run(folder).plan, json.loads(plan.model_dump_json())
    given = {name for name, value in asked.items() if value not in UNSETTLED}
    given -= {"best"} - plan.model_fields_set  # a method may have its own
    given -= {"steps"} if plan.budget != UPDATES else set()  # which follow from it
    given -= {"keep"}  # what stays of it says nothing about its numbers
    return all(stored.get(name) == asked[name] for name in given)


def _turns(
    work: Callable[[Assignment], HowItEnded], first: Assignment, processes: int
) -> tuple[Turns[Assignment, HowItEnded], int]:
    """What trains several runs in one process, and how many at a time."""
    from rota.runs import side_by_side, take_turns  # late: it loads torch

    how = side_by_side(make_plan(first.fields), processes)
    return take_turns(work, how.streams), how.places


def _kind(assignment: Assignment) -> Hashable:
    """Runs of one kind share passes where runs share any."""
    found = {name: assignment.fields.get(name) for name in COMPANY}
    method = METHODS.get(assignment.fields.get("method", ""))
    if method is not None and "target" in method.needs:  # it may leave the other tasks out, and their heads
        found["target"] = assignment.fields.get("target")
    return json.dumps(found, sort_keys=True, default=str)


def _in_company(assignment: Assignment) -> HowItEnded:
    from rota.runs import in_company  # late: it loads torch

    return _trained(assignment, in_company, assignment.progress and company() == 1)


def _alone(assignment: Assignment) -> HowItEnded:
    return _trained(assignment, lambda plan, folder: plan, assignment.progress)


def train_marked(cell: Cell, out: Path) -> HowItEnded:
    """Train one cell in this process, between marks of its start and of its end; how it ended.

    >>> import tempfile
    >>> from rota.workers import attempts_at
    >>> plan = make_plan({"tasks": ["digits"], "method": "uniform", "steps": 2, "device": "cpu"})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     train_marked(Cell("uniform", 0, plan), Path(folder)), attempts_at(Path(folder) / "uniform-0")
    (('done', ''), Attempts(starts=1, ends=1))
    """
    return marked(_in_company, _assignment(cell, out))


IN_COMPANY = Labour(_in_company, _turns, _kind)
"""How the cells of a comparison are trained: beside others, and with the same numbers where they happen to be alone."""
ALONE = Labour(_alone)
"""How a single run is trained, as by `rota train`."""


def _trained(assignment: Assignment, change: Callable[[Plan, Path], Plan], progress: bool) -> HowItEnded:
    """Train; how it ended."""
    from rota.runs import run_plan  # late: it loads torch

    folder = Path(assignment.folder)
    try:
        plan = change(make_plan(assignment.fields), folder)
        run_plan(plan, folder, resume=folder.is_dir(), progress=progress)
    except FolderBusyError as error:
        return "left", str(error)
    except RotaError as error:
        return "failed", str(error)
    except Exception as error:  # whatever it is, the others go on
        return "broken", f"{type(error).__name__}: {error}"
    return "done", ""


def _ended(cell: Cell, out: Path, ended: HowItEnded) -> Event:
    kind, said = ended
    run = Run(cell.folder(out)) if kind == "done" else None
    return Event("failed" if kind == "broken" else kind, cell, run, said)
