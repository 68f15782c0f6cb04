"""Whether a round of one task did the target good."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from rota.errors import RotaError
from rota.policies import Policy
from rota.settings import Settings
from rota.sources._source import Feed, Moment, Said, Source

if TYPE_CHECKING:
    from rota.evaluation import RunAccess

WIDE = 0.05
"""A gain of so much of the score counts as wholly good, where gains are measured."""


@dataclass(frozen=True)
class RoundSuccess(Source):
    """At the end of every round of a policy that holds its draws: whether the target's score has fallen since the round
    before.

    Args:
        every: Updates in a round; those of the policy, and no others.
        rule: What is good: "ge": a score that did not fall (AutoSeM); "gt": one that rose; "gain": how much it rose,
            from 0 (by five points down) over ½ (not at all) to 1 (by five points up).
    """

    name: ClassVar[str] = "round success"
    every: int | None = None
    rule: Literal["ge", "gt", "gain"] = "ge"
    says: str = "success"

    def __post_init__(self) -> None:
        if self.rule not in ("ge", "gt", "gain"):
            raise RotaError(f"RoundSuccess expects the rule 'ge', 'gt' or 'gain'. Found '{self.rule}'.")

    def for_run(self, policy: Policy, settings: Settings) -> RoundSuccess:
        if policy.round_length == 1:
            name = type(policy).__name__
            raise RotaError(
                f"{name} hears after each round whether it helped the target. Found one that draws at every step. "
                f"Give it rounds: Hold({name}(…), steps=10)."
            )
        if self.every not in (None, policy.round_length):
            raise RotaError(
                f"RoundSuccess expects the rounds of its policy, {policy.round_length} updates. Found every="
                f"{self.every}. Leave `every` out."
            )
        if policy.round_length > settings.steps:
            raise RotaError(
                f"RoundSuccess expects at least one whole round of {policy.round_length} updates. Found "
                f"Settings(steps={settings.steps}). Raise it, or shorten the rounds."
            )
        return replace(self, every=policy.round_length)

    def value(self, before: float, now: float) -> float:
        """
        >>> [RoundSuccess(rule=rule).value(0.5, 0.5) for rule in ("ge", "gt", "gain")]
        [1.0, 0.0, 0.5]
        """
        if self.rule == "gain":
            return min(max(0.5 + (now - before) / (2 * WIDE), 0.0), 1.0)
        return float(now >= before if self.rule == "ge" else now > before)

    def open(self, run: RunAccess) -> Feed:
        return RoundSuccessFeed(self, run)


class RoundSuccessFeed(Feed):
    """Remembers the score of the last round; the first one is compared with the untrained model."""

    def __init__(self, source: RoundSuccess, run: RunAccess) -> None:
        self._source, self._run = source, run
        self._counted = [task for task in run.evaluated if task.counted]
        self._before: float | None = None

    def at_evaluation(self, moment: Moment) -> Said | None:
        if self._before is None:
            self._before = (moment.evaluation or {})["average"] or 0.0
        return None

    def at_step_end(self, moment: Moment) -> Said | None:
        choice = moment.choice
        if choice is None or moment.done % (self._source.every or 1):
            return None
        score = self._run.evaluate(self._counted)["average"] or 0.0
        self._run.charge(sum(task.size("dev") for task in self._counted))
        value, self._before = self._source.value(self._before or 0.0, score), score
        line = {
            "kind": "arm",
            "step": moment.done,
            "round": choice.round,
            "task": choice.task,
            "probability": choice.probability,
            "score": score,
            "value": value,
        }
        return Said([choice.scored(value, about=self._source.says)], line)

    def state_dict(self) -> dict[str, Any]:
        return {"before": self._before}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._before = state["before"]

    def carried(self, state: dict[str, Any], tasks: Collection[str]) -> dict[str, Any]:
        return {"before": None}  # the average over other tasks is another number; the next evaluation says it
