"""What is claimed, and whether runs bear it out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rota.analysis._claim import Claim
from rota.analysis._decide import EXACT, FAILS, FEWEST, HOLDS, UNCLEAR, Decided, Predicted, decide
from rota.analysis._fairness import other_fields
from rota.analysis._measures import UNITS, measured, unit_of
from rota.analysis._paired import Difference, paired
from rota.analysis._power import power, power_of_alike, seeds_for
from rota.analysis._spreads import LEVEL, spread
from rota.errors import unknown_name
from rota.runlog import SUMMARY, Run

UNKNOWN, UNFAIR, UNTESTABLE = "not measured", "not comparable", "not testable here"


@dataclass(frozen=True)
class Verdict:
    """What the runs say to a claim.

    Args:
        claim: The claim.
        difference: Over seeds, in the unit of its measure.
        verdict: "holds", "does not hold", "an effect of the printed size is excluded", "cannot tell" (at this number of
            seeds), "not measured", "not comparable" (the variants differ in more than they may), or "not testable here"
            (a task that it is about was not learned).
        why: More about it, such as the fields in which the variants differ.
        tested: How many claims of the table were tested, for which the verdict is corrected.

    >>> claim = Claim(says="exp3s is ahead", of="exp3s", than="uniform", printed=3.0)
    >>> found = Verdict(claim, paired({0: 72.0, 1: 75.0, 2: 71.0}, {0: 70.0, 1: 71.0, 2: 70.0}), UNCLEAR)
    >>> found.ours
    '+2.3 [−1.5, 6.1] (n = 3)'
    >>> round(found.power, 2), found.told
    (0.46, 'cannot tell (5 seeds would)')
    """

    claim: Claim
    difference: Difference
    verdict: str
    why: str = ""
    tested: int = 1

    @property
    def ours(self) -> str:
        """Our figure, as the paper's would be written."""
        found, (_, digits) = self.difference, UNITS[unit_of(self.claim.measure)]
        if not found.n:
            return "–"
        told = f"{found.mean:+.{digits}f}"
        told += f" [{found.low:.{digits}f}, {found.high:.{digits}f}]" if found.n > 1 else ""
        return f"{told.replace('-', '−')} (n = {found.n})"

    @property
    def told(self) -> str:
        """The verdict, with the reason, or with what it would take where there is none."""
        needed = self.seeds_needed if self.verdict == UNCLEAR else None
        if needed is not None and needed > self.difference.n:
            return f"{self.verdict} ({needed} seeds would)"
        return f"{self.verdict}: {self.why}" if self.why else self.verdict

    @property
    def power(self) -> float | None:
        """How often this many seeds find the effect (the printed one, else the smallest that matters), with the spread
        that they have and the level that is left to one of the tested claims; None where there is no such effect, or
        nothing is known of the spread."""
        return self._power(self.difference.n) if self._can_be_planned else None

    @property
    def seeds_needed(self) -> int | None:
        """Seeds that would find that effect four times in five; None where that is not known, or no sensible number."""
        return seeds_for(self._power) if self._can_be_planned else None

    @property
    def _can_be_planned(self) -> bool:
        return self.claim.effect is not None and self.difference.n > 1

    def _power(self, n: int) -> float:
        assert self.claim.effect is not None
        level, deviation = (1 - LEVEL) / self.tested, max(self.difference.deviation, EXACT)
        size = self.claim.effect / deviation
        if self.claim.within is None:
            return power(size, n, level)
        return power_of_alike(size, self.claim.within / deviation, n, level)


def judge(
    claims: Sequence[Claim], folder: Path, variants: Mapping[str, Sequence[str]], may_differ: Sequence[str] = ()
) -> list[Verdict]:
    """Put the claims of one table to the finished runs of a comparison, corrected for their number (see `decide`).

    Args:
        claims: The claims.
        folder: Of the comparison.
        variants: The names of their run folders.
        may_differ: Fields in which all variants may differ, beside those that a claim names.

    >>> import tempfile
    >>> from rota.testing import written_run
    >>> claim = Claim(says="exp3s is ahead", of="exp3s", than="uniform")
    >>> variants = {"uniform": ["uniform-0", "uniform-1", "uniform-2"], "exp3s": ["exp3s-0", "exp3s-1", "exp3s-2"]}
    >>> scores = {"uniform": [0.50, 0.52, 0.54], "exp3s": [0.60, 0.61, 0.65]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for variant, names in variants.items():
    ...         for seed, name in enumerate(names):
    ...             _ = written_run({"rte": [scores[variant][seed]]}, variant, seed, folder=Path(folder) / name)
    ...     [verdict] = judge([claim], Path(folder), variants)
    >>> verdict.verdict, verdict.ours
    ('holds', '+10.0 [7.5, 12.5] (n = 3)')
    """
    runs = {variant: _finished(folder, names) for variant, names in variants.items()}
    for claim in claims:
        for variant in filter(lambda name: isinstance(name, str), (claim.of, claim.than)):
            if variant not in runs:
                raise unknown_name("variant of a claim", str(variant), runs)
    differences = [_difference(claim, runs) for claim in claims]
    obstacles = [_obstacle(claim, runs, found, may_differ) for claim, found in zip(claims, differences, strict=True)]
    tested = [found.n >= FEWEST and not obstacle for found, obstacle in zip(differences, obstacles, strict=True)]
    decided = _decided(claims, differences, tested)
    return [
        Verdict(claim, found, *(obstacle or _worded(decided, k)), tested=max(1, sum(tested)))
        for k, (claim, found, obstacle) in enumerate(zip(claims, differences, obstacles, strict=True))
    ]


