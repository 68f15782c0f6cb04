"""How many rounds does a bandit need to choose the right tasks?  Simulated rounds do good with a known probability; the
rule is the paper's (the two best auxiliaries, and all others above ½).

python benchmarks/selection.py [REPEATS]
"""

from __future__ import annotations

import sys

import numpy as np

from rota.policies import Thompson, WithFloor
from rota.search import choose_tasks

PROBLEMS = {
    "clear: .8, twice .7, five times .2": [0.8, 0.7, 0.7, *[0.2] * 5],
    "close: .8, twice .65, three times .35": [0.8, 0.65, 0.65, *[0.35] * 3],
}
"""How often a round of the primary, then of each auxiliary does good."""
ROUNDS = (100, 200, 400, 800)
SETTINGS = {  # decay, floor
    "the released code's": (0.3, 0.0),
    "forgets less": (0.05, 0.0),
    "and tries all": (0.05, 0.5),
}


def play(good: list[float], decay: float, floor: float, seed: int) -> np.ndarray:
    """The utilities after each round."""
    rng = np.random.default_rng(seed)
    tasks = [str(k) for k in range(len(good))]
    bandit = Thompson(tasks, decay, primary="0")
    policy = WithFloor(bandit, floor)
    history = []
    for number in range(ROUNDS[-1]):
        choice = policy.choose(number, rng)
        policy.observe(choice.scored(float(rng.random() < good[int(choice.task)])))
        history.append(list(bandit.utilities.values()))
    return np.array(history)


def is_right(utilities: np.ndarray, good: list[float]) -> bool:
    named, known = ({str(k): float(value) for k, value in enumerate(row)} for row in (utilities, good))
    return set(choose_tasks(named, "0")) == set(choose_tasks(known, "0"))


def main(repeats: int = 100) -> None:
    for title, good in PROBLEMS.items():
        print(f"{title}: percent of {repeats} repeats in which the right tasks are chosen, by rounds")
        print(f"  {'':22}{'utility':>10}" + "".join(f"{rounds:>7}" for rounds in ROUNDS))
        for name, (decay, floor) in SETTINGS.items():
            histories = [play(good, decay, floor, seed) for seed in range(repeats)]
            for utility in ("last", "averaged"):
                shares = []
                for rounds in ROUNDS:
                    start = rounds - 1 if utility == "last" else rounds // 2
                    right = [is_right(history[start:rounds].mean(axis=0), good) for history in histories]
                    shares.append(100 * np.mean(right))
                print(f"  {name:22}{utility:>10}" + "".join(f"{share:7.0f}" for share in shares))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
