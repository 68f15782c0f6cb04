"""The narrow door: everything that decides which task is next is a `Policy`."""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Protocol, final, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rota.arrays import Floats, from_json, to_json
from rota.deprecation import adopt_old_methods, old_method
from rota.errors import RotaError, unknown_name
from rota.feedback import Choice, Feedback
from rota.policies._task_weights import task_names


@runtime_checkable
class Stateful(Protocol):
    """Anything that can write its memory as plain JSON and read it back.

    >>> from rota.policies import Exp3S
    >>> policy, again = Exp3S(["rte", "mrpc"]), Exp3S(["rte", "mrpc"])
    >>> policy.observe(Feedback("rte", 1.0))
    >>> again.load_state_dict(policy.state_dict())
    >>> again.state_dict() == policy.state_dict()
    True
    """

    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: dict[str, Any]) -> None: ...


@runtime_checkable
class TakesOver(Protocol):
    """Memory of tasks that can go on with that of another set of them."""

    def take_over(self, old: Any) -> None: ...


class Policy(ABC):
    """A distribution over tasks that changes with feedback.

    Reading (`probabilities`) is pure; exactly two verbs change a policy: `choose` (what it drew) and
    `observe` (what came back). The loop is yours:

    >>> import numpy as np, rota
    >>> rng, steps = np.random.default_rng(0), 100
    >>> def train_one_step(task): return {"rte": 0.1, "mrpc": 0.2, "sst2": 0.3}[task]
    >>> policy = rota.Exp3S(["rte", "mrpc", "sst2"])
    >>> for step in range(steps):
    ...     choice = policy.choose(step, rng)
    ...     gain = train_one_step(choice.task)  # your loop, your model
    ...     policy.observe(choice.scored(gain))

    To write one, answer `probabilities`. If it learns, write `learn` and say in `hears` what about; if it remembers
    its own draws, write `on_draw`; name what it remembers in `state`. `rota.testing.check_policy` then says whether it
    keeps the promises that the rest of the house relies on.
    """

    hears: tuple[str, ...] | None = ()
    """Words for what it learns from: "loss", "gain", "uncertainty", "score", "success", "reward", or one of your own.
    `fit` looks for who can tell it. Empty: nothing. None: it learns and does not say from what, which is refused
    wherever nobody else says so."""

    state: ClassVar[tuple[str, ...]] = ()
    """Names of the attributes that are the memory. Arrays hold one number per task."""

    mixable: ClassVar[bool] = True
    """Whether it keeps its promise when mixed with another distribution (`WithFloor`)."""

    holdable: ClassVar[bool] = True
    """Whether it may be asked only once per round (`Hold`)."""

    round_length: int = 1
    """Steps for which one draw holds."""

    ordered: bool = False
    """Whether it depends on the order of its tasks by definition."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        adopt_old_methods(cls, {"took": "on_draw", "outlook": "expected_shares"})
        if "learn" in cls.__dict__ and "hears" not in cls.__dict__ and not cls.hears:
            cls.hears = None

    def __init__(self, tasks: Sequence[str]) -> None:
        self.tasks = task_names(type(self).__name__, tasks)
        self._index = {task: k for k, task in enumerate(self.tasks)}

    @abstractmethod
    def probabilities(self, step: int) -> Floats:
        """How likely each task is at `step`, in the order of `tasks`. Pure: no randomness, no memory."""

    def on_draw(self, k: int, step: int) -> None:  # noqa: B027 - optional on purpose
        """Remember that task number `k` was drawn at `step`."""

    def learn(self, k: int, feedback: Feedback) -> None:  # noqa: B027 - optional on purpose
        """Remember what came back about task number `k`."""

    @property
    def counts_draws(self) -> bool:
        """Whether it remembers its own draws, so that only a stream that draws can serve it."""
        return type(self).on_draw is not Policy.on_draw

    @final
    def choose(self, step: int, rng: np.random.Generator) -> Choice:
        """Draw the task of `step`."""
        probabilities = self.probabilities(step)
        # Inverse of the cumulative sum; `right` steps over tasks of probability zero.
        cumulative = probabilities.cumsum()
        try:
            drawn = rng.random()
        except AttributeError:
            raise RotaError(
                f"{type(self).__name__}.choose expects a step and a generator, such as choose(0, "
                f"np.random.default_rng(0)). Found {rng!r} for the generator."
            ) from None
        k = int(cumulative.searchsorted(drawn * cumulative[-1], side="right"))
        if k == len(self.tasks):
            raise RotaError(f"{type(self).__name__} expects probabilities that are numbers. Found {probabilities}.")
        choice = self._choice(k, float(probabilities[k]), step)
        self.on_draw(k, step)
        return choice

    @final
    def shares(self, step: int) -> dict[str, float]:
        """The probabilities by name."""
        return dict(zip(self.tasks, self.probabilities(step).tolist(), strict=True))

    def expected_shares(self, step: int) -> dict[str, float]:
        """The share of the coming turns that each task can expect: for people and logs. Where turns follow an order,
        the probabilities of one step say little."""
        return self.shares(step)

    outlook = old_method("outlook", "expected_shares")

    @final
    def observe(self, feedback: Feedback) -> None:
        """Hear what came back about one task."""
        k = self._index.get(feedback.task)
        if k is None:
            raise unknown_name("task", feedback.task, self.tasks)
        if not math.isfinite(feedback.value):
            raise RotaError(
                f"A policy expects finite feedback. Found {feedback.value} for task '{feedback.task}' at step "
                f"{feedback.step}. Leave the value out, or find out why it is not a number."
            )
        probability = feedback.probability
        if probability is not None and not 0.0 < probability <= 1.0:
            raise RotaError(
                f"Feedback expects a probability in (0, 1], or None for a survey. Found {probability} for task "
                f"'{feedback.task}'. Make it with `choice.scored(value)`."
            )
        if feedback.about is not None and self.hears is not None and feedback.about not in self.hears:
            raise RotaError(
                f"{type(self).__name__} hears {', '.join(self.hears) or 'nothing'}. Found feedback about "
                f"'{feedback.about}'. Leave `about` out where the value is meant for what it hears."
            )
        self.learn(k, feedback)

    def _choice(self, k: int, probability: float, step: int) -> Choice:
        return Choice(self.tasks[k], probability, step)

    @final
    def state_dict(self) -> dict[str, Any]:
        """The memory as plain JSON: per-task arrays by task name (packed, where tasks are many), generators and wrapped
        policies nested."""
        memory = {name: self._pack(getattr(self, name)) for name in self.state}
        return {"policy": type(self).__name__, "tasks": list(self.tasks), "memory": memory}

    @final
    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Become the policy whose `state_dict` this is; refuse another policy or another set of tasks."""
        name = type(self).__name__
        if state.get("policy") != name:
            raise RotaError(f"{name} expects the state of {name}. Found the state of {state.get('policy')}.")
        if set(state["tasks"]) != set(self.tasks):
            raise RotaError(
                f"{name} expects the state of a policy over {', '.join(sorted(self.tasks))}. "
                f"Found {', '.join(sorted(state['tasks']))}."
            )
        memory = self._up_to_date(state["memory"])
        missing = set(self.state) ^ set(memory)
        if missing:
            raise RotaError(f"{name} expects the memory {', '.join(self.state)}. Missing or unknown: {missing}.")
        for attribute, value in memory.items():
            setattr(self, attribute, self._unpack(getattr(self, attribute), value))

    @final
    def take_over(self, old: Policy) -> None:
        """Go on where a policy of the same kind stopped that had another set of tasks: sources come and go.

        What is remembered of the tasks that stay is kept, and their shares keep their ratios as far as the kind of
        policy allows; who leaves is forgotten, and what comes back about it later has nobody to hear it. Newcomers
        begin as `welcome` says. From here on, probabilities are those of the new set.

        Args:
            old: It is not changed.

        >>> import rota
        >>> old, new = rota.Exp3S(["rte", "mrpc"], eta=0.1), rota.Exp3S(["mrpc", "rte", "sst2"], eta=0.1)
        >>> for step, gain in enumerate([0.1, 0.4, 0.2, 0.9]):
        ...     old.observe(Feedback("mrpc", gain, probability=0.5, step=step))
        >>> new.take_over(old)
        >>> new.shares(4)["sst2"] > 0.3
        True
        """
        if type(old) is not type(self):
            raise RotaError(
                f"{type(self).__name__} expects to take over from {type(self).__name__}. Found {type(old).__name__}."
            )
        stays = np.array([task in old._index for task in self.tasks])
        if not stays.any():
            raise RotaError(
                f"{type(self).__name__} expects at least one task that stays. Found {', '.join(old.tasks)} before, and "
                f"{', '.join(self.tasks)} now. Begin a new one."
            )
        for name in self.state:
            setattr(self, name, self._inherited(getattr(self, name), getattr(old, name), old))
        self.welcome(stays)

    def welcome(self, stays: NDArray[np.bool_]) -> None:  # noqa: B027 - optional on purpose
        """Newcomers begin as in a new policy; say here what else they begin with.

        Args:
            stays: Which tasks are no newcomers.
        """

    def _inherited(self, own: Any, theirs: Any, old: Policy) -> Any:
        match own:
            case np.ndarray():
                found = own.copy()
                for k, task in enumerate(self.tasks):
                    if task in old._index:
                        found[k] = theirs[old._index[task]]
                return found
            case np.random.Generator():
                own.bit_generator.state = theirs.bit_generator.state
                return own
            case TakesOver() if theirs is not None:
                own.take_over(theirs)
                return own
            case Stateful() if theirs is not None:
                own.load_state_dict(theirs.state_dict())
                return own
            case None | Stateful():
                return own
            case _:
                return copy.deepcopy(theirs)

    def _up_to_date(self, memory: dict[str, Any]) -> dict[str, Any]:
        """The memory that an older version wrote, as this one has it."""
        return memory

    def _pack(self, value: Any) -> Any:
        match value:
            case np.ndarray():
                return to_json(self.tasks, value)
            case np.random.Generator():
                return value.bit_generator.state
            case Stateful():
                return value.state_dict()
            case _:
                return copy.deepcopy(value)  # a saved state does not change when the policy goes on

    def _unpack(self, current: Any, value: Any) -> Any:
        match current:
            case np.ndarray():
                return from_json(self.tasks, value, current.dtype)
            case np.random.Generator():
                current.bit_generator.state = value
                return current
            case Stateful():
                current.load_state_dict(value)
                return current
            case _:
                return copy.deepcopy(value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self.tasks)})"
