"""What a claim says: a sentence, the two variants and the number that it is about, the effect that is printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from rota.analysis._fairness import USUALLY
from rota.analysis._measures import check_measure
from rota.errors import RotaError, describe_mistakes


class Claim(BaseModel):
    """One sentence that numbers can bear out.

    Args:
        says: The sentence.
        paper: What the paper has, in words.
        printed: The printed effect, `of` minus `than`, in the unit of the measure (percent points, updates, nats).
        matters: The smallest effect that matters, in that unit; no larger than the printed one.
        measure: The number that it is about, see `MEASURES`.
        of: A variant.
        than: Another variant, or a number in the unit of the measure (percent, updates, nats).
        is_: Whether the first is higher, lower, or within a margin alike.
        within: The margin, for alike.
        split: Where scores are from.
        differ: Fields of the plan in which the two variants may differ; in no other.
        above_chance: Tasks that must have been learned, or the claim says nothing, with the score of the best constant
            answer in percent: the mean over seeds must be above it with its 95 % interval, in both variants.

    >>> Claim(says="exp3s is ahead", of="exp3s", than="uniform", printed=0.87).effect
    0.87
    >>> Claim(says="rte is learned", measure="score:rte", of="exp3s", than=60.0).is_  # than a number, in percent
    'higher'
    """

    model_config = ConfigDict(extra="forbid", populate_by_name=True, allow_inf_nan=False)

    says: str
    paper: str = ""
    printed: float | None = None
    matters: float | None = Field(None, gt=0)
    measure: str = "average"
    of: str
    than: str | float
    is_: Literal["higher", "lower", "alike"] = Field("higher", alias="is")
    within: float | None = Field(None, gt=0)
    split: Literal["dev", "test"] = "dev"
    differ: tuple[str, ...] = USUALLY
    above_chance: dict[str, float] = {}

    @model_validator(mode="after")
    def _is_whole(self) -> Claim:
        check_measure(self.measure)
        if (self.is_ == "alike") != (self.within is not None):
            raise ValueError("`within` goes with `is: alike`, and only with it")
        if self.is_ == "alike" and self.matters is not None:
            raise ValueError("`matters` goes with `is: higher` or `is: lower`; for alike it is `within`")
        if self.printed is not None:
            self._check_printed(self.printed)
        return self

    def _check_printed(self, printed: float) -> None:
        if self.within is not None and abs(printed) > self.within:
            raise ValueError("`printed` of what `is: alike` lies within the margin")
        if self.is_ != "alike" and self.sign * printed <= 0:
            raise ValueError(f"`printed` of what `is: {self.is_}` is {'above' if self.sign > 0 else 'below'} zero")
        if self.matters is not None and self.matters > abs(printed):
            raise ValueError("`matters` is no larger than `printed`")

    @property
    def sign(self) -> int:
        """1, or −1 where it is about lower."""
        return -1 if self.is_ == "lower" else 1

    @property
    def effect(self) -> float | None:
        """The effect that runs should be able to find: the printed one, else the smallest that matters; of likeness,
        none at all unless one is printed."""
        if self.printed is not None:
            return self.sign * self.printed
        return 0.0 if self.is_ == "alike" else self.matters

    @property
    def paper_told(self) -> str:
        """What the paper has, as a table shows it.

        >>> Claim(says="", of="a", than="b", is_="lower", printed=-0.87, paper="in both halves").paper_told
        '−0.87, in both halves'
        """
        number = "" if self.printed is None else f"{self.printed:+g}".replace("-", "−")
        return ", ".join(filter(None, [number, self.paper]))


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
