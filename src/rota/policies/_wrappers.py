"""Policies around policies: hold a choice for a round, give every task a floor."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rota.arrays import Floats
from rota.errors import RotaError
from rota.feedback import Choice, Feedback
from rota.policies._base import Policy


class Wrapper(Policy):
    """A policy around a policy: same tasks, and it hears what that one hears.

    Args:
        policy: The policy inside.
    """

    state: ClassVar[tuple[str, ...]] = ("policy",)

    def __init__(self, policy: Policy) -> None:
        super().__init__(policy.tasks)
        self.policy = policy
        self.hears, self.ordered, self.round_length = policy.hears, policy.ordered, policy.round_length

    @property
    def counts_draws(self) -> bool:
        return self.policy.counts_draws

    def on_draw(self, k: int, step: int) -> None:
        self.policy.on_draw(k, step)

    def learn(self, k: int, feedback: Feedback) -> None:
        self.policy.learn(k, feedback)


class WithFloor(Wrapper):
    """Another policy, mixed with a little of everything: π(k) = (1 - ε) p(k) + ε / N.

    The wrapped policy hears its own probability p, not π, so that its importance weights stay right.

    Args:
        policy: The policy to mix. Policies whose promise a floor would break (`Union`, `Cycle`, `Hold`) are
            refused; the floor goes inside: `Hold(WithFloor(policy, 0.1), steps=10)`.
        epsilon: Share that is spread evenly.

    >>> from rota.policies import Fixed
    >>> WithFloor(Fixed({"rte": 0, "mrpc": 1}), epsilon=0.1).probabilities(step=0)
    array([0.05, 0.95])
    """

    def __init__(self, policy: Policy, epsilon: float) -> None:
        super().__init__(policy)
        if not policy.mixable:
            raise RotaError(
                f"WithFloor expects a policy that may be mixed. Found {type(policy).__name__}, whose promise a floor "
                f"would break. Put the floor inside, or leave it out."
            )
        if not 0 <= epsilon < 1:
            raise RotaError(f"WithFloor expects epsilon in [0, 1). Found {epsilon}.")
        self.epsilon = epsilon

    def probabilities(self, step: int) -> Floats:
        return (1.0 - self.epsilon) * self.policy.probabilities(step) + self.epsilon / len(self.tasks)

    def learn(self, k: int, feedback: Feedback) -> None:
        probability = feedback.probability
        if probability is not None:
            own = (probability - self.epsilon / len(self.tasks)) / (1.0 - self.epsilon)
            probability = min(max(own, 1e-12), 1.0)
        self.policy.learn(k, replace(feedback, probability=probability))


class Hold(Wrapper):
    """Another policy, asked once per round: its choice is kept for `steps` draws.

    Every choice of a round carries the probability of the round's draw and the number of the round. The
    wrapped policy hears one value per round and word: the mean of what came back, passed on with the feedback of the
    round's last step (or, if that never comes, with the next round's). So a value per step and a single value
    at the end of the round both work; what comes after its round was passed on is not heard. A survey (no
    probability) belongs to no round and is passed on as it is.

    Args:
        policy: The policy to ask. `Cycle` and another `Hold` are refused: they have rounds of their own.
        steps: Draws per round.

    >>> from rota.policies import uniform
    >>> policy, rng = Hold(uniform(["a", "b"]), steps=3), np.random.default_rng(4)
    >>> [policy.choose(step, rng).task for step in range(9)]
    ['b', 'b', 'b', 'a', 'a', 'a', 'b', 'b', 'b']
    """

    state: ClassVar = ("policy", "turn", "held", "probability", "open_rounds")
    mixable: ClassVar = False  # a floor would break the rounds
    holdable: ClassVar = False  # its rounds are its own

    REMEMBERED = 1000
    """Rounds that may still wait for their feedback; older ones are given up, so that memory stays bounded."""

    def __init__(self, policy: Policy, steps: int) -> None:
        super().__init__(policy)
        if steps < 1:
            raise RotaError(f"Hold expects rounds of one step or more. Found {steps}.")
        if not policy.holdable:
            raise RotaError(
                f"Hold expects a policy without rounds of its own. Found {type(policy).__name__}. "
                f"Give that one longer rounds instead."
            )
        self.steps = self.round_length = steps
        self.turn = 0
        self.held = self.tasks[0]
        self.probability = 1.0
        # By number of the round (JSON wants strings): its draw, its last step once that was drawn, and by word the sum
        # and count of what was heard, None once that was passed on.
        self.open_rounds: dict[str, dict[str, Any]] = {}

    @property
    def counts_draws(self) -> bool:
        return True

    def probabilities(self, step: int) -> Floats:
        if self.turn % self.steps == 0:
            return self.policy.probabilities(step)
        kept = np.zeros(len(self.tasks))
        kept[self._index[self.held]] = 1.0
        return kept

    def expected_shares(self, step: int) -> dict[str, float]:
        return self.policy.expected_shares(step)

    def _choice(self, k: int, probability: float, step: int) -> Choice:
        number, position = divmod(self.turn, self.steps)
        return Choice(self.tasks[k], probability if position == 0 else self.probability, step, number)

    def welcome(self, stays: NDArray[np.bool_]) -> None:
        """A round of a task that leaves is over; the next draw begins a new one."""
        self.open_rounds = {number: own for number, own in self.open_rounds.items() if own["task"] in self._index}
        if self.held not in self._index:
            self.turn, self.held = -(-self.turn // self.steps) * self.steps, self.tasks[0]

    def on_draw(self, k: int, step: int) -> None:
        number, position = divmod(self.turn, self.steps)
        if position == 0:
            self.held, self.probability = self.tasks[k], float(self.policy.probabilities(step)[k])
            self.policy.on_draw(k, step)
            drawn = {"task": self.held, "probability": self.probability, "last": None, "heard": {}}
            self.open_rounds[str(number)] = drawn
            self.open_rounds.pop(str(number - self.REMEMBERED), None)
        if position == self.steps - 1:
            self.open_rounds[str(number)]["last"] = step
        self.turn += 1

    def learn(self, k: int, feedback: Feedback) -> None:
        if feedback.probability is None or feedback.round is None:
            self.policy.learn(k, feedback)
            return
        word = feedback.about or ""
        waiting = [n for n, own in self.open_rounds.items() if int(n) < feedback.round and own["heard"].get(word)]
        for number in waiting:  # the value of its last step never came
            self._pass_on(number, word)
        own = self.open_rounds.get(str(feedback.round))
        heard = [0.0, 0] if own is None else own["heard"].setdefault(word, [0.0, 0])
        if own is None or heard is None:
            return
        heard[0] += feedback.value
        heard[1] += 1
        if feedback.step == own["last"]:
            self._pass_on(str(feedback.round), word)

    def _pass_on(self, number: str, word: str) -> None:
        own = self.open_rounds[number]
        (total, count), own["heard"][word] = own["heard"][word], None
        rounds = self.open_rounds.items()
        over = [n for n, r in rounds if int(n) < int(number) and r["heard"] and not any(r["heard"].values())]
        for old in over:
            del self.open_rounds[old]
        value = Feedback(own["task"], total / count, own["probability"], own["last"], int(number), word or None)
        self.policy.learn(self._index[own["task"]], value)
