"""Which tasks for the next run?  The utilities that a bandit estimated, and a rule that selects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rota.arrays import Floats
from rota.errors import RotaError, unknown_name
from rota.feedback import Feedback
from rota.policies import Thompson
from rota.runlog import Run

INTERVAL = 0.8
"""The paper draws intervals without a level."""


def choose_tasks(utilities: Mapping[str, float], primary: str, top: int = 2, above: float = 0.5) -> list[str]:
    """The tasks for the next run: the primary, the `top` auxiliaries, and all others with a utility above `above`.

    The paper's rule is the default. `top=0` is a threshold alone, `above=1` the best few alone.

    >>> choose_tasks({"rte": 0.8, "mnli": 0.6, "qqp": 0.3, "wnli": 0.2}, "rte")
    ['rte', 'mnli', 'qqp']
    >>> choose_tasks({"rte": 0.8, "mnli": 0.6, "qqp": 0.3, "wnli": 0.2}, "rte", top=0)
    ['rte', 'mnli']
    """
    if primary not in utilities:
        raise unknown_name("primary task", primary, utilities)
    others = [task for task in utilities if task != primary]
    ranked = sorted(others, key=lambda task: -utilities[task])
    return [primary, *(task for place, task in enumerate(ranked) if place < top or utilities[task] > above)]


@dataclass(frozen=True)
class Beliefs:
    """What `Thompson` estimated in a run, round by round.

    Attributes:
        primary: The task for whose good the others were tried.
        tasks: All tasks, in the order of the columns of `history`.
        arms: The task of each round.
        values: What was heard after it: 1 for good, 0 for bad.
        history: The utility of each task after each round.
        successes, failures: The parameters of the Beta distribution of each task at the end.

    >>> from rota.testing import written_run
    >>> rounds = [("rte", 1.0), ("mnli", 1.0), ("wnli", 0.0), ("mnli", 1.0)]
    >>> lines = [{"kind": "arm", "step": k, "task": task, "value": value} for k, (task, value) in enumerate(rounds)]
    >>> scores = {"rte": [0.6], "mnli": [0.7], "wnli": [0.5]}
    >>> beliefs = Beliefs.of(written_run(scores, "thompson", plan={"target": "rte"}, lines=lines))
    >>> beliefs.turns("mnli"), max(beliefs.last, key=beliefs.last.get), min(beliefs.last, key=beliefs.last.get)
    (2, 'mnli', 'wnli')
    """

    primary: str
    tasks: tuple[str, ...]
    arms: tuple[str, ...]
    values: tuple[float, ...]
    history: Floats
    successes: dict[str, float]
    failures: dict[str, float]

    @classmethod
    def of(cls, run: Run) -> Beliefs:
        """Hear again what the bandit of this run heard."""
        lines = run.lines("arm")
        if run.plan.get("method") != "thompson" or not lines:
            raise RotaError(f"Expected a run of method thompson at {run.folder}. Found none with finished rounds.")
        primary = run.plan["target"]
        tasks = [name for name, info in run.info["tasks"].items() if info["rows"].get("train")]
        known: dict[str, Any] = run.plan["options"]
        options = {name: known[name] for name in ("decay", "prior", "primary_prior") if name in known}
        policy = Thompson(tasks, primary=primary, **options)
        history = []
        for line in lines:
            policy.observe(Feedback(line["task"], line["value"], None))
            history.append(list(policy.utilities.values()))
        return cls(
            primary,
            policy.tasks,
            tuple(line["task"] for line in lines),
            tuple(line["value"] for line in lines),
            np.array(history),
            dict(zip(policy.tasks, policy.successes.tolist(), strict=True)),
            dict(zip(policy.tasks, policy.failures.tolist(), strict=True)),
        )

    @property
    def last(self) -> dict[str, float]:
        """The utilities at the end: with forgetting, those of the last rounds."""
        return dict(zip(self.tasks, self.history[-1].tolist(), strict=True))

    @property
    def averaged(self) -> dict[str, float]:
        """The utilities on average over the second half of the rounds: far less noisy than the last ones."""
        return dict(zip(self.tasks, self.history[len(self.history) // 2 :].mean(axis=0).tolist(), strict=True))

    def turns(self, task: str) -> int:
        """Number of rounds of this task."""
        return self.arms.count(task)

    def good(self, task: str) -> float:
        """Number of rounds that helped the target."""
        return sum(value for arm, value in zip(self.arms, self.values, strict=True) if arm == task)

    def interval(self, task: str, level: float = INTERVAL) -> tuple[float, float]:
        """Where its utility lies with this probability, as believed at the end."""
        belief = Thompson([task], prior=(self.successes[task], self.failures[task]))
        return belief.intervals(level)[task]
