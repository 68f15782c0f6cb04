"""AutoSeM: choose the auxiliary tasks, find their ratio, train with it (Guo, Pasunuru & Bansal 2019)."""

from __future__ import annotations

import os
from typing import Literal

from pydantic import Field

from rota.errors import RotaError
from rota.limits import Count, Whole
from rota.methods._method import Method, Recipe, RunContext
from rota.methods._options import Options
from rota.methods._ratio import find_ratio, shown
from rota.methods._thompson import ThompsonOptions
from rota.policies import Cycle
from rota.runlog import INNER, SEARCH, STAGE_1, STAGE_2, Run, best_trial
from rota.search import FLOOR, draw_ratio, load_optuna, select_from


class RatioOptions(Options):
    """Of a ratio: how many batches of each task."""

    primary: tuple[Count, Count] = Field((1, 20), description="Fewest and most batches of the target in a cycle.")
    auxiliary: tuple[Whole, Count] = Field((0, 5), description="Fewest and most batches of each other task in a cycle.")


class SearchOptions(RatioOptions):
    """Of the second stage."""

    trials: int = Field(20, ge=1, description="Ratios to try.")
    seeds: int = Field(1, ge=1, description="Trainings with each ratio.")
    sampler: Literal["gp-hedge", "random", "grid"] = Field("gp-hedge", description="What proposes ratios.")
    pruning: bool = Field(True, description="Stop trainings that are in the lowest quarter.")
    storage: str | None = Field(
        None, description="Of the study: sqlite:///FILE, postgresql://…, journal:FILE; by default in the run's folder."
    )


class SelectOptions(Options):
    """Of the first stage."""

    candidates: Literal["alike", "all"] = Field(
        "alike", description="Tasks of the same kind as the target alone, or all of them."
    )
    rounds: int = Field(200, ge=2, description="So many times a task has its turn.")
    top: int = Field(2, ge=0, description="So many auxiliaries are chosen whatever their utility.")
    above: float = Field(0.5, description="Others are chosen whose utility is above it.")
    utility: Literal["averaged", "last"] = Field(
        "averaged", description="The utility over the second half of the rounds, or at their end."
    )


class AutoSeMOptions(SelectOptions, SearchOptions):
    """Of both stages."""

    select: bool = Field(True, description="Whether there is a first stage; if not, all candidates are searched over.")
    round: int = ThompsonOptions.model_fields["round"]
    decay: float = ThompsonOptions.model_fields["decay"]
    reward: Literal["ge", "gt", "gain"] = ThompsonOptions.model_fields["reward"]
    floor: float = Field(FLOOR, ge=0, lt=1, description=ThompsonOptions.model_fields["floor"].description)
    trial_steps: int | None = Field(None, ge=1, description="Updates of a trial; by default those of the run.")


def _autosem(options: AutoSeMOptions, context: RunContext) -> Recipe:
    assert context.target is not None, "it needs one"
    if int(os.environ.get("WORLD_SIZE", 1)) > 1:
        raise RotaError("Method 'autosem' expects one process. Start several searches on one storage instead.")
    load_optuna()  # before a whole stage is trained, and then the next one cannot begin
    inner, tasks = context.trainer, _candidates(options, context)
    chosen = [context.target, *(task for task in tasks if task != context.target)]
    if len(chosen) < 2:
        raise RotaError(f"Method 'autosem' expects candidates beside the target '{context.target}'. Found none.")
    if options.select:
        inner.say(f"stage 1: {options.rounds} rounds of {options.round} updates, for {context.target}")
        bandit = options.model_dump(include={"round", "decay", "reward", "floor"})
        steps = options.rounds * options.round
        run = inner.train(STAGE_1, method="thompson", options=bandit, steps=steps, only=tasks)
        chosen = select_from(run, options.top, options.above, options.utility).chosen
        inner.say(f"stage 1 chose {', '.join(chosen[1:]) or 'nobody'}")
    if len(chosen) == 1:
        return Recipe(Cycle({context.target: 1}))
    inner.say(f"stage 2: {options.trials} ratios of {':'.join(chosen)}")
    found = find_ratio(
        inner.inside(STAGE_2),
        chosen,
        options.trials,
        changes={"steps": options.trial_steps or context.steps},
        storage=options.storage,
        seed=context.seed + 1,  # the score of the last training is then not the one by which its ratio was chosen
        seeds_per_point=options.seeds,
        sampler=options.sampler,
        primary_bounds=options.primary,
        auxiliary_bounds=options.auxiliary,
        pruning=options.pruning,
    )
    if found.ratio is None:
        raise RotaError("Expected a ratio with which the training does not diverge. Found none. Lower Plan(lr=…).")
    inner.say(f"stage 2 found {shown(found.ratio)}")
    return Recipe(Cycle({task: int(count) for task, count in found.ratio.items() if count}))


def ratio_found(run: Run) -> dict[str, int]:
    """The ratio with which a run of this method was trained, with zeros for tasks that were chosen and not used."""
    search = run.folder / INNER / STAGE_2
    best = best_trial(search) if (search / SEARCH).is_file() else None  # none where nobody was chosen
    return dict(best["ratio"]) if best else {run.plan["target"]: 1}


def _candidates(options: AutoSeMOptions, context: RunContext) -> list[str]:
    if options.candidates == "all":
        return context.tasks
    from rota.plans import tasks_alike  # late: it loads torch

    assert context.target is not None
    kept = tasks_alike(context.trained, context.target)
    out = [task for task in context.tasks if task not in kept]
    if out:
        context.trainer.say(f"left out, since of another kind: {', '.join(out)} (candidates=all takes them, too)")
    return kept


def _random_ratio(options: RatioOptions, context: RunContext) -> Recipe:
    assert context.target is not None, "it needs one"
    ratio = draw_ratio(context.target, context.tasks, context.seed, options.primary, options.auxiliary)
    return Recipe(Cycle(ratio))


AUTOSEM = [
    Method(
        "autosem",
        "chooses tasks for the target by a bandit, then finds their ratio by a search over whole trainings",
        _autosem,
        "004",
        ("target",),
    ),
    Method(
        "random-ratio",
        "tasks by turn, in a ratio by chance: what a search has to beat",
        _random_ratio,
        "004 baseline",
        ("target",),
    ),
]
