"""How near does a search of 20 trainings come to the best ratio?  Median simple regret of GP-Hedge, random search and
scikit-optimize on six functions of the ratio of three tasks, and the seconds of one ask at 60 points.

python benchmarks/search.py [REPEATS]

The neighbour's column needs scikit-optimize, for this benchmark only:

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

TASKS = ["primary", "first", "second"]
BOUNDS = {"primary": (1, 20), "first": (0, 5), "second": (0, 5)}
BUDGET = 20
NOISE = 0.01  # deviation of one evaluation; each function's values span 1
CELLS = np.array(list(itertools.product(range(1, 21), range(6), range(6))), dtype=float)


def away_from(*ratio: float) -> Callable[[np.ndarray], np.ndarray]:
    """Concave: minus the squared distance of the shares from those of `ratio`."""
    best = np.array(ratio) / sum(ratio)
    return lambda p: -((p - best) ** 2).sum(axis=1)


def returns(*weights: float) -> Callable[[np.ndarray], np.ndarray]:
    """Concave: each task's share has diminishing returns."""
    return lambda p: np.log(p + 0.05) @ np.array(weights)


def two_hills(p: np.ndarray) -> np.ndarray:
    """A narrow hill, and a lower one that is wider."""
    narrow = np.exp(-((p - [0.7, 0.25, 0.05]) ** 2).sum(axis=1) / 0.02)
    wide = np.exp(-((p - [0.3, 0.1, 0.6]) ** 2).sum(axis=1) / 0.05)
    return narrow + 0.7 * wide


FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "9:1:4 is best (MRPC)": away_from(9, 1, 4),
    "1:5:5 is best (RTE)": away_from(1, 5, 5),
    "20:0:5 is best (QNLI)": away_from(20, 0, 5),
    "the second hardly counts": lambda p: -((p[:, 1] - 0.3) ** 2) - 0.1 * (p[:, 2] - 0.1) ** 2,
    "diminishing returns": returns(0.5, 0.3, 0.2),
    "two hills": two_hills,
}


class Problem:
    """One function with its noise; remembers what was asked."""

    def __init__(self, name: str, repeat: int) -> None:
        function = FUNCTIONS[name]
        everywhere = function(CELLS / CELLS.sum(axis=1, keepdims=True))
        self._value = lambda ratio: float(function(ratio[None] / ratio.sum())[0]) / float(np.ptp(everywhere))
        self._best = float(everywhere.max()) / float(np.ptp(everywhere))
        self._rng = np.random.default_rng([repeat, sorted(FUNCTIONS).index(name)])
        self.asked: list[tuple[float, float]] = []  # noisy value, true value

    def __call__(self, ratio: Sequence[float]) -> float:
        true = self._value(np.array(ratio, dtype=float))
        self.asked.append((true + NOISE * float(self._rng.normal()), true))
        return self.asked[-1][0]

    def regret(self) -> float:
        """How far the ratio with the best observation is from the best ratio."""
        assert len(self.asked) <= BUDGET
        return self._best - max(self.asked)[1]


def ours(sampler: str) -> Callable[[Problem, int], None]:
    def search(problem: Problem, repeat: int) -> None:
        search_ratio(
            lambda ratio, seed, report: problem(list(ratio.values())), TASKS, BUDGET, seed=repeat, sampler=sampler
        )

    return search


def neighbour(problem: Problem, repeat: int) -> None:
    from skopt import gp_minimize
    from skopt.space import Integer

    space = [Integer(*bounds) for bounds in BOUNDS.values()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gp_minimize(lambda x: -problem(x), space, n_calls=BUDGET, acq_func="gp_hedge", random_state=repeat)


def seconds_of_an_ask(points: int = 60) -> float:
    """Median over five asks, each for the 61st point of another random study."""
    space = Ratios(BOUNDS)
    times = []
    for repeat in range(5):
        problem = Problem("9:1:4 is best (MRPC)", repeat)
        study = optuna.create_study(direction="maximize", sampler=GPHedgeSampler(repeat, space=space))
        for cell in np.random.default_rng(repeat).choice(CELLS, points, replace=False):
            params = {task: int(n) for task, n in zip(TASKS, cell, strict=True)}
            value = problem._value(cell) + NOISE * float(problem._rng.normal())
            study.add_trial(optuna.trial.create_trial(params=params, distributions=space.distributions(), value=value))
        start = time.perf_counter()
        study.ask(space.distributions())
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    searches = {"GP-Hedge": ours("gp-hedge"), "random": ours("random")}
    if importlib.util.find_spec("skopt"):
        searches["scikit-optimize"] = neighbour
    print(f"median simple regret after {BUDGET} evaluations, {repeats} repeats (mean in brackets); values span 1\n")
    print(f"{'':26}" + "".join(f"{name:>22}" for name in searches))
    below, level = 0, 0
    for name in FUNCTIONS:
        medians = {}
        row = f"{name:26}"
        for who, search in searches.items():
            regrets = []
            for repeat in range(repeats):
                problem = Problem(name, repeat)
                with threadpool_limits(limits=1):
                    search(problem, repeat)
                regrets.append(problem.regret())
            medians[who] = statistics.median(regrets)
            row += f"{f'{medians[who]:.4f} ({statistics.mean(regrets):.4f})':>22}"
        print(row, flush=True)
        below += medians["GP-Hedge"] < medians["random"]
        level += medians["GP-Hedge"] <= medians.get("scikit-optimize", np.inf)
    print(f"\nGP-Hedge below random on {below} of {len(FUNCTIONS)} (target: all)")
    if "scikit-optimize" in searches:
        print(f"not worse than scikit-optimize on {level} of {len(FUNCTIONS)} (target: 4)")
    print(f"one ask at 60 points: {seconds_of_an_ask():.2f} s (target: ≤ 0.5)")


if __name__ == "__main__":
    main()
