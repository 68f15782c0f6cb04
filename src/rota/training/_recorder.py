"""Between a step and the policy: values are read late, reach the choice they belong to, and are logged in order."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Mapping
from typing import Any

from rota.errors import RotaError
from rota.feedback import Choice, Feedback
from rota.policies import Policy
from rota.runlog import LogWriter
from rota.streams import Turn
from rota.training.engine import Late, Outcome

Numbers = Late | list[float | None] | None


class NotANumberError(RotaError):
    """A loss that is none: names the task and the step."""


class Recorder:
    """Delivers feedback exactly `delay` steps late and writes the log.

    Entries wait in a queue: training steps, whose numbers may still be on the device, and notes (such as
    evaluations), which keep their place between them.

    Args:
        policy: Hears the values.
        log: Where lines go; None in processes that do not write.
        delay: Steps between a step and the reading of its numbers.
        skips: Whether a value that is not a number is left out instead of stopping the run.
    """

    def __init__(self, policy: Policy, log: LogWriter | None, delay: int = 0, skips: bool = False) -> None:
        self._policy, self._log, self._delay, self._skips = policy, log, delay, skips
        self._waiting: deque[dict[str, Any]] = deque()
        self.updates: Counter[str] = Counter()
        self.skipped = 0

    def step(self, turn: Turn, outcome: Outcome) -> None:
        """Take in one training step."""
        choice = turn.choice
        self._waiting.append(
            {
                "step": turn.step,
                "choice": choice and [choice.task, choice.probability, choice.step, choice.round],
                "parts": [
                    {"task": part.task, "weight": part.weight, "n": len(part.ids), "ids": part.ids.tolist()}
                    for part in turn.parts
                ],
                "losses": outcome.losses,
                "values": outcome.values,
                "skipped": outcome.skipped,
            }
        )
        if turn.pool is not None:
            self._waiting.append({"note": {"kind": "pool", "step": turn.step, "tasks": turn.pool}})
        while sum("note" not in entry for entry in self._waiting) > self._delay:
            self._settle(self._waiting.popleft())
        while self._waiting and "note" in self._waiting[0]:
            self._settle(self._waiting.popleft())

    def note(self, line: dict[str, Any]) -> None:
        """Take in a line that is not a training step."""
        self._waiting.append({"note": line})
        if len(self._waiting) == 1:
            self._settle(self._waiting.popleft())

    def tell_scores(self, step: int, results: Mapping[str, Mapping[str, Any]]) -> None:
        """Tell the policy the dev scores of its tasks, which nobody chose to measure."""
        for task in self._policy.tasks:
            if task in results:
                self._policy.observe(Feedback(task, results[task]["score"], None, step))

    def finish(self) -> None:
        """Deliver everything that still waits."""
        while self._waiting:
            self._settle(self._waiting.popleft())

    def _settle(self, entry: dict[str, Any]) -> None:
        if "note" in entry:
            self._write(entry["note"])
            return
        step, parts = entry["step"], entry["parts"]
        losses, values = _read(entry["losses"]), _read(entry["values"])
        if entry["skipped"] or (self._skips and not all(map(math.isfinite, losses))):
            if not self._skips:
                raise not_a_number(_culprit(parts, losses), step)
            self.skipped += 1
            self._write({"kind": "skip", "step": step, "tasks": {part["task"]: part["ids"] for part in parts}})
            return
        if not all(map(math.isfinite, losses)) or not (self._skips or all(map(math.isfinite, values))):
            raise not_a_number(_culprit(parts, [*losses, *values]), step)
        choice = Choice(*entry["choice"]) if entry["choice"] else None
        for part, value in zip(parts, values, strict=False):
            if math.isfinite(value):
                name = part["task"]
                self._policy.observe(choice.scored(value) if choice else Feedback(name, value, None, step))
        self.updates.update(part["task"] for part in parts)
        self._write(_line(step, choice, parts, losses, values))

    def _write(self, line: dict[str, Any]) -> None:
        if self._log is not None:
            self._log.write(line)

    def state_dict(self) -> dict[str, Any]:
        """What still waits, with its numbers read, and the counts."""
        waiting = [
            entry if "note" in entry else {**entry, "losses": _read(entry["losses"]), "values": _plain(entry["values"])}
            for entry in self._waiting
        ]
        for entry in waiting:
            if not all(map(math.isfinite, entry.get("losses", []))):  # never save a model that is already broken
                raise not_a_number(_culprit(entry["parts"], entry["losses"]), entry["step"])
        return {"waiting": waiting, "updates": dict(self.updates), "skipped": self.skipped}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._waiting = deque(state["waiting"])
        self.updates = Counter(state["updates"])
        self.skipped = state["skipped"]


def not_a_number(task: str, step: int) -> NotANumberError:
    return NotANumberError(
        f"Expected a loss that is a number. Found none for task '{task}' at step {step}. "
        f"Lower --lr, look at the task's rows, or leave such steps out with --on-nan skip."
    )


def _culprit(parts: list[dict[str, Any]], numbers: list[float]) -> str:
    """The task of the first number that is none; of the first part where it was the gradient."""
    wrong = [k for k, number in enumerate(numbers) if not math.isfinite(number)]
    return str(parts[wrong[0] % len(parts) if wrong else 0]["task"])


def _read(numbers: Numbers) -> list[float]:
    if isinstance(numbers, Late):
        return numbers.tolist()
    return [math.nan if number is None else number for number in numbers or []]


def _plain(numbers: Numbers) -> list[float | None]:
    """As JSON has them: None for a number that is none."""
    return [number if math.isfinite(number) else None for number in _read(numbers)]


def _line(
    step: int, choice: Choice | None, parts: list[dict[str, Any]], losses: list[float], values: list[float]
) -> dict[str, Any]:
    heard = _plain(list(values))
    if choice is None:
        tasks = {
            part["task"]: {
                "weight": part["weight"],
                "loss": losses[k],
                "value": heard[k] if heard else None,
                "n": part["n"],
                "ids": part["ids"],
            }
            for k, part in enumerate(parts)
        }
        return {"kind": "step", "step": step, "task": None, "probability": None, "tasks": tasks}
    return {
        "kind": "step",
        "step": step,
        "task": choice.task,
        "probability": choice.probability,
        "round": choice.round,
        "loss": losses[0],
        "value": heard[0] if heard else None,
        "n": parts[0]["n"],
        "ids": parts[0]["ids"],
    }
