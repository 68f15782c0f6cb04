"""Everything that is played in one environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rota.arrays import Floats
from rota.policies import Fixed, Policy, uniform
from rota.simulation._bandit import MTLBandit
from rota.simulation._play import GameSignal, Play, log_gain, play
from rota.simulation._rounds import PRINTED, SEARCHED, Rule, improve_by_rounds
from rota.simulation._static import best_static
from rota.simulation._together import play_together

PlayerMaker = Callable[[int], Policy]
COUNTERFACTUAL = "counterfactual"
"""How a study calls the first mixture that is learned from logs with λ found."""
AS_PRINTED = "counterfactual@bandit"
"""How it calls the last mixture that is learned as Glover & Hokamp (2019) print it."""
POINTS = 101  # of a curve


@dataclass
class Study:
    """What policies reached in an environment.

    Args:
        steps: Where the curves have their points.
        curves: Of each policy the mean score over the arms: one row per seed, one column per point, the last one at the
            end of the run.
        rounds: Of each rule by which mixtures are learned from logs the final scores: one row per round, one column per
            seed.

    >>> from rota.simulation import MTLBandit, study
    >>> from rota.policies import Exp3S
    >>> bandit = MTLBandit(arms=3, steps=100, seed=0)
    >>> found = study(bandit, {"exp3s": lambda seed: Exp3S(bandit.tasks, seed=seed)}, seeds=[0, 1])
    >>> found.finals("exp3s").shape
    (2,)
    """

    steps: Floats
    curves: dict[str, Floats] = field(default_factory=dict)
    rounds: dict[Rule, Floats] = field(default_factory=dict)

    def finals(self, name: str) -> Floats:
        """Final scores of a policy, one per seed."""
        return self.curves[name][:, -1]


def study(
    bandit: MTLBandit,
    makers: Mapping[str, PlayerMaker],
    seeds: Sequence[int],
    *,
    signal: GameSignal = log_gain,
    noise: float = 0.0,
    rounds: int = 0,
    printed: int = 0,
) -> Study:
    """Let policies play an environment beside the uniform mixture, the best fixed one and the oracle.

    Args:
        bandit: The environment.
        makers: By name, what makes a policy from the seed of its run.
        seeds: Of the runs.
        signal: What policies hear.
        noise: Of what a batch says about a score.
        rounds: How often mixtures are learned from logs, by every rule; the first round with λ found goes by the name
            "counterfactual".
        printed: How often they are learned as printed for the bandit; the last round goes by the name
            "counterfactual@bandit".

    >>> from rota.policies import Exp3S
    >>> bandit = MTLBandit(arms=3, steps=100, seed=0)
    >>> sorted(study(bandit, {"exp3s": lambda seed: Exp3S(bandit.tasks, seed=seed)}, seeds=[0]).curves)
    ['best static', 'exp3s', 'oracle', 'uniform']
    """
    points = np.linspace(0, bandit.steps - 1, POINTS).round().astype(int)
    found = Study((points + 1).astype(np.float64))

    def add(name: str, games: Sequence[Play]) -> None:
        found.curves[name] = np.stack([game.mean_scores[points] for game in games])

    def mixed(mixture: Fixed) -> list[Play]:
        return play_together(bandit, [(mixture, seed) for seed in seeds], noise)

    even = mixed(uniform(bandit.tasks))
    add("uniform", even)
    for name, make in makers.items():
        if name != "uniform":
            add(name, [play(bandit, make(seed), seed, signal, noise) for seed in seeds])
    if rounds:
        for rule, played in improve_by_rounds(bandit, seeds, even, rounds, noise).items():
            found.rounds[rule] = np.array([[game.final for game in games] for games in played])
            if rule == Rule("1 - s", "auto"):
                add(COUNTERFACTUAL, played[0])
    if printed:
        found_by = improve_by_rounds(bandit, seeds, even, printed, noise, rules=[PRINTED], search=SEARCHED)
        add(AS_PRINTED, found_by[PRINTED][-1])
    add("best static", mixed(best_static(bandit)))
    add("oracle", mixed(bandit.oracle))
    return found
