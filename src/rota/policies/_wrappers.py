"""Policies around policies: hold a choice for a round, give every task a floor."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from rota.errors import RotaError
from rota.feedback import Choice, Feedback
from rota.policies._base import Floats, Policy


class WithFloor(Policy):
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

    state: ClassVar = ("policy",)

    def __init__(self, policy: Policy, epsilon: float) -> None:
        super().__init__(policy.tasks)
        if not policy.mixable:
            raise RotaError(
                f"WithFloor expects a policy that may be mixed. Found {type(policy).__name__}, whose promise a floor "
                f"would break. Put the floor inside, or leave it out."
            )
        if not 0 <= epsilon < 1:
            raise RotaError(f"WithFloor expects epsilon in [0, 1). Found {epsilon}.")
        self.policy, self.epsilon = policy, epsilon
        self.ordered = policy.ordered

    def probabilities(self, step: int) -> Floats:
        return (1.0 - self.epsilon) * self.policy.probabilities(step) + self.epsilon / len(self.tasks)

    def took(self, k: int, step: int) -> None:
        self.policy.took(k, step)

    @property
    def counts_draws(self) -> bool:
        return self.policy.counts_draws

    def learn(self, k: int, feedback: Feedback) -> None:
        probability = feedback.probability
        if probability is not None:
            own = (probability - self.epsilon / len(self.tasks)) / (1.0 - self.epsilon)
            probability = min(max(own, 1e-12), 1.0)
        self.policy.learn(k, Feedback(feedback.task, feedback.value, probability, feedback.step, feedback.round))


class Hold(Policy):
    """Another policy, asked once per round: its choice is kept for `steps` draws.

    Every choice of a round carries the probability of the round's draw and the number of the round. The
    wrapped policy hears one value per round: the mean of what came back, passed on with the feedback of the
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
        super().__init__(policy.tasks)
        if steps < 1:
            raise RotaError(f"Hold expects rounds of one step or more. Found {steps}.")
        if not policy.holdable:
            raise RotaError(
                f"Hold expects a policy without rounds of its own. Found {type(policy).__name__}. "
                f"Give that one longer rounds instead."
            )
        self.policy, self.steps = policy, steps
        self.ordered = policy.ordered
        self.turn = 0
        self.held = self.tasks[0]
        self.probability = 1.0
        # By number of the round (JSON wants strings): its task, probability, last step (None until drawn), and
        # sum and count of the values heard.
        self.open_rounds: dict[str, list[Any]] = {}

    def probabilities(self, step: int) -> Floats:
        if self.turn % self.steps == 0:
            return self.policy.probabilities(step)
        kept = np.zeros(len(self.tasks))
        kept[self._index[self.held]] = 1.0
        return kept

    def outlook(self, step: int) -> dict[str, float]:
        return self.policy.outlook(step)

    def _choice(self, k: int, probability: float, step: int) -> Choice:
        number, position = divmod(self.turn, self.steps)
        return Choice(self.tasks[k], probability if position == 0 else self.probability, step, number)

    def took(self, k: int, step: int) -> None:
        number, position = divmod(self.turn, self.steps)
        if position == 0:
            self.held, self.probability = self.tasks[k], float(self.policy.probabilities(step)[k])
            self.policy.took(k, step)
            self.open_rounds[str(number)] = [self.held, self.probability, None, 0.0, 0]
            self.open_rounds.pop(str(number - self.REMEMBERED), None)
        if position == self.steps - 1:
            self.open_rounds[str(number)][2] = step
        self.turn += 1

    def learn(self, k: int, feedback: Feedback) -> None:
        if feedback.probability is None or feedback.round is None:
            self.policy.learn(k, feedback)
            return
        for number in [n for n, heard in self.open_rounds.items() if int(n) < feedback.round and heard[4]]:
            self._pass_on(number)  # the value of its last step never came
        heard = self.open_rounds.get(str(feedback.round))
        if heard is None:
            return
        heard[3] += feedback.value
        heard[4] += 1
        if feedback.step == heard[2]:
            self._pass_on(str(feedback.round))

    def _pass_on(self, number: str) -> None:
        task, probability, last_step, total, count = self.open_rounds.pop(number)
        value = Feedback(task, total / count, probability, last_step, int(number))
        self.policy.learn(self._index[task], value)
