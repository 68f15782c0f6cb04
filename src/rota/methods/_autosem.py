"""AutoSeM: choose the auxiliary tasks, find their ratio, train with it (Guo, Pasunuru & Bansal 2019)."""

from __future__ import annotations

import os
from typing import Any, Literal

from pydantic import Field

from rota.errors import RotaError
from rota.limits import Count, Positive, Whole
from rota.methods._method import Method, Recipe, RunContext, Stage
from rota.methods._options import Options
from rota.methods._presets import preset
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

    trials: int = Field(20, ge=1, description="Number of ratios to try.")
    seeds: int = Field(1, ge=1, description="Number of runs with each ratio.")
    sampler: Literal["gp-hedge", "random", "grid"] = Field("gp-hedge", description="How ratios are proposed.")
    space: Literal["shares", "raw", "both"] = Field(
        "both",
        description="What the Gaussian process sees of a ratio: shares of the tasks, the numbers of batches as they "
        "are (raw), or both. With shares, equal proportions are trained once.",
    )
    initial: int | None = Field(
        None, ge=1, description="Number of random ratios before the model is asked; by default a third, at most 5."
    )
    measure: Literal["score", "accuracy"] = Field(
        "score", description="What of the target's dev rows decides: its score, or its accuracy whatever its score is."
    )
    trial_steps: int | None = Field(None, ge=1, description="Updates of a trial; by default those of the run.")
    pruning: bool = Field(True, description="Stop trials that are in the lowest quarter after a third of their steps.")
    storage: str | None = Field(
        None, description="Optuna storage: sqlite:///FILE, postgresql://…, journal:FILE; in the run folder by default."
    )


class SelectOptions(Options):
    """Of the first stage."""

    candidates: Literal["alike", "all"] = Field("alike", description="Only tasks of the target's kind, or all of them.")
    rounds: int = Field(200, ge=2, description="Number of rounds, each of one task.")
    top: int = Field(2, ge=0, description="Number of auxiliary tasks that are always selected.")
    above: float = Field(0.5, description="Also select every task with a utility above this.")
    utility: Literal["averaged", "last"] = Field(
        "averaged", description="Utilities averaged over the second half of the rounds, or at the end."
    )


class AutoSeMOptions(SelectOptions, SearchOptions):
    """Of both stages."""

    select: bool = Field(True, description="Whether to run stage 1; if not, all candidates are searched over.")
    round: int = ThompsonOptions.model_fields["round"]
    decay: float = ThompsonOptions.model_fields["decay"]
    prior: tuple[Positive, Positive] = ThompsonOptions.model_fields["prior"]
    primary_prior: tuple[Positive, Positive] = ThompsonOptions.model_fields["primary_prior"]
    reward: Literal["ge", "gt", "gain"] = ThompsonOptions.model_fields["reward"]
    floor: float = Field(FLOOR, ge=0, lt=1, description=ThompsonOptions.model_fields["floor"].description)


def _autosem(options: AutoSeMOptions, context: RunContext) -> Recipe:
    ready_to_search("autosem")  # before a whole stage is trained, and then the next one cannot begin
    assert context.target is not None, "it needs one"
    inner, tasks = context.trainer, _candidates(options, context)
    chosen = [context.target, *(task for task in tasks if task != context.target)]
    if len(chosen) < 2:
        raise RotaError(f"Method 'autosem' expects candidates beside the target '{context.target}'. Found none.")
    if options.select:
        inner.say(f"stage 1: {options.rounds} rounds of {options.round} updates, for {context.target}")
        run = inner.train(STAGE_1, **_first_stage(options, tasks), **_judged(options, context))
        chosen = select_from(run, options.top, options.above, options.utility).chosen
        inner.say(f"stage 1 chose {', '.join(chosen[1:]) or 'nobody'}")
    return with_found_ratio(options, context, chosen)


def ready_to_search(method: str) -> None:
    """Refuse what a search inside of a run cannot do."""
    if int(os.environ.get("WORLD_SIZE", 1)) > 1:
        raise RotaError(f"Method '{method}' expects one process. Start several searches on one storage instead.")
    load_optuna()


