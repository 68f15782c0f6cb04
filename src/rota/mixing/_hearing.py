"""Between a host and a policy: what is told is heard a fixed number of decisions later, in order, and logged."""

from __future__ import annotations

import math
import warnings
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from rota.draws import Parking
from rota.errors import RotaError
from rota.feedback import Feedback
from rota.mixing._decision import Decision, Means, described
from rota.mixing._mix_log import MixLog
from rota.policies import Policy
from rota.sources import USUAL, EachStep, Listen


def told_source(policy: Policy, listen: Listen | tuple[()] | None) -> EachStep | None:
    """Who turns the losses that are told into what the policy hears; None where it hears nothing of them.

    Args:
        policy: Says what it hears.
        listen: None: the usual source; a measure of losses; an empty tuple: nobody.
    """
    name, words = type(policy).__name__, policy.hears
    if listen == ():
        return None
    if listen is None:
        if words is None:
            raise RotaError(
                f"{name} learns and does not say from what. Declare it in the class, such as hears = ('loss',), or "
                f"say what it hears: Mix(…, listen='training_loss')."
            )
        found = [source for word in words if isinstance(source := USUAL.get(word), EachStep)]
        return found[0] if found else None
    source = listen if isinstance(listen, EachStep) else EachStep(listen, _only_word(policy, listen))  # type: ignore[arg-type]
    if source.asks_again:
        raise RotaError(
            f"A mix hears losses; it cannot ask for the loss after the update, as {source.measure} does. Measure the "
            f"gain in your loop and tell it: Mix(…, listen=EachStep('training_loss', says='gain'))."
        )
    if words is not None and source.says not in words:
        raise RotaError(
            f"{name} hears {' and '.join(words) or 'nothing'}. Found listen={listen!r}, which says '{source.says}'."
        )
    return source


def _only_word(policy: Policy, listen: Any) -> str:
    own = callable(listen) and policy.hears is not None and len(policy.hears) == 1
    return policy.hears[0] if own and policy.hears else ""


