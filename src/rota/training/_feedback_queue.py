"""Between a step and the policy: values are read late, reach the choice they belong to, and are logged in order."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

from rota.engine import AsyncScalars, Outcome, StepPlan, TaskBatch
from rota.errors import RotaError
from rota.feedback import Choice, Feedback
from rota.policies import Policy
from rota.runlog import finite_or_none, step_line

StepNumbers = AsyncScalars | list[float | None]


class NotANumberError(RotaError):
    """A loss that is none: names the task and the step.

    >>> error = not_a_number("rte", step=120)
    >>> isinstance(error, NotANumberError), str(error).partition(" Lower")[0]
    (True, "Expected a loss that is a number. Found none for task 'rte' at step 120.")
    """


class FeedbackQueue:
    """Delivers the values of steps exactly `delay` steps late, and writes the log.

    Entries wait in a queue: training steps, whose numbers may still be on the device, and notes (such as
    evaluations), which keep their place between them.

    Args:
        policy: Hears the values.
        write: Takes the lines of the log.
        delay: Steps between a step and the reading of its numbers.
        skips: Whether a value that is not a number is left out instead of stopping the run.
        word: What the values are about; None where nobody measures any.
        log_rows: Whether the number of each row is logged, also where it follows from the seed.
    """

    def __init__(
        self,
        policy: Policy,
        write: Callable[[dict[str, Any]], None],
        delay: int = 0,
        skips: bool = False,
        word: str | None = None,
        log_rows: bool = False,
    ) -> None:
        self._log_rows = log_rows
        self._policy, self._write, self._delay, self._skips, self._word = policy, write, delay, skips, word
        self._heard = word is not None and (policy.hears is None or word in policy.hears)
        self._waiting: deque[dict[str, Any]] = deque()
        self._late = 0  # steps among them
        self.updates: Counter[str] = Counter()
        self.skipped = 0

    def step(self, plan: StepPlan, outcome: Outcome) -> None:
        """Take in one training step."""
        choice = plan.choice
        self._waiting.append(
            {
                "step": plan.step,
                "choice": choice and [choice.task, choice.probability, choice.step, choice.round],
                "parts": [
                    {"task": part.task, "weight": part.weight, "n": len(part.ids), **_tokens(part), **self._rows(part)}
                    for part in plan.parts
                ],
                "numbers": outcome.numbers,
                "skipped": outcome.skipped,
            }
        )
        self._late += 1
        if plan.pool is not None:
            self._waiting.append({"note": {"kind": "pool", "step": plan.step, "tasks": plan.pool}})
        while self._waiting and (self._late > self._delay or "note" in self._waiting[0]):
            self._settle(self._waiting.popleft())

    def _rows(self, part: TaskBatch) -> dict[str, Any]:
        if self._log_rows or part.span is None:
            return {"ids": part.ids.tolist()}
        return {"rows": list(part.span)}

    def note(self, line: dict[str, Any]) -> None:
        """Take in a line that is not a training step."""
        self._waiting.append({"note": line})
        if len(self._waiting) == 1:
            self._settle(self._waiting.popleft())

    def finish(self) -> None:
        """Deliver everything that still waits."""
        while self._waiting:
            self._settle(self._waiting.popleft())

    def _settle(self, entry: dict[str, Any]) -> None:
        if "note" in entry:
            self._write(entry["note"])
            return
        self._late -= 1
        step, parts, numbers = entry["step"], entry["parts"], _read(entry["numbers"])
        losses, values = numbers[: len(parts)], numbers[len(parts) :]
        if entry["skipped"] or (self._skips and not all(map(math.isfinite, losses))):
            if not self._skips:
                raise not_a_number(_culprit(parts, losses), step)
            self.skipped += 1
            self._write({"kind": "skip", "step": step, "tasks": {part["task"]: _which(part) for part in parts}})
            return
        if not all(map(math.isfinite, losses if self._skips else numbers)):
            raise not_a_number(_culprit(parts, numbers), step)
        choice = Choice(*entry["choice"]) if entry["choice"] else None
        word = self._word
        for k, part in enumerate(parts):
            task = part["task"]
            self.updates[task] += 1
            if self._heard and math.isfinite(values[k]):
                value = values[k]
                self._policy.observe(
                    choice.scored(value, word) if choice else Feedback(task, value, None, step, about=word)
                )
        self._write(step_line(step, choice, parts, losses, values))

    def state_dict(self) -> dict[str, Any]:
        """What still waits, with its numbers read, and the counts."""
        waiting = []
        for entry in self._waiting:
            if "note" not in entry:
                numbers = _read(entry["numbers"])
                losses = numbers[: len(entry["parts"])]
                if not all(map(math.isfinite, losses)):  # never save a model that is already broken
                    raise not_a_number(_culprit(entry["parts"], losses), entry["step"])
                entry = {**entry, "numbers": finite_or_none(numbers)}
            waiting.append(entry)
        return {"waiting": waiting, "updates": dict(self.updates), "skipped": self.skipped}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._waiting = deque(state["waiting"])
        self._late = sum("note" not in entry for entry in self._waiting)
        self.updates = Counter(state["updates"])
        self.skipped = state["skipped"]


def _tokens(part: TaskBatch) -> dict[str, int]:
    return {} if part.tokens is None else {"tokens": part.tokens}


def not_a_number(task: str, step: int) -> NotANumberError:
    return NotANumberError(
        f"Expected a loss that is a number. Found none for task '{task}' at step {step}. "
        f"Lower Settings(lr=…), look at the task's rows, or leave such steps out with Settings(on_nan='skip')."
    )


def _which(part: dict[str, Any]) -> Any:
    return part["ids"] if "ids" in part else {"rows": part["rows"]}


def _culprit(parts: list[dict[str, Any]], numbers: list[float]) -> str:
    """The task of the first number that is none; of the first part where it was the gradient."""
    wrong = [k for k, number in enumerate(numbers) if not math.isfinite(number)]
    return str(parts[wrong[0] % len(parts) if wrong else 0]["task"])


def _read(numbers: StepNumbers) -> list[float]:
    if isinstance(numbers, AsyncScalars):
        return numbers.tolist()
    return [math.nan if number is None else number for number in numbers]
