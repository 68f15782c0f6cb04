"""Whether a round of one task did the target good."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from rota.feedback import Choice

WIDE = 0.05
"""A gain of so much of the score counts as wholly good, where gains are measured."""


@dataclass(frozen=True)
class Reward:
    """What a policy hears at the end of every round: whether the score that counts has fallen since the last one,
    whoever's turn that was.

    Args:
        every: Updates in a round.
        rule: What is good: "ge": a score that did not fall (AutoSeM); "gt": one that rose; "gain": how much it rose,
            from 0 (by five points down) over ½ (not at all) to 1 (by five points up).
    """

    every: int = 10
    rule: Literal["ge", "gt", "gain"] = "ge"

    def value(self, before: float, now: float) -> float:
        """
        >>> [Reward(rule=rule).value(0.5, 0.5) for rule in ("ge", "gt", "gain")]
        [1.0, 0.0, 0.5]
        """
        if self.rule == "gain":
            return min(max(0.5 + (now - before) / (2 * WIDE), 0.0), 1.0)
        return float(now >= before if self.rule == "ge" else now > before)


class Rewarder:
    """Remembers the score of the last round; the first one is compared with the untrained model."""

    def __init__(self, reward: Reward) -> None:
        self.reward = reward
        self._before = 0.0

    def start(self, score: float) -> None:
        """Nothing is trained yet, and this is the score."""
        self._before = score

    def __call__(self, choice: Choice, done: int, score: float) -> dict[str, Any]:
        """The line of the log for a round that is over; its `value` is what the policy hears."""
        value, self._before = self.reward.value(self._before, score), score
        return {
            **{"kind": "arm", "step": done, "round": choice.round, "task": choice.task},
            **{"probability": choice.probability, "score": score, "value": value},
        }

    def state_dict(self) -> dict[str, Any]:
        return {"before": self._before}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._before = state["before"]