def _finished(folder: Path, names: Sequence[str]) -> dict[int, Run]:
    runs = [Run(folder / name) for name in names if (folder / name / SUMMARY).is_file()]
    return {run.plan.get("seed", 0): run for run in runs}


def _difference(claim: Claim, runs: Mapping[str, Mapping[int, Run]]) -> Difference:
    """Of the variants of a claim, in the unit of its measure."""
    one = _values(claim, claim.of, runs)
    other = dict.fromkeys(one, claim.than) if isinstance(claim.than, float) else _values(claim, claim.than, runs)
    return paired(one, other)


def _values(claim: Claim, variant: str, runs: Mapping[str, Mapping[int, Run]]) -> dict[int, float]:
    factor, _ = UNITS[unit_of(claim.measure)]
    found = {seed: measured(run, claim.measure, claim.split) for seed, run in runs[variant].items()}
    return {seed: factor * value for seed, value in found.items() if value is not None}


def _obstacle(
    claim: Claim, runs: Mapping[str, Mapping[int, Run]], found: Difference, may_differ: Sequence[str]
) -> tuple[str, str] | None:
    """Why nothing can be said about a claim, whatever the numbers are: a verdict and the reason."""
    if not found.n:
        return UNKNOWN, ""
    if isinstance(claim.than, str):
        one, other = runs[claim.of], runs[claim.than]
        both = [seed for seed in one if seed in other]
        fields = [other_fields(one[s].plan, other[s].plan, [*claim.differ, *may_differ]) for s in both]
        if named := list(dict.fromkeys(field for own in fields for field in own)):
            return UNFAIR, f"they also differ in {', '.join(named)}"
    unlearned = [told for task in claim.above_chance for told in _unlearned(claim, task, runs)]
    return (UNTESTABLE, "; ".join(unlearned)) if unlearned else None


def _unlearned(claim: Claim, task: str, runs: Mapping[str, Mapping[int, Run]]) -> list[str]:
    """In which variants the task is not above chance, on average with its interval."""
    chance, told = claim.above_chance[task], []
    for variant in (claim.of, *([claim.than] if isinstance(claim.than, str) else [])):
        found = [measured(run, f"score:{task}", claim.split) for run in runs[variant].values()]
        scores = spread(100 * value for value in found if value is not None)
        low, high = scores.interval
        if not low > chance:
            told.append(f"{task} of {variant} is at {scores.mean:.1f} [{low:.1f}, {high:.1f}], chance at {chance:g}")
    return told


def _decided(claims: Sequence[Claim], differences: Sequence[Difference], tested: Sequence[bool]) -> Decided:
    def array(values: Sequence[float | None]) -> NDArray[np.float64]:
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)

    printed = array([claim.effect if claim.printed is not None else None for claim in claims])
    predicted = Predicted(
        array([claim.sign for claim in claims]),
        printed,
        array([claim.matters for claim in claims]),
        array([claim.within for claim in claims]),
    )
    means = array([found.mean if counts else None for found, counts in zip(differences, tested, strict=True)])
    return decide(
        means, array([found.error for found in differences]), array([found.n for found in differences]), predicted
    )


def _worded(decided: Decided, k: int) -> tuple[str, str]:
    """The verdict on a claim, and what to add."""
    verdict = str(decided.verdict[k])
    if verdict in (HOLDS, FAILS) and decided.below_matters[k]:
        return verdict, "the effect is smaller than what matters"
    if verdict == HOLDS and decided.below_printed[k]:
        return verdict, "the effect is smaller than printed"
    return verdict, ""
