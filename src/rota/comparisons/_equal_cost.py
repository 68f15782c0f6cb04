"""As many updates for each variant as cost what the baseline costs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rota.budgets import UPDATES
from rota.comparisons._cells import run_comparison
from rota.comparisons._comparison import Cell, Comparison
from rota.errors import RotaError
from rota.runlog import Run
from rota.workers import Workers

PILOTS = "pilots"
SHARE = 0.1
LEAST = 20  # updates; fewer say little about what one costs


def equal_cost(comparison: Comparison, out: Path, jobs: int = 1, workers: Workers | None = None) -> Comparison:
    """Measure what an update of each variant costs, in short trainings of the first seed that are kept in
    `out`/pilots, and give each as many updates as the baseline's budget pays for.

    The cost is that of the ledger: forward passes of one example, a backward pass counting as two, evaluations not at
    all.

    >>> import tempfile
    >>> from rota.comparisons import make_comparison
    >>> content = {"variants": {"plain": {"batch_size": 32}, "small": {"batch_size": 16}}, "baseline": "plain"}
    >>> content |= {"without": ["uniform", "proportional", "union", "temperature"]}
    >>> comparison = make_comparison(content, {"tasks": ["digits"], "steps": 20, "device": "cpu"}, seeds=[0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = equal_cost(comparison, Path(folder))
    >>> {cell.variant: cell.plan.steps for cell in found.cells}
    {'plain': 20, 'small': 40}
    """
    if other := next((cell for cell in comparison.cells if cell.plan.budget != UPDATES), None):
        raise RotaError(
            f"Equal cost expects variants whose updates can be changed. Found '{other.variant}' with budget "
            f"{other.plan.budget}. Give all of them a budget such as forwards:1e6 instead."
        )
    first = comparison.cells[0].seed
    pilots = tuple(_pilot(cell) for cell in comparison.cells if cell.seed == first)
    costs = {}
    for event in run_comparison(replace(comparison, cells=pilots), out / PILOTS, jobs, workers=workers):
        if event.kind in ("failed", "left", "queued") and event.cell is not None:
            raise RotaError(f"The pilot of '{event.cell.variant}' expects to be trained. Found: {event.said}")
        if event.run is not None and event.cell is not None:
            costs[event.cell.variant] = _cost_per_step(event.run)
    steps = {cell.variant: cell.plan.steps for cell in comparison.cells if cell.seed == first}
    budget = costs[comparison.baseline] * steps[comparison.baseline]
    return comparison.with_steps({variant: max(1, round(budget / cost)) for variant, cost in costs.items()})


def _pilot(cell: Cell) -> Cell:
    steps = max(LEAST, round(SHARE * cell.plan.steps))
    fields = {**cell.plan.model_dump(exclude_unset=True), "steps": steps, "eval_every": steps}
    return replace(cell, plan=type(cell.plan).model_validate(fields))


def _cost_per_step(run: Run) -> float:
    return float(run.summary["cost"]["forward_equivalents"]) / int(run.plan["steps"])
