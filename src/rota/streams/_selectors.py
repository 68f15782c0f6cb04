"""Which of several candidates are trained on?"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rota.arrays import Ids
from rota.errors import RotaError, unknown_name
from rota.signals import SCORES, Scope, batchbald
from rota.tasks import Kind, Regression, RowStats, Task

Pick = tuple[str, int]
"""A task, and the place of a row among its candidates."""

Numbers = NDArray[np.float64]


class Selector(ABC):
    """Picks rows out of a pool of candidates of all tasks, from what the model says of them.

    >>> class Shuffled(Selector):  # rows at random, out of any number of candidates
    ...     def measure(self, kind, outputs, labels):
    ...         return {"row": labels}
    ...
    ...     def pick(self, found, size, rng):
    ...         places = [(task, place) for task, facts in found.items() for place in range(len(facts["row"]))]
    ...         return [places[k] for k in rng.permutation(len(places))[:size]]
    >>> len(Shuffled().pick({"rte": {"row": torch.zeros(8)}}, 3, np.random.default_rng(0)))
    3
    """

    name: ClassVar[str] = "own"
    scope: Scope = "head"
    """Where dropout is on in passes."""

    def passes(self, kind: Kind) -> int | None:
        """How many answers with dropout it wants to hear about rows of this kind; None: one answer without."""
        return None

    @abstractmethod
    def measure(self, kind: Kind, outputs: Tensor, labels: Tensor) -> RowStats:
        """What it wants to know of rows; outputs are [N, …], or [K, N, …] where there are passes."""

    @abstractmethod
    def pick(self, found: Mapping[str, RowStats], size: int, rng: np.random.Generator) -> list[Pick]:
        """At most `size` candidates, none of them twice, the most wanted first.

        Args:
            found: What it asked for, about the candidates of each task.
            size: How many are wanted.
            rng: For random decisions.
        """

    def unsure(self, row_stats: RowStats) -> float | None:
        """How uncertain the model is about candidates of a task, for the log; None: nothing is known."""
        own = row_stats.get("uncertainty")
        return None if own is None or bool(own.isnan().any()) else float(own.double().mean())

    def check(self, tasks: Sequence[Task]) -> None:  # noqa: B027 - optional on purpose
        """Refuse tasks that it has no rule for, with a sentence."""

    def prepare(self, tasks: Sequence[Task]) -> None:  # noqa: B027 - optional on purpose
        """Learn from the tasks what its rule needs of them, before the first question."""

    def describe(self) -> dict[str, Any]:
        return {"name": self.name}


@dataclass(frozen=True)
class CandidateQuery:
    """What is to be known of candidates.

    Args:
        step: When.
        candidates: Numbers of rows of each task.
        most: How many a task may have.
        select: Who wants to know.
        half: Whether an answer in bf16 will do.
        layer: Where given, what the heads say of this layer will do.

    >>> ids = {"rte": np.array([3, 1, 4]), "mnli": np.array([1, 5, 9])}
    >>> query = CandidateQuery(step=0, candidates=ids, most={"rte": 4, "mnli": 4}, select=Top("entropy"))
    >>> query.select.describe()
    {'name': 'top', 'score': 'entropy', 'passes': 8, 'scope': 'head'}
    """

    step: int
    candidates: Mapping[str, Ids]
    most: Mapping[str, int]
    select: Selector
    half: bool = False
    layer: int | None = None


class Top(Selector):
    """The candidates with the highest score.

    Args:
        score: By the name in `rota.signals.SCORES`, of those about single rows.
        passes: Answers with dropout.
        scope: Where dropout is on.

    >>> found = {"rte": {"score": torch.tensor([0.2, 0.9])}, "mnli": {"score": torch.tensor([0.7, 0.1])}}
    >>> Top("entropy").pick(found, 2, np.random.default_rng(0))
    [('rte', 1), ('mnli', 0)]
    """

    name = "top"

    def __init__(self, score: str = "entropy", passes: int = 8, scope: Scope = "head") -> None:
        single = [name for name in SCORES if name not in ("batchbald", "released")]
        if score not in single:
            raise unknown_name("score of single rows", score, single)
        self.score, self._passes, self.scope = score, passes, scope

    def passes(self, kind: Kind) -> int | None:
        return self._passes

    def measure(self, kind: Kind, outputs: Tensor, labels: Tensor) -> RowStats:
        return {"score": SCORES[self.score].measure(kind, outputs, labels)["score"]}

    def pick(self, found: Mapping[str, RowStats], size: int, rng: np.random.Generator) -> list[Pick]:
        places = [(task, place) for task, row_stats in found.items() for place in range(len(row_stats["score"]))]
        scores = np.concatenate([numbers(row_stats["score"]) for row_stats in found.values()])
        return [places[number] for number in np.argsort(-scores, kind="stable")[:size]]

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "score": self.score, "passes": self._passes, "scope": self.scope}

    def check(self, tasks: Sequence[Task]) -> None:
        numbers = [task.name for task in tasks if isinstance(task.kind, Regression)]
        if numbers and "entropy" in self.score:
            raise RotaError(
                f"The score {self.score} expects tasks with classes. Found '{numbers[0]}', whose answers are numbers "
                f"and would never be picked. Use bald or share, or the selector mt-uncertainty."
            )


class MostTogether(Selector):
    """The candidates that together say most about the model (BatchBALD); tasks with one decision per row.

    Args:
        passes: Answers with dropout.
        scope: Where dropout is on.
        samples: Draws where there are too many answers to be counted.

    >>> sure, torn = [[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]  # two answers with dropout to a row
    >>> found = {"rte": {"p": torch.tensor([sure, torn])}}
    >>> MostTogether().pick(found, 1, np.random.default_rng(0))
    [('rte', 1)]
    """

    name = "batchbald"

    def __init__(self, passes: int = 10, scope: Scope = "head", samples: int = 1000) -> None:
        self._passes, self.scope, self.samples = passes, scope, samples

    def passes(self, kind: Kind) -> int | None:
        return self._passes

    def measure(self, kind: Kind, outputs: Tensor, labels: Tensor) -> RowStats:
        found = kind.decisions(outputs, labels)
        assert found is not None
        return {"p": found.p[:, :, 0].transpose(0, 1)}

    def pick(self, found: Mapping[str, RowStats], size: int, rng: np.random.Generator) -> list[Pick]:
        places = [(task, place) for task, row_stats in found.items() for place in range(len(row_stats["p"]))]
        classes = max(row_stats["p"].shape[-1] for row_stats in found.values())
        padded = [torch.nn.functional.pad(f["p"].double(), (0, classes - f["p"].shape[-1])) for f in found.values()]
        generator = torch.Generator().manual_seed(int(rng.integers(2**31)))
        batch = batchbald(torch.cat(padded).cpu(), size, samples=self.samples, generator=generator)
        return [places[int(number)] for number in batch.indices]

    def check(self, tasks: Sequence[Task]) -> None:
        for task in tasks:
            if task.kind.sees == "tokens" or isinstance(task.kind, Regression):
                raise RotaError(
                    f"BatchBALD expects tasks with one decision between classes per row. Found '{task.name}', "
                    f"{task.kind!r}. Use the selector mt-uncertainty or top."
                )

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "passes": self._passes, "scope": self.scope, "samples": self.samples}


def numbers(tensor: Tensor) -> Numbers:
    return tensor.double().cpu().numpy()
