"""What a paper claims, and whether runs bear it out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from rota.analysis._measures import check_measure, measured, unit_of
from rota.analysis._paired import Difference, paired
from rota.errors import RotaError, describe_mistakes, unknown_name
from rota.runlog import SUMMARY, Run

HOLDS, FAILS, UNCLEAR, UNKNOWN = "holds", "does not hold", "cannot tell", "not measured"


class Claim(BaseModel):
    """One sentence that numbers can bear out.

    Args:
        says: The sentence.
        paper: What the paper has, as it prints it.
        measure: The number that it is about, see `MEASURES`.
        of: A variant.
        than: Another variant, or a number in the unit of the measure (percent, updates).
        is_: Whether the first is higher, lower, or within a margin alike.
        within: The margin, for alike.
        split: Where scores are from.

    >>> Claim(says="exp3s is ahead", of="exp3s", than="uniform").measure
    'average'
    >>> Claim(says="rte is learned", measure="score:rte", of="exp3s", than=60.0).is_  # than a number, in percent
    'higher'
    """

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    says: str
    paper: str = ""
    measure: str = "average"
    of: str
    than: str | float
    is_: Literal["higher", "lower", "alike"] = Field("higher", alias="is")
    within: float | None = Field(None, gt=0)
    split: Literal["dev", "test"] = "dev"

    @model_validator(mode="after")
    def _is_whole(self) -> Claim:
        check_measure(self.measure)
        if (self.is_ == "alike") != (self.within is not None):
            raise ValueError("`within` goes with `is: alike`, and only with it")
        return self


@dataclass(frozen=True)
class Verdict:
    """What the runs say to a claim.

    Args:
        claim: The claim.
        difference: Over seeds, in the unit of its measure.
        verdict: "holds", "does not hold", "cannot tell" (at this number of seeds), or "not measured".

    >>> claim = Claim(says="exp3s is ahead", of="exp3s", than="uniform")
    >>> found = Verdict(claim, paired({0: 72.0, 1: 75.0, 2: 71.0}, {0: 70.0, 1: 71.0, 2: 70.0}), UNCLEAR)
    >>> found.ours
    '+2.3 [−1.5, 6.1] (n = 3)'
    >>> found.told
    'cannot tell (6 seeds would)'
    """

    claim: Claim
    difference: Difference
    verdict: str

    @property
    def ours(self) -> str:
        """Our figure, as the paper's would be written."""
        found, digits = self.difference, 1 if unit_of(self.claim.measure) == "percent" else 0
        if not found.n:
            return "–"
        told = f"{found.mean:+.{digits}f}"
        told += f" [{found.low:.{digits}f}, {found.high:.{digits}f}]" if found.n > 1 else ""
        return f"{told.replace('-', '−')} (n = {found.n})"

    @property
    def told(self) -> str:
        """The verdict, with what it would take where there is none."""
        needed = self.difference.seeds_needed
        if self.verdict != UNCLEAR or self.claim.is_ == "alike":
            return self.verdict
        return f"{self.verdict} ({needed} seeds would)" if needed else self.verdict


def read_claims(content: Sequence[Mapping[str, Any]], source: str) -> list[Claim]:
    """Claims from plain data; report every mistake with the number of its claim.

    >>> [claim] = read_claims([{"says": "exp3s is ahead", "of": "exp3s", "than": "uniform", "is": "higher"}], "c.yaml")
    >>> claim.is_, claim.measure, claim.split
    ('higher', 'average', 'dev')
    """
    found = []
    for number, own in enumerate(content, start=1):
        try:
            found.append(Claim.model_validate(dict(own)))
        except ValidationError as error:
            known = [field.alias or name for name, field in Claim.model_fields.items()]
            raise RotaError(f"{source}, claim {number}: {describe_mistakes(error.errors(), known)}") from error
    return found


def judge(claims: Sequence[Claim], folder: Path, variants: Mapping[str, Sequence[str]]) -> list[Verdict]:
    """Put claims to the finished runs of a comparison.

    Args:
        claims: The claims.
        folder: Of the comparison.
        variants: The names of their run folders.

    >>> import tempfile
    >>> from rota.testing import written_run
    >>> claim = Claim(says="exp3s is ahead", of="exp3s", than="uniform")
    >>> variants = {"uniform": ["uniform-0", "uniform-1", "uniform-2"], "exp3s": ["exp3s-0", "exp3s-1", "exp3s-2"]}
    >>> scores = {"uniform": [0.50, 0.52, 0.54], "exp3s": [0.60, 0.61, 0.65]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for variant, names in variants.items():
    ...         for seed, name in enumerate(names):
    ...             _ = written_run({"rte": [scores[variant][seed]]}, seed=seed, folder=Path(folder) / name)
    ...     [verdict] = judge([claim], Path(folder), variants)
    >>> verdict.verdict, verdict.ours
    ('holds', '+10.0 [7.5, 12.5] (n = 3)')
    """
    return [_judged(claim, folder, variants) for claim in claims]


def _judged(claim: Claim, folder: Path, variants: Mapping[str, Sequence[str]]) -> Verdict:
    factor = 100.0 if unit_of(claim.measure) == "percent" else 1.0
    one = _values(claim, claim.of, folder, variants)
    if isinstance(claim.than, float):
        other = dict.fromkeys(one, claim.than / factor)
    else:
        other = _values(claim, claim.than, folder, variants)
    found = paired(
        {seed: factor * value for seed, value in one.items()}, {seed: factor * value for seed, value in other.items()}
    )
    return Verdict(claim, found, _verdict(claim, found))


def _values(claim: Claim, variant: str, folder: Path, variants: Mapping[str, Sequence[str]]) -> dict[int, float]:
    if variant not in variants:
        raise unknown_name("variant of a claim", variant, variants)
    found: dict[int, float] = {}
    for name in variants[variant]:
        if not (folder / name / SUMMARY).is_file():
            continue
        run = Run(folder / name)
        value = measured(run, claim.measure, claim.split)
        if value is not None:
            found[run.plan["seed"]] = value
    return found


def _verdict(claim: Claim, found: Difference) -> str:
    if not found.n:
        return UNKNOWN
    if claim.is_ == "alike":
        assert claim.within is not None
        if found.n < 3:
            return UNCLEAR
        if -claim.within <= found.low and found.high <= claim.within:
            return HOLDS
        return FAILS if found.low > claim.within or found.high < -claim.within else UNCLEAR
    if not found.tells:
        return UNCLEAR
    return HOLDS if (found.mean > 0) == (claim.is_ == "higher") else FAILS
