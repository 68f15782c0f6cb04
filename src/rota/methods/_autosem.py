"""AutoSeM: choose the auxiliary tasks, find their ratio, train with it (Guo, Pasunuru & Bansal 2019)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from rota.errors import RotaError
from rota.methods._method import Given, Method
from rota.methods._selection import FLOOR, select_from
from rota.policies import Cycle, Policy
from rota.runlog import INNER, SEARCH, STAGE_1, STAGE_2, Run, best_trial
from rota.search import draw_ratio

if TYPE_CHECKING:
    from rota.methods._inner import InnerRuns

Count = Annotated[int, Field(ge=1)]
Whole = Annotated[int, Field(ge=0)]


def _autosem(
    given: Given,
    *,
    select: bool = True,
    candidates: Literal["alike", "all"] = "alike",
    rounds: Count = 200,
    round: Count = 10,
    decay: Annotated[float, Field(ge=0, le=1)] = 0.05,
    reward: Literal["ge", "gt", "gain"] = "ge",
    floor: Annotated[float, Field(ge=0, lt=1)] = FLOOR,
    top: Whole = 2,
    above: float = 0.5,
    utility: Literal["averaged", "last"] = "averaged",
    trials: Count = 20,
    trial_steps: Count | None = None,
    seeds: Count = 1,
    sampler: Literal["gp-hedge", "random", "grid"] = "gp-hedge",
    primary: tuple[Count, Count] = (1, 20),
    auxiliary: tuple[Whole, Count] = (0, 5),
    pruning: bool = True,
    storage: str | None = None,
) -> Policy:
    if given.target is None:
        raise RotaError(f"Method 'autosem' expects a target. Choose one of {', '.join(given.tasks)}: --target.")
    if int(os.environ.get("WORLD_SIZE", 1)) > 1:
        raise RotaError("Method 'autosem' expects one process. Start several searches on one --storage instead.")
    from rota.methods._candidates import tasks_alike  # late: they load torch
    from rota.methods._ratio import find_ratio, shown

    inner = given.trainer
    tasks = tasks_alike(given.trained, given.target) if candidates == "alike" else given.tasks
    _say_who_is_left_out(inner, given.tasks, tasks)
    chosen = [given.target, *(task for task in tasks if task != given.target)]
    if len(chosen) < 2:
        raise RotaError(f"Method 'autosem' expects candidates beside the target '{given.target}'. Found none.")
    if select:
        inner.say(f"stage 1: {rounds} rounds of {round} updates, for {given.target}")
        options = {"round": round, "decay": decay, "reward": reward, "floor": floor}
        run = inner.train(STAGE_1, method="thompson", options=options, steps=rounds * round, only=tasks)
        chosen = select_from(run, top, above, utility).chosen
        inner.say(f"stage 1 chose {', '.join(chosen[1:]) or 'nobody'}")
    if len(chosen) == 1:
        return Cycle({given.target: 1})
    inner.say(f"stage 2: {trials} ratios of {':'.join(chosen)}")
    found = find_ratio(
        inner.inside(STAGE_2),
        chosen,
        trials,
        changes={"steps": trial_steps or given.steps},
        storage=storage,
        seed=given.seed + 1,  # the score of the last training is then not the one by which its ratio was chosen
        seeds_per_point=seeds,
        sampler=sampler,
        primary_bounds=primary,
        auxiliary_bounds=auxiliary,
        pruning=pruning,
    )
    if found.ratio is None:
        raise RotaError("Expected a ratio with which the training does not diverge. Found none. Try a smaller --lr.")
    inner.say(f"stage 2 found {shown(found.ratio)}")
    return Cycle({task: int(count) for task, count in found.ratio.items() if count})


def ratio_found(run: Run) -> dict[str, int]:
    """The ratio with which a run of this method was trained, with zeros for tasks that were chosen and not used."""
    search = run.folder / INNER / STAGE_2
    best = best_trial(search) if (search / SEARCH).is_file() else None  # none where nobody was chosen
    return dict(best["ratio"]) if best else {run.plan["target"]: 1}


def _say_who_is_left_out(inner: InnerRuns, tasks: list[str], kept: list[str]) -> None:
    out = [task for task in tasks if task not in kept]
    if out:
        inner.say(f"left out, since of another kind: {', '.join(out)} (candidates=all takes them, too)")


def _random_ratio(
    given: Given, *, primary: tuple[Count, Count] = (1, 20), auxiliary: tuple[Whole, Count] = (0, 5)
) -> Policy:
    if given.target is None:
        raise RotaError(f"Method 'random-ratio' expects a target. Choose one of {', '.join(given.tasks)}: --target.")
    return Cycle(draw_ratio(given.target, given.tasks, given.seed, primary, auxiliary))


RANDOM_RATIO = Method(
    "random-ratio",
    "tasks by turn, in a ratio by chance: what a search has to beat",
    _random_ratio,
    "004 baseline",
    for_target=True,
)
AUTOSEM = Method(
    "autosem",
    "chooses tasks for --target by a bandit, then finds their ratio by a search over whole trainings",
    _autosem,
    "004",
    for_target=True,
)