def with_found_ratio(options: SearchOptions, context: RunContext, chosen: list[str]) -> Recipe:
    """Stage 2: the tasks in the ratio that a search finds, the target first."""
    inner = context.trainer
    if len(chosen) == 1:
        return Recipe(Cycle({chosen[0]: 1}))
    inner.say(f"stage 2: {options.trials} ratios of {':'.join(chosen)}")
    found = find_ratio(
        inner.inside(STAGE_2),
        chosen,
        options.trials,
        changes={"steps": options.trial_steps or context.steps, **_judged(options, context)},
        storage=options.storage,
        seed=context.seed + 1,  # the score of the last training is then not the one by which its ratio was chosen
        seeds_per_point=options.seeds,
        sampler=options.sampler,
        space=options.space,
        initial=options.initial,
        primary_bounds=options.primary,
        auxiliary_bounds=options.auxiliary,
        pruning=options.pruning,
    )
    if found.ratio is None:
        raise RotaError("Expected a ratio with which the training does not diverge. Found none. Lower Plan(lr=…).")
    inner.say(f"stage 2 found {shown(found.ratio)}")
    return Recipe(Cycle({task: int(count) for task, count in found.ratio.items() if count}))


def _judged(options: SearchOptions, context: RunContext) -> dict[str, Any]:
    """Fields of the plans of both stages in which the target is not judged by its score."""
    if options.measure == "score":
        return {}
    assert context.target is not None
    known = context.trainer.plan.per_task
    own = {task: changes.model_dump(mode="json", exclude_unset=True) for task, changes in known.items()}
    return {"per_task": {**own, context.target: {**own.get(context.target, {}), "metrics": [options.measure]}}}


BANDIT = {"round", "decay", "prior", "primary_prior", "reward", "floor"}
"""Options that stage 1 shares with method thompson."""


def _first_stage(options: AutoSeMOptions, tasks: list[str]) -> dict[str, Any]:
    """What is different in the plan of the first stage."""
    bandit = options.model_dump(mode="json", include=BANDIT)
    steps = options.rounds * options.round  # however long the score stays the same: that, too, is heard
    return {"method": "thompson", "options": bandit, "steps": steps, "patience": None, "only": tasks}


def _outlook(options: AutoSeMOptions, context: RunContext) -> tuple[list[Stage], Recipe]:
    """Which tasks will be chosen, and in which ratio, is not known yet: an even one of all candidates stands for it."""
    load_optuna()
    tasks = _candidates(options, context)
    stages = [Stage(STAGE_1, _first_stage(options, tasks))] if options.select else []
    trials, final = searched(options, context, tasks)
    return [*stages, trials], final


def searched(options: SearchOptions, context: RunContext, tasks: list[str]) -> tuple[Stage, Recipe]:
    """The trainings of a search among these tasks, and one that costs as much as the last: an even ratio."""
    even = dict.fromkeys(tasks, 1)
    trial = {"method": "cycle", "options": {"weights": even}, "only": tasks}
    steps = {"steps": options.trial_steps or context.steps}
    return Stage(STAGE_2, {**trial, **steps}, options.trials * options.seeds), Recipe(Cycle(even))


def ratio_found(run: Run) -> dict[str, int]:
    """The ratio with which a run of this method was trained, with zeros for tasks that were chosen and not used.

    >>> from rota.testing import written_run
    >>> ratio_found(written_run({"rte": [0.6]}, "autosem", plan={"target": "rte"}))  # no other task was chosen
    {'rte': 1}
    """
    search = run.folder / INNER / STAGE_2
    best = best_trial(search) if (search / SEARCH).is_file() else None  # none where nobody was chosen
    return dict(best["ratio"]) if best else {run.plan["target"]: 1}


def _candidates(options: AutoSeMOptions, context: RunContext) -> list[str]:
    if options.candidates == "all" or not context.trained:  # an estimate may be made before the tasks are read
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


OURS = Method(
    "autosem",
    "a bandit selects auxiliary tasks, then a search over whole runs finds their ratio",
    _autosem,
    "Guo et al. 2019",
    ("target",),
    _outlook,
)
AUTOSEM = [
    OURS,
    preset(
        OURS,
        "autosem@paper",
        "autosem as printed: utilities at the end, accuracy, the ratio itself, two runs with each",
        "Guo et al. 2019; the forgetting rate of the released code",
        {
            **{"decay": 0.3, "primary_prior": (1.0, 1.0), "floor": 0.0, "utility": "last"},
            **{"measure": "accuracy", "space": "raw", "initial": 10, "seeds": 2, "pruning": False},
        },
    ),
    Method(
        "random-ratio",
        "round robin in a random ratio: the baseline of a search",
        _random_ratio,
        "baseline for Guo et al. 2019",
        ("target",),
    ),
]
