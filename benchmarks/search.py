"""How near does a search of 20 trainings come to the best ratio?  Median simple regret on eleven functions of the ratio
of three tasks: of their shares, of the numbers themselves, ridges, and one with two hills. Searched with what the
Gaussian process sees (shares, numbers, both), at random, by samplers of Optuna and by scikit-optimize.

python benchmarks/search.py [REPEATS] [COLUMN,…]

The last column needs scikit-optimize, for this benchmark only, and is left out without it:

pip install --constraint constraints.txt scikit-optimize
"""

from __future__ import annotations

import importlib.util
import itertools
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Sequence

import numpy as np
import optuna
from threadpoolctl import threadpool_limits

from rota.search import search_ratio
from rota.search._sampler import GPHedgeSampler
from rota.search._space import Ratios
from rota.seeds import generator

TASKS = ["primary", "first", "second"]
BOUNDS = {"primary": (1, 20), "first": (0, 5), "second": (0, 5)}
LOW, HIGH = (np.array(ends, dtype=float) for ends in zip(*BOUNDS.values(), strict=True))
BUDGET = 20
NOISE = 0.01  # deviation of one evaluation; each function's values span 1
CELLS = np.array(list(itertools.product(range(1, 21), range(6), range(6))), dtype=float)

Function = Callable[[np.ndarray], np.ndarray]


def of_shares(function: Function) -> Function:
    return lambda ratios: function(ratios / ratios.sum(axis=1, keepdims=True))


def of_numbers(function: Function) -> Function:
    """Numbers of batches, each scaled to [0, 1]."""
    return lambda ratios: function((ratios - LOW) / (HIGH - LOW))


def away_from(*best: float) -> Function:
    """Concave: minus the squared distance from `best`."""
    return lambda p: -((p - best) ** 2).sum(axis=1)


def shares_away_from(*ratio: float) -> Function:
    return of_shares(away_from(*(np.array(ratio) / sum(ratio))))


def numbers_away_from(*ratio: float) -> Function:
    return of_numbers(away_from(*((np.array(ratio) - LOW) / (HIGH - LOW))))


def returns(*weights: float, offset: float, cost: float) -> Function:
    """Concave: each task has diminishing returns and the same cost."""
    return lambda p: np.log(p + offset) @ np.array(weights) - cost * p.sum(axis=1)


def ridge(slope: float, second: float) -> Function:
    """Primary and first task want to be in one proportion, whatever both are; the second task counts ten times less."""
    return lambda p: -((p[:, 0] - slope * p[:, 1]) ** 2) - 0.1 * (p[:, 2] - second) ** 2


def two_hills(p: np.ndarray) -> np.ndarray:
    """A narrow hill, and a lower one that is wider."""
    narrow = np.exp(-((p - [0.7, 0.25, 0.05]) ** 2).sum(axis=1) / 0.02)
    wide = np.exp(-((p - [0.3, 0.1, 0.6]) ** 2).sum(axis=1) / 0.05)
    return narrow + 0.7 * wide


FUNCTIONS: dict[str, Function] = {
    "shares of 9:1:4 (MRPC)": shares_away_from(9, 1, 4),
    "shares of 1:5:5 (RTE)": shares_away_from(1, 5, 5),
    "shares of 20:0:5 (QNLI)": shares_away_from(20, 0, 5),
    "second hardly counts": of_shares(lambda p: -((p[:, 1] - 0.3) ** 2) - 0.1 * (p[:, 2] - 0.1) ** 2),
    "returns of shares": of_shares(returns(0.5, 0.3, 0.2, offset=0.05, cost=0.0)),
    "two hills": of_shares(two_hills),
    "numbers 9:1:4": numbers_away_from(9, 1, 4),
    "numbers 3:5:2": numbers_away_from(3, 5, 2),
    "returns of numbers": of_numbers(returns(0.5, 0.3, 0.2, offset=0.1, cost=0.8)),
    "ridge of shares": of_shares(ridge(2.0, 0.2)),
    "ridge of numbers": of_numbers(ridge(1.0, 0.4)),
}


