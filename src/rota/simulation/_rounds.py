"""Policies from logs: play, learn a mixture from the log, play again."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from rota.offpolicy import best_mixture
from rota.policies import Fixed, uniform
from rota.seeds import integer
from rota.simulation._bandit import MTLBandit
from rota.simulation._logged import WORTHS, logged
from rota.simulation._play import Play
from rota.simulation._together import play_together

ENTROPIES = (0.1, 0.15, 0.2, 0.25, 0.35, 0.5, 0.75, 1.0)
"""Weights λ of the entropy: the four that Glover & Hokamp (2019) tried, and larger ones."""

ENOUGH = 3  # pulls of an arm, of which a log leaves the first one out


class Rule(NamedTuple):
    """How a mixture is learned from a log.

    Args:
        reward: What a score that rose is worth, as `WORTHS` calls it.
        entropy: The weight λ; or "auto".

    >>> Rule("1 - s", entropy=0.5)
    Rule(reward='1 - s', entropy=0.5)
    """

    reward: str
    entropy: float | Literal["auto"]


RULES = [rule for reward in WORTHS for rule in (Rule(reward, "auto"), *(Rule(reward, own) for own in ENTROPIES))]
"""All that are compared: every reward with λ found and with every given one."""


CLOSED: Mapping[str, Any] = {"optimiser": "softmax"}
"""How a mixture is found for a given λ: the closed form, which CMA-ES finds too (within 0.02)."""
SEARCHED: Mapping[str, Any] = {"optimiser": "cma-es", "iterations": 20, "population": 64}
"""The same as Glover & Hokamp (2019) did it for the bandit."""
PRINTED = Rule("1 - s", 0.2)
"""Their choice, in two rounds."""


def improve_by_rounds(
    bandit: MTLBandit,
    seeds: Sequence[int],
    logs: Sequence[Play],
    rounds: int = 2,
    noise: float = 0.0,
    *,
    rules: Sequence[Rule] = RULES,
    search: Mapping[str, Any] = CLOSED,
) -> dict[Rule, list[list[Play]]]:
    """The counterfactual policy of Glover & Hokamp (2019) by every rule: from the log of each seed a mixture, which is
    played and leaves the log of the next round.

    Args:
        bandit: The environment.
        seeds: Of the runs.
        logs: Of each seed the first log, by `play_together` with the same noise.
        rounds: How often a mixture is learned.
        noise: As in `play`.
        rules: Which of them.
        search: How the mixture for a given λ is found: arguments of `rota.offpolicy.best_mixture`.

    Returns:
        For each rule the rounds, and in each of them the game of each seed.

    >>> from rota.policies import uniform
    >>> from rota.simulation import play_together
    >>> bandit = MTLBandit(arms=3, steps=200, seed=0)
    >>> logs = play_together(bandit, [(uniform(bandit.tasks), 0)])
    >>> games = improve_by_rounds(bandit, [0], logs, rounds=1)[Rule("1 - s", entropy="auto")]
    >>> round(logs[0].final, 2), round(games[0][0].final, 2)
    (0.66, 0.73)
    """
    found: dict[Rule, list[list[Play]]] = {rule: [] for rule in rules}
    mixtures = {rule: [uniform(bandit.tasks)] * len(seeds) for rule in rules}
    for number in range(rounds):
        for rule in rules:
            before = zip(mixtures[rule], found[rule][-1] if number else logs, strict=True)
            mixtures[rule] = [_learned(bandit, mixture, game, rule, search) for mixture, game in before]
        now = [integer(seed, "round", number) for seed in seeds]
        games = [game for rule in rules for game in zip(mixtures[rule], now, strict=True)]
        played = iter(play_together(bandit, games, noise))
        for rule in rules:
            found[rule].append(list(itertools.islice(played, len(seeds))))
    return found


def _learned(bandit: MTLBandit, mixture: Fixed, game: Play, rule: Rule, search: Mapping[str, Any]) -> Fixed:
    """The mixture that the rule finds in the log of a game; where arms were starved, nothing can be learned from it."""
    if np.bincount(game.tasks, minlength=len(bandit.tasks)).min() < ENOUGH:
        return mixture
    return best_mixture(logged(bandit, game, WORTHS[rule.reward]), rule.entropy, **search)
