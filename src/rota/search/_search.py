"""The search for a ratio, as a user calls it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args

from rota.errors import RotaError, unknown_name
from rota.search._optuna import load_optuna, quiet
from rota.search._result import Number, RatioSearch, RatioTrial
from rota.search._space import Bounds, Mixtures, Ratios, Seen, Simplex, Space

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler
    from optuna.storages import BaseStorage

Report = Callable[[int, float], None]
Objective = Callable[[dict[str, Number], int, Report], float]
OnTrial = Callable[[RatioTrial, RatioSearch], object]

SAMPLERS = ("gp-hedge", "random", "grid")
SPACES: tuple[str, ...] = get_args(Seen)


def search_ratio(
    objective: Objective,
    tasks: Sequence[str],
    trials: int,
    storage: str | BaseStorage | None = None,
    *,
    primary_bounds: Bounds = (1, 20),
    auxiliary_bounds: Bounds = (0, 5),
    space: Seen = "both",
    simplex: bool = False,
    seed: int = 0,
    seeds_per_point: int = 1,
    sampler: str | BaseSampler = "gp-hedge",
    initial: int | None = None,
    budget_steps: int | None = None,
    pruning: bool = True,
    name: str | None = None,
    heartbeat: int = 30,
    agreed: Mapping[str, Any] | None = None,
    on_trial: OnTrial | None = None,
) -> RatioSearch:
    """Find the mixing ratio of tasks with the largest score: stage 2 of AutoSeM (Guo, Pasunuru & Bansal 2019).

    The search is an Optuna study. Call it twice with one storage, on one machine or on many, and both calls work on
    the same study until it has `trials` trials; both return the whole of it. Call it again after it was killed, and it
    goes on: with one worker each proposal depends on the seed and the finished trials alone, so that a search that was
    stopped finds what it would have found. The trial of a worker that died is tried again: at once if it died on this
    machine, after four heartbeats if it died elsewhere.

    Args:
        objective: `objective(ratio, seed, report) -> score`: train with this ratio (`Cycle(ratio)`; with `simplex`,
            `Fixed(ratio)`) and this seed. Larger is better. `report(step, score)` after some training steps
            lets hopeless trainings be stopped, and says how much of `budget_steps` was used. A score that is not
            finite counts as a training that diverged.
        tasks: The primary task first, then the auxiliaries.
        trials: How many ratios to try, over all workers.
        storage: None for memory, a database (`sqlite:///FILE`, `postgresql://…`), `journal:FILE` or `*.journal`.
        primary_bounds: Smallest and largest number of batches of the primary task per cycle.
        auxiliary_bounds: The same of each auxiliary.
        space: What the Gaussian process sees of a ratio: `shares` of the tasks, the numbers of batches themselves
            (`raw`, as in the paper), or `both`. With `shares`, equal proportions such as 20:5 and 4:1 are trained once.
        simplex: Search shares between 0 and 1 that sum to one instead of whole numbers; bounds and `space` are
            not used.
        seed: Of the search, and the first seed of the trainings.
        seeds_per_point: Train each ratio with so many seeds (`seed`, `seed + 1`, …) and take the mean. Reports count
            for pruning in the first of them.
        sampler: `gp-hedge`, `random`, `grid` (as many points as trials), a `GPHedgeSampler` with other settings, or one
            of Optuna's.
        initial: How many random ratios before the model is asked; by default a third of `trials`, at most 5.
        budget_steps: Propose nothing more once the trainings have reported this number of steps together.
        pruning: Stop a training that is in the lowest quarter of all at the same step, from the sixth on and after a
            third of its steps.
        name: Of the study in its storage; by default made of the tasks.
        heartbeat: Seconds between two signs of life of a worker.
        agreed: What else all workers of a study must have in common, as plain JSON, such as how long they train.
        on_trial: Called with each trial that this worker finished and the search so far.

    >>> def score(ratio, seed, report):
    ...     return -(ratio["rte"] / sum(ratio.values()) - 0.6) ** 2
    >>> found = search_ratio(score, ["rte", "mnli"], trials=12)
    >>> found.ratio
    {'rte': 3, 'mnli': 2}
    """
    allowed = ratio_space(tasks, primary_bounds, auxiliary_bounds, simplex, space)
    for what, number in (("trials", trials), ("seeds_per_point", seeds_per_point), ("heartbeat", heartbeat)):
        if number < 1:
            raise RotaError(f"search_ratio expects {what} of 1 or more. Found {number}.")
    if isinstance(sampler, str) and sampler not in SAMPLERS:
        raise unknown_name("sampler", sampler, SAMPLERS)
    if space not in SPACES:
        raise unknown_name("space", space, SPACES)
    load_optuna()
    from rota.search._run import Agreement, run_search

    settings: dict[str, Any] = {
        **(agreed or {}),
        "tasks": list(tasks),
        "bounds": None if simplex else [list(primary_bounds), list(auxiliary_bounds)],
        "space": "shares" if simplex else space,
        "seed": seed,
        "seeds_per_point": seeds_per_point,
        "sampler": sampler if isinstance(sampler, str) else type(sampler).__name__,
    }
    agreement = Agreement(name or f"ratio of {', '.join(tasks)}", settings, trials, budget_steps, pruning)
    with quiet():
        return run_search(
            objective,
            allowed,
            agreement,
            storage,
            _sampler(sampler, allowed, trials, seed, initial),
            heartbeat=heartbeat,
            on_trial=on_trial,
        )


def ratio_space(
    tasks: Sequence[str], primary: Bounds, auxiliary: Bounds, simplex: bool = False, seen: Seen = "shares"
) -> Mixtures:
    if len(tasks) < 2 or len(set(tasks)) < len(tasks):
        raise RotaError(f"search_ratio expects two or more different tasks, the primary first. Found {list(tasks)}.")
    for what, (low, high) in (("primary_bounds", primary), ("auxiliary_bounds", auxiliary)):
        if not 0 <= low <= high or high == 0 or low != int(low) or high != int(high):
            raise RotaError(f"search_ratio expects whole numbers 0 ≤ low ≤ high for {what}. Found {(low, high)}.")
    if simplex:
        return Simplex(tasks)
    return Ratios({task: auxiliary if k else primary for k, task in enumerate(tasks)}, seen)


def _sampler(sampler: str | BaseSampler, space: Space, trials: int, seed: int, initial: int | None) -> BaseSampler:
    from rota.search._sampler import GPHedgeSampler, GridPoints, PointSampler, RandomPoints

    if isinstance(sampler, PointSampler):
        sampler = copy.copy(sampler)
        sampler.space = sampler.space or space
        return sampler
    if not isinstance(sampler, str):
        if isinstance(space, Simplex):
            raise RotaError(
                f"{type(sampler).__name__} does not know that shares sum to one. With simplex use a sampler by name "
                f"({', '.join(SAMPLERS)}) or GPHedgeSampler."
            )
        return sampler
    if sampler == "random":
        return RandomPoints(seed, space=space)
    if sampler == "grid":
        return GridPoints(trials, seed, space=space)
    first = max(1, min(5, trials // 3)) if initial is None else initial
    return GPHedgeSampler(seed, first, space=space)
