"""Sources whose losses stop being numbers are not drawn until a person says so."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np

from rota.arrays import Floats
from rota.errors import RotaError
from rota.policies import Policy


class Unparked(Policy):
    """A policy without the tasks that are parked: π(k) ∝ p(k) for the others. Where it has no share for any of them,
    these are drawn uniformly.

    Args:
        policy: Keeps its memory, and hears of draws.
        parked: Names of tasks.

    >>> from rota.policies import Fixed
    >>> Unparked(Fixed({"rte": 1, "mrpc": 1, "sst2": 2}), ["mrpc"]).shares(step=0)["sst2"]
    0.6666666666666666
    """

    def __init__(self, policy: Policy, parked: Collection[str]) -> None:
        super().__init__(policy.tasks)
        self._policy = policy
        self._drawn = np.array([task not in parked for task in policy.tasks])
        if not self._drawn.any():
            raise RotaError(
                f"Training expects a source whose losses are numbers. Found all of them parked: {', '.join(parked)}. "
                f"Find out why losses are no numbers (a smaller learning rate?), then begin again before that; in a "
                f"mix, call mix.unpark(name)."
            )

    def probabilities(self, step: int) -> Floats:
        return self._of_the_others(self._policy.probabilities(step))

    def expected_shares(self, step: int) -> dict[str, float]:
        own = np.array(list(self._policy.expected_shares(step).values()))
        return dict(zip(self.tasks, self._of_the_others(own).tolist(), strict=True))

    def _of_the_others(self, shares: Floats) -> Floats:
        own: Floats = np.where(self._drawn, shares, 0.0)
        total = float(own.sum())
        return own / total if total > 0 else self._drawn / self._drawn.sum()

    def on_draw(self, k: int, step: int) -> None:
        self._policy.on_draw(k, step)


class Parking:
    """Counts losses that are no numbers, and parks their task after some in a row.

    Args:
        after: As many; None: nobody is parked.

    Attributes:
        reasons: By task that is parked.

    >>> parking = Parking(after=2)
    >>> [parking.hear("rte", loss, step) is not None for step, loss in enumerate([math.nan, 0.7, math.nan, math.inf])]
    [False, False, False, True]
    >>> parking.reasons
    {'rte': 'its last 2 losses are no numbers (inf)'}
    """

    def __init__(self, after: int | None) -> None:
        self.after = after
        self.reasons: dict[str, str] = {}
        self._in_a_row: dict[str, int] = {}

    def drawn_from(self, policy: Policy) -> Policy:
        """The policy, without what is parked."""
        return Unparked(policy, self.reasons) if self.reasons else policy

    def refuse_turns(self, policy: Policy) -> None:
        """Refuse a policy whose promise a missing task would break."""
        if self.after is not None and not policy.mixable:
            raise RotaError(
                f"Parking of sources expects a policy that may be mixed. Found {type(policy).__name__}, whose "
                f"promise a missing source would break. Leave park_after out, or choose another policy."
            )

    def hear(self, task: str, loss: float, step: int) -> dict[str, Any] | None:
        """A loss was told; the line for the log where its task is parked now, from `step` on."""
        if self.after is None or math.isfinite(loss):
            self._in_a_row.pop(task, None)
            return None
        count = self._in_a_row[task] = self._in_a_row.get(task, 0) + 1
        if count < self.after or task in self.reasons:
            return None
        reason = f"its last {count} losses are no numbers ({loss})" if count > 1 else f"its last loss is {loss}"
        self.reasons[task] = reason
        return {"kind": "parked", "step": step, "task": task, "reason": reason}

    def notice(self, line: Mapping[str, Any]) -> str:
        """What a person should know about a task that is parked now, from its line."""
        return (
            f"Source '{line['task']}' is parked from update {line['step']} on: {line['reason']}. The others share its "
            f"updates."
        )

    def refuse_unparked(self, task: str) -> None:
        """Refuse a task that is not parked."""
        if task not in self.reasons:
            found = ", ".join(self.reasons) or "nobody"
            raise RotaError(f"mix.unpark expects a source that is parked. Found '{task}', where {found} is parked.")

    def forget(self, tasks: Iterable[str]) -> None:
        """They have left, or are drawn again: they are counted anew."""
        for task in tasks:
            self.reasons.pop(task, None)
            self._in_a_row.pop(task, None)

    def state_dict(self) -> dict[str, Any]:
        return {"parked": dict(self.reasons), "in a row": dict(self._in_a_row)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.reasons.clear()  # the one that draws looks at it
        self.reasons.update(state.get("parked", {}))
        self._in_a_row = dict(state.get("in a row", {}))
