"""One decision of a mix: whose rows one update is made of, and what came back about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rota.arrays import Ids
from rota.errors import RotaError
from rota.feedback import Choice

Heard = dict[str, tuple[Any, int]]
"""By task: a loss, which may still be on the device, and the number of rows that it is the mean of."""


class RowSpan(NamedTuple):
    """Rows of one task.

    Args:
        task: Whose.
        number: Of its batch; where rows of several tasks are in a batch, of its first row.
        rows: How many, over all processes.
    """

    task: str
    number: int
    rows: int


@dataclass
class Decision:
    """What one update is made of.

    Args:
        step: Which update.
        choice: The task that was drawn; None for a batch with rows of several tasks.
        parts: The rows.
        told: By batch what came back; empty where that was left out.
        reduced: Whether what came back is the mean over all processes.
        ids: The row numbers of its only part, where they are known already.
    """

    step: int
    choice: Choice | None
    parts: tuple[RowSpan, ...]
    told: dict[int, Heard] = field(default_factory=dict)
    reduced: bool = False
    ids: Ids | None = None

    @property
    def tasks(self) -> tuple[str, ...]:
        return tuple(part.task for part in self.parts)

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        told = {str(k): {task: [float(v), n] for task, (v, n) in heard.items()} for k, heard in self.told.items()}
        return {**described(self), "told": told, "reduced": self.reduced}

    @classmethod
    def from_plain(cls, state: Mapping[str, Any]) -> Decision:
        told = {int(k): {task: (v, n) for task, (v, n) in heard.items()} for k, heard in state.get("told", {}).items()}
        choice = Choice(*state["choice"]) if state["choice"] else None
        parts = tuple(RowSpan(*part) for part in state["parts"])
        return cls(state["step"], choice, parts, told, state.get("reduced", False))


def described(decision: Decision) -> dict[str, Any]:
    """Which decision it was, as JSON."""
    choice = decision.choice
    return {
        "step": decision.step,
        "choice": choice and [choice.task, choice.probability, choice.step, choice.round],
        "parts": [list(part) for part in decision.parts],
    }


def as_scalar(value: Any) -> Any:
    """One number. A tensor is copied where it lies, so that no graph is kept and nothing is overwritten; it is read
    when it is due."""
    if hasattr(value, "detach"):
        if value.numel() != 1:
            raise RotaError(f"mix.tell expects one number. Found a tensor of shape {tuple(value.shape)}.")
        return value.detach().reshape(()).clone()
    try:
        return float(value)
    except (TypeError, ValueError):
        raise RotaError(f"mix.tell expects a number, such as the loss of the batch. Found {value!r}.") from None


class Means:
    """The mean loss of each task of a decision, which may be on its way from the device or from other processes.

    Args:
        told: Of each batch.
        tasks: Of the decision.
        summed: Whether to sum over all processes: weighted by rows, in one asynchronous message.
    """

    def __init__(self, told: Iterable[Heard], tasks: Sequence[str], summed: bool) -> None:
        self._tasks = tasks
        self._message: Any = None
        self._sums: Any = None
        self._means: dict[str, Any] = {}
        told = list(told)
        if summed:
            self._send({task: [heard[task] for heard in told if task in heard] for task in tasks})
        elif len(told) == 1:  # one batch: its loss as it is, to the last bit
            self._means = {task: value for task, (value, _) in told[0].items()}
        else:
            entries = {task: [heard[task] for heard in told if task in heard] for task in tasks}
            self._means = {task: _mean(own) for task, own in entries.items() if own}

    def _send(self, entries: Mapping[str, Sequence[tuple[Any, int]]]) -> None:
        import torch  # late: whoever has several processes has it
        import torch.distributed as dist

        if not dist.is_initialized():
            raise RotaError(
                "mix.tell expects torch.distributed to sum losses over processes. Found it not initialised. Say "
                "tell(loss, reduced=True) where the loss is the mean over all of them."
            )
        device = torch.device("cuda") if dist.get_backend() == "nccl" else torch.device("cpu")
        sums = torch.zeros(len(self._tasks), 2, dtype=torch.float64, device=device)
        for row, task in zip(sums, self._tasks, strict=True):
            for value, rows in entries[task]:
                row[0] += value * rows
                row[1] += rows
        self._sums, self._message = sums, dist.all_reduce(sums, async_op=True)

    def read(self) -> dict[str, float]:
        """As numbers; tasks of which nobody told anything are missing."""
        if self._message is not None:
            self._message.wait()
            pairs = zip(self._tasks, self._sums.tolist(), strict=True)
            self._means = {task: total / rows for task, (total, rows) in pairs if rows}
            self._message = self._sums = None
        return {task: float(value) for task, value in self._means.items()}


def _mean(entries: Sequence[tuple[Any, int]]) -> Any:
    """Weighted by rows."""
    rows = sum(n for _, n in entries)
    return sum(value * n for value, n in entries) / rows if rows else entries[0][0]
