"""Numbers with limits, for arguments of policies and sources and for the options of methods that are made of them."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge, Gt, Interval

Count = Annotated[int, Interval(ge=1, le=2**31)]
TwoOrMore = Annotated[int, Interval(ge=2, le=2**31)]
Whole = Annotated[int, Ge(0)]
Share = Annotated[float, Interval(ge=0, le=1)]
PartShare = Annotated[float, Interval(ge=0, lt=1)]
Positive = Annotated[float, Gt(0)]
NotNegative = Annotated[float, Ge(0)]
