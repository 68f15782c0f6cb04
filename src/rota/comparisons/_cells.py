"""All runs of a comparison: those that are finished are kept, one that fails does not stop the others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rota.comparisons._comparison import Cell, Comparison
from rota.comparisons._processes import work_through
from rota.errors import RotaError
from rota.plans import Plan, make_plan
from rota.runlog import RUN, Run, written_steps

UNSETTLED = (None, "auto")  # a run fills these in


@dataclass(frozen=True)
class Event:
    """Something that happened to one run of a comparison.

    Args:
        kind: "kept": it was finished already; "started"; "done"; "failed"; "waiting": nothing happened for a while.
        cell: Whose.
        run: How it ended, if it did.
        said: What went wrong.
    """

    kind: str
    cell: Cell | None = None
    run: Run | None = None
    said: str = ""


def run_comparison(comparison: Comparison, out: Path, jobs: int = 1, progress: bool = False) -> Iterator[Event]:
    """Train whatever is missing in `out`, and tell what happens.

    Args:
        comparison: What to train.
        out: A folder; each run gets one in it.
        jobs: Processes at a time. How many threads a run has is part of its plan, so this changes no number.
        progress: Whether each run shows a bar; only without other processes.
    """
    open_cells = []
    for cell in comparison.cells:
        if is_finished(cell.plan, cell.folder(out)):
            yield Event("kept", cell, Run(cell.folder(out)))
        else:
            open_cells.append(cell)
    if jobs > 1 and len(open_cells) > 1:
        yield from _side_by_side(open_cells, out, jobs)
        return
    for cell in open_cells:
        yield Event("started", cell)
        yield _ended(cell, out, _trained(cell.plan, cell.folder(out), progress))


def steps_done(cell: Cell, out: Path) -> int:
    """Updates of a run so far."""
    return written_steps(cell.folder(out))


def is_finished(plan: Plan, folder: Path) -> bool:
    """Whether the folder holds the finished run of this plan."""
    if not (folder / RUN).is_file() or not Run(folder).finished:
        return False
    stored, asked = Run(folder).plan, json.loads(plan.model_dump_json())
    given = {name for name, value in asked.items() if value not in UNSETTLED}
    given -= {"best"} - plan.model_fields_set  # a method may have its own
    return all(stored.get(name) == asked[name] for name in given)


def _side_by_side(cells: list[Cell], out: Path, jobs: int) -> Iterator[Event]:
    by_name = {cell.name: cell for cell in cells}
    items = [(cell.name, cell.plan.model_dump(exclude_unset=True), str(cell.folder(out))) for cell in cells]
    for kind, item, said in work_through(items, _work, jobs):
        if kind == "done":
            yield _ended(by_name[item[0]], out, said)
        else:
            yield Event(kind, by_name[item[0]] if item else None)


def _work(item: tuple[str, dict[str, Any], str]) -> str | None:
    _, fields, folder = item
    return _trained(make_plan(fields), Path(folder), progress=False)


def _trained(plan: Plan, folder: Path, progress: bool) -> str | None:
    """Train; what went wrong, or None."""
    from rota.runs import run_plan  # late: it loads torch

    try:
        run_plan(plan, folder, resume=folder.is_dir(), progress=progress)
    except Exception as error:  # whatever it is, the others go on
        return str(error) if isinstance(error, RotaError) else f"{type(error).__name__}: {error}"
    return None


def _ended(cell: Cell, out: Path, said: str | None) -> Event:
    return Event("failed", cell, said=said) if said is not None else Event("done", cell, Run(cell.folder(out)))
