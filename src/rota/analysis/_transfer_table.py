"""Which task helps which: pairs of tasks beside each of them alone, seed by seed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from rota.analysis._checkpoint_scores import score
from rota.analysis._decide import above, below, holm
from rota.analysis._paired import Difference, paired
from rota.analysis._spreads import LEVEL, Spread, spread
from rota.runlog import Run

Verdict = Literal["helps", "harms", "cannot tell"]
Scores = Mapping[int, float]
"""By seed."""


class Ratio(NamedTuple):
    """Batches of a task, and of the helper beside it.

    >>> Ratio(4, 1).helpers, str(Ratio(4, 1)), str(Ratio())
    (0.25, '4:1', '1:1')
    """

    own: int = 1
    other: int = 1

    @property
    def helpers(self) -> float:
        """Of the helper for one of the target."""
        return self.other / self.own

    def __str__(self) -> str:
        return f"{self.own}:{self.other}"


class Pairing(NamedTuple):
    """A task, the one that is trained beside it, and how much of it.

    >>> Pairing("rte", "mnli").ratio
    Ratio(own=1, other=1)
    """

    target: str
    helper: str
    ratio: Ratio = Ratio()


@dataclass(frozen=True)
class TransferEffect:
    """What a task gains from another one.

    Args:
        pairing: Which, from which.
        gain: Its score beside the helper minus its score alone, seed by seed.
        of_the_rest: The same as a part of what the task alone lacks to a perfect score.
        verdict: Beyond noise or not, corrected for the number of effects in the table (Holm).

    >>> alone, beside = {"rte": {0: 0.50, 1: 0.51, 2: 0.52}}, {0: 0.60, 1: 0.62, 2: 0.61}
    >>> (effect,) = transfer_table(alone, {Pairing("rte", "mnli"): beside}).effects
    >>> round(effect.gain.mean, 2), round(effect.of_the_rest.mean, 2), effect.verdict
    (0.1, 0.2, 'helps')
    """

    pairing: Pairing
    gain: Difference
    of_the_rest: Difference
    verdict: Verdict


@dataclass(frozen=True)
class TransferTable:
    """Which task helps which.

    Args:
        alone: Scores of each task without any other.
        effects: Of every pair that was trained.
        mutual: Of pairs that were trained with as many batches of one as of the other: the mean of what both gain.

    >>> alone = {"rte": {0: 0.50, 1: 0.51, 2: 0.52}, "mnli": {0: 0.70, 1: 0.71, 2: 0.70}}
    >>> beside = {
    ...     Pairing("rte", "mnli"): {0: 0.60, 1: 0.62, 2: 0.61},
    ...     Pairing("mnli", "rte"): {0: 0.70, 1: 0.70, 2: 0.71},
    ... }
    >>> table = transfer_table(alone, beside)
    >>> [(effect.pairing.target, round(effect.gain.mean, 2), effect.verdict) for effect in table.effects]
    [('rte', 0.1, 'helps'), ('mnli', 0.0, 'cannot tell')]
    >>> round(table.effects[0].of_the_rest.mean, 2), round(table.mutual[0].gain.mean, 2)
    (0.2, 0.05)
    """

    alone: Mapping[str, Spread]
    effects: tuple[TransferEffect, ...]
    mutual: tuple[TransferEffect, ...]

    @property
    def tasks(self) -> list[str]:
        return list(self.alone)

    @property
    def helpers(self) -> list[str]:
        """All that were trained beside a task, in the order of the tasks."""
        known = dict.fromkeys(effect.pairing.helper for effect in self.effects)
        return [*(task for task in self.tasks if task in known), *(task for task in known if task not in self.tasks)]

    @property
    def ratios(self) -> list[Ratio]:
        """Those that were trained, the fewest batches of the helper first."""
        return sorted({effect.pairing.ratio for effect in self.effects}, key=lambda ratio: ratio.helpers)

    def effect(self, target: str, helper: str, ratio: Ratio | None = None) -> TransferEffect | None:
        """That of one pair, with one batch of each unless told otherwise; None where it was not trained."""
        wanted = Pairing(target, helper, ratio or Ratio())
        return next((effect for effect in self.effects if effect.pairing == wanted), None)

    def mutual_effect(self, one: str, other: str) -> TransferEffect | None:
        """What two tasks gain together; None where they were not trained with as many batches of each."""
        return next((own for own in self.mutual if {own.pairing.target, own.pairing.helper} == {one, other}), None)


def transfer_table(alone: Mapping[str, Scores], beside: Mapping[Pairing, Scores]) -> TransferTable:
    """From scores, see `TransferTable`.

    Args:
        alone: Of each task without any other.
        beside: Of the target of each pairing.

    >>> table = transfer_table({"rte": {0: 0.5}}, {Pairing("rte", "mnli", Ratio(4, 1)): {0: 0.75}})
    >>> table.effect("rte", "mnli", Ratio(4, 1)).gain.mean, table.effect("rte", "mnli"), table.helpers
    (0.25, None, ['mnli'])
    """
    found = [_effect(pairing, scores, alone[pairing.target]) for pairing, scores in beside.items()]
    both = [
        _mutual(pairing, scores, beside[back], alone)
        for pairing, scores in beside.items()
        if (back := Pairing(pairing.helper, pairing.target)) in beside
        and pairing.ratio == Ratio()
        and list(alone).index(pairing.target) < list(alone).index(pairing.helper)
    ]
    return TransferTable({task: spread(own.values()) for task, own in alone.items()}, _judged(found), _judged(both))


def read_transfer(runs: Iterable[Run]) -> TransferTable:
    """From finished runs of `rota.comparisons.transfer_comparison`.

    >>> from rota.testing import written_run
    >>> def made(rte, mnli, weights):
    ...     return written_run({"rte": [rte], "mnli": [mnli]}, "cycle", plan={"options": {"weights": weights}})
    >>> runs = [made(0.5, 0.3, {"rte": 1}), made(0.5, 0.7, {"mnli": 1}), made(0.6, 0.7, {"rte": 1, "mnli": 1})]
    >>> table = read_transfer(runs)
    >>> round(table.effect("rte", "mnli").gain.mean, 3), round(table.effect("mnli", "rte").gain.mean, 3)
    (0.1, 0.0)
    """
    alone: dict[str, dict[int, float]] = {}
    beside: dict[Pairing, dict[int, float]] = {}
    for run in runs:
        weights = {task: int(own) for task, own in run.plan["options"]["weights"].items() if own}
        for target in [run.plan["target"]] if run.plan.get("target") else list(weights):
            found = score(run, "dev", target)
            if found is None:
                continue
            others = [task for task in weights if task != target]
            into = (
                beside.setdefault(Pairing(target, others[0], Ratio(weights[target], weights[others[0]])), {})
                if others
                else alone.setdefault(target, {})
            )
            into[run.plan["seed"]] = found
    return transfer_table(alone, {own: scores for own, scores in beside.items() if own.target in alone})


def _effect(pairing: Pairing, beside: Scores, alone: Scores) -> TransferEffect:
    gain = paired(beside, alone)
    rest = 1.0 - float(np.mean(list(alone.values())))
    return TransferEffect(pairing, gain, _times(gain, 1 / rest if rest > 0 else np.nan), "cannot tell")


def _mutual(pairing: Pairing, there: Scores, back: Scores, alone: Mapping[str, Scores]) -> TransferEffect:
    """The mean of both directions, seed by seed: they come from one run, so they are not independent."""
    seeds = there.keys() & back.keys() & alone[pairing.target].keys() & alone[pairing.helper].keys()
    together = {seed: (there[seed] + back[seed]) / 2 for seed in sorted(seeds)}
    apart = {seed: (alone[pairing.target][seed] + alone[pairing.helper][seed]) / 2 for seed in sorted(seeds)}
    return _effect(pairing, together, apart)


def _times(own: Difference, factor: float) -> Difference:
    return replace(own, mean=own.mean * factor, error=own.error * factor, low=own.low * factor, high=own.high * factor)


def _judged(effects: list[TransferEffect]) -> tuple[TransferEffect, ...]:
    """The same effects with verdicts that hold together: the chance that any of them is wrong stays below 5 %."""
    if not effects:
        return ()
    mean, error, n = (
        np.array([getattr(own.gain, name) for own in effects], dtype=np.float64) for name in ("mean", "error", "n")
    )
    p = holm(np.minimum(above(mean, error, n, np.zeros(1)), below(mean, error, n, np.zeros(1))))
    sure = np.nan_to_num(p, nan=1.0) < 1 - LEVEL
    told: list[Verdict] = [
        "cannot tell" if not one else "helps" if up else "harms" for one, up in zip(sure, mean > 0, strict=True)
    ]
    return tuple(replace(own, verdict=verdict) for own, verdict in zip(effects, told, strict=True))