class Problem:
    """One function with its noise; remembers what was asked."""

    def __init__(self, name: str, repeat: int) -> None:
        function = FUNCTIONS[name]
        everywhere = function(CELLS)
        self._value = lambda ratio: float(function(ratio[None])[0]) / float(np.ptp(everywhere))
        self._best = float(everywhere.max()) / float(np.ptp(everywhere))
        self._rng = generator(repeat, name)
        self.asked: list[tuple[float, float]] = []  # noisy value, true value

    def __call__(self, ratio: Sequence[float]) -> float:
        true = self._value(np.array(ratio, dtype=float))
        self.asked.append((true + NOISE * float(self._rng.normal()), true))
        return self.asked[-1][0]

    def regret(self) -> float:
        """How far the ratio with the best observation is from the best ratio."""
        assert len(self.asked) <= BUDGET
        return self._best - max(self.asked)[1]


Search = Callable[[Problem, int], object]


def ours(sampler: str, space: str = "both") -> Search:
    return lambda problem, repeat: search_ratio(
        lambda ratio, seed, report: problem(list(ratio.values())),
        TASKS,
        BUDGET,
        seed=repeat,
        sampler=sampler,
        space=space,
    )


def of_optuna(make: Callable[[int], optuna.samplers.BaseSampler]) -> Search:
    def search(problem: Problem, repeat: int) -> None:
        study = optuna.create_study(direction="maximize", sampler=make(repeat))
        study.optimize(lambda trial: problem([trial.suggest_int(*task) for task in ASKED]), n_trials=BUDGET)

    return search


ASKED = [(task, *bounds) for task, bounds in BOUNDS.items()]


def of_scikit_optimize(problem: Problem, repeat: int) -> None:
    from skopt import gp_minimize
    from skopt.space import Integer

    space = [Integer(*bounds) for bounds in BOUNDS.values()]
    gp_minimize(lambda x: -problem(x), space, n_calls=BUDGET, acq_func="gp_hedge", random_state=repeat)


SEARCHES: dict[str, Search] = {
    "both": ours("gp-hedge"),
    "shares": ours("gp-hedge", "shares"),
    "raw": ours("gp-hedge", "raw"),
    "random": ours("random"),
    "Optuna GP": of_optuna(lambda seed: optuna.samplers.GPSampler(seed=seed)),
    "Optuna TPE": of_optuna(lambda seed: optuna.samplers.TPESampler(seed=seed)),
    "skopt": of_scikit_optimize,
}
RIVALS = ("Optuna GP", "Optuna TPE", "skopt")


def seconds_of_an_ask(points: int = 60) -> float:
    """Median over five asks, each for the 61st point of another random study."""
    space = Ratios(BOUNDS)
    times = []
    for repeat in range(5):
        problem = Problem("shares of 9:1:4 (MRPC)", repeat)
        study = optuna.create_study(direction="maximize", sampler=GPHedgeSampler(repeat, space=space))
        for cell in np.random.default_rng(repeat).choice(CELLS, points, replace=False):
            params = {task: int(n) for task, n in zip(TASKS, cell, strict=True)}
            value = problem._value(cell) + NOISE * float(problem._rng.normal())
            study.add_trial(optuna.trial.create_trial(params=params, distributions=space.distributions(), value=value))
        start = time.perf_counter()
        study.ask(space.distributions())
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def median_regret(name: str, search: Search, repeats: int) -> float:
    regrets = []
    for repeat in range(repeats):
        problem = Problem(name, repeat)
        with threadpool_limits(limits=1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            search(problem, repeat)
        regrets.append(problem.regret())
    return statistics.median(regrets)


def main() -> None:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    columns = sys.argv[2].split(",") if len(sys.argv) > 2 else list(SEARCHES)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    if "skopt" in columns and not importlib.util.find_spec("skopt"):
        columns.remove("skopt")
        print("without scikit-optimize, which is not installed")
    print(f"median simple regret after {BUDGET} evaluations, {repeats} repeats; values span 1, noise {NOISE}\n")
    print(f"{'':24}" + "".join(f"{name:>12}" for name in columns), flush=True)
    medians: dict[str, dict[str, float]] = {}
    for name in FUNCTIONS:
        print(f"{name:24}", end="", flush=True)
        medians[name] = {}
        for column in columns:
            medians[name][column] = median_regret(name, SEARCHES[column], repeats)
            print(f"{medians[name][column]:12.4f}", end="", flush=True)
        print()
    if "both" in columns:
        within = [row["both"] <= 2 * min(row.values()) for row in medians.values()]
        print(f"\nboth: within twice the best on {sum(within)} of {len(FUNCTIONS)} (target: all)")
        print(f"one ask at 60 points: {seconds_of_an_ask():.2f} s (target: ≤ 0.5)")


if __name__ == "__main__":
    main()