class Hearing:
    """Delivers what was told and reported, in the order in which it came, when it is due.

    Args:
        policy: Hears.
        source: Turns losses into what the policy hears.
        log: Takes what was delivered.
        parking: Is told of losses that are no numbers.
    """

    def __init__(self, policy: Policy, source: EachStep | None, log: MixLog | None, parking: Parking) -> None:
        self._policy, self._source, self._log, self._parking = policy, source, log, parking
        self._present = frozenset(policy.tasks)
        self._measure = source.measure if source is not None else None
        self._feed = source.open(None) if source is not None else None  # type: ignore[arg-type]  # it needs no run
        self._waiting: deque[tuple[int, Any]] = deque()
        self.told = 0
        """Decisions of which everything was told."""
        self.unheard = 0
        """Values that were no numbers, so that the policy did not hear them."""
        self.observed = 0
        """Values that were reported between updates, and heard."""
        self._recent: dict[str, tuple[float, int]] = {}
        self._events: deque[dict[str, Any]] = deque()  # lines that are written before the line of their step

    @property
    def listens(self) -> bool:
        """Whether the policy hears of losses."""
        return self._source is not None

    @property
    def tasks(self) -> set[str]:
        """Tasks of which something waits."""
        own = [entry for _, entry in self._waiting]
        told = {task for entry in own if not isinstance(entry, list) for task in entry[0].tasks}
        return told | {feedback.task for entry in own if isinstance(entry, list) for feedback in entry}

    def change(self, policy: Policy, dropped: Iterable[str]) -> None:
        """Another policy hears from now on; nobody hears of the tasks that were dropped."""
        self._policy, self._present = policy, frozenset(policy.tasks)
        if self._feed and (memory := self._feed.state_dict()).get("last"):  # a task that comes back begins anew
            gone = set(dropped)
            last = {task: loss for task, loss in memory["last"].items() if task not in gone}
            self._feed.load_state_dict({**memory, "last": last})

    def happen(self, line: dict[str, Any]) -> None:
        """Something that the log says before the line of its step."""
        self._events.append(line)

    def add(self, decision: Decision, means: Means) -> None:
        """All about a decision was told."""
        self.told += 1
        self._waiting.append((self.told, (decision, means)))

    def report(self, feedback: list[Feedback]) -> None:
        """A value was measured after the decisions that were told so far; it queues behind them."""
        self._waiting.append((self.told, feedback))
        self.observed += sum(self._hears(own.about) for own in feedback)

    def _hears(self, word: str | None) -> bool:
        return word is None or self._policy.hears is None or word in self._policy.hears

    def deliver(self, until: int, drawn: int) -> None:
        """Everything about the first `until` decisions, where `drawn` are drawn already."""
        while self._waiting and self._waiting[0][0] <= until:
            entry = self._waiting.popleft()[1]
            if isinstance(entry, list):
                for feedback in entry:
                    if feedback.task in self._present and self._hears(feedback.about):
                        self._policy.observe(feedback)
                if self._log is not None:
                    self._log.report(entry)
            else:
                self._settle(entry[0], entry[1].read() if isinstance(entry[1], Means) else entry[1], drawn)

    def _settle(self, decision: Decision, losses: Mapping[str, float], drawn: int) -> None:
        values: dict[str, float] = {}
        for task, loss in losses.items():
            present = task in self._present
            if present and (parked := self._parking.hear(task, loss, drawn)):
                self.happen(parked)
                told = f"{self._parking.notice(parked)} Once it is sound again, call mix.unpark('{task}')."
                warnings.warn(told, stacklevel=2)
            if not math.isfinite(loss):
                self._not_heard(decision, task, loss)
                continue
            total, count = self._recent.get(task, (0.0, 0))
            self._recent[task] = total + loss, count + 1
            if self._source is None or not present:
                continue
            value = values[task] = self._measured(task, decision.step, loss)
            choice, word = decision.choice, self._source.says
            self._policy.observe(
                choice.scored(value, word) if choice else Feedback(task, value, None, decision.step, about=word)
            )
        self._write_events(decision.step)
        if self._log is not None:
            self._log.write(decision, losses, values)

    def _write_events(self, until: int) -> None:
        while self._events and self._events[0]["step"] <= until:
            line = self._events.popleft()
            if self._log is not None:
                self._log.happen(line)

    def close(self, drawn: int) -> None:
        """Deliver and write all that waits."""
        self.deliver(self.told, drawn)
        self._write_events(drawn)

    def take_losses(self) -> dict[str, float]:
        """The mean loss of each task over the updates that were delivered since the last time."""
        recent, self._recent = self._recent, {}
        return {task: total / count for task, (total, count) in recent.items()}

    def _measured(self, task: str, step: int, loss: float) -> float:
        if self._measure == "training_loss":
            return loss
        from rota.signals import View  # late: it loads torch, which losses that are only passed on do not need

        assert self._feed is not None
        assert self._feed.after_update is not None
        number: Any = loss
        if self._measure != "visit_gain":  # a difference, of numbers as well as of tensors
            import torch

            number = torch.tensor(loss, dtype=torch.float64)
        return float(self._feed.after_update(View(task, step, number, _no_forward)))

    def _not_heard(self, decision: Decision, task: str, loss: float) -> None:
        self.unheard += 1
        if self.unheard == 1:
            warnings.warn(
                f"The loss of task '{task}' in update {decision.step} is {loss}: the policy does not hear it. Further "
                f"ones are counted in mix.unheard.",
                stacklevel=2,
            )

    def state_dict(self) -> dict[str, Any]:
        """What still waits, with its numbers read, and what the source remembers. It sends no message."""
        waiting = [
            [position, _plain_report(entry) if isinstance(entry, list) else _plain_told(*entry)]
            for position, entry in self._waiting
        ]
        return {
            "told": self.told,
            "unheard": self.unheard,
            "observed": self.observed,
            "waiting": waiting,
            "feed": self._feed.state_dict() if self._feed else {},
            **({"events": list(self._events)} if self._events else {}),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.told, self.unheard, self.observed = state["told"], state["unheard"], state["observed"]
        self._waiting = deque((position, _from_plain(entry)) for position, entry in state["waiting"])
        self._events = deque(state.get("events", []))
        if self._feed and state["feed"]:
            self._feed.load_state_dict(state["feed"])


def _plain_told(decision: Decision, means: Means | Mapping[str, float]) -> dict[str, Any]:
    losses = means.read() if isinstance(means, Means) else means
    return {**described(decision), "losses": {task: repr(loss) for task, loss in losses.items()}}  # JSON has no NaN


def _plain_report(reported: list[Feedback]) -> list[Any]:
    return [[own.task, own.value, own.probability, own.step, own.round, own.about] for own in reported]


def _from_plain(entry: Any) -> Any:
    if isinstance(entry, list):
        return [Feedback(*own) for own in entry]
    return Decision.from_plain(entry), {task: float(loss) for task, loss in entry["losses"].items()}


def _no_forward() -> Any:
    raise RotaError(
        "A mix hears losses. Found a measure that asks for the loss after the update, which it does not have."
    )
