"""Tasks with learning curves of several kinds, no network: what a policy meets, and what it cannot foresee."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rota.arrays import Floats
from rota.errors import unknown_name
from rota.seeds import generator

KINDS = {
    "spec": "lines to a plateau, a little forgetting: the MTL bandit",
    "exp": "exponentials",
    "noise": "two tasks never learn, the others need all steps",
    "late": "two tasks begin after 4 to 8 % of all steps, their own",
    "interfere": "tasks help and harm each other, and forget three times as fast",
    "sizes": "what a task needs grows with the root of its size, more or less",
    "memory": "two passes teach what there is; rows that were seen before are remembered",
}
"""What games there are, by name."""


class Game:
    """Several trainings at once in one environment.

    Args:
        kind: By the name in `KINDS`.
        tasks: How many.
        steps: Of a training.
        seed: Of the environment.
        noise: Standard deviation of the score of one batch.
        runs: Trainings at once.

    Attributes:
        scores: What a test would say, [runs, tasks].
        batches: Batches in a pass over each task's rows, where sizes matter.

    >>> game = Game("spec", tasks=3, steps=300, noise=0.0)
    >>> float(game.train(np.array([1]))[0])  # the loss of an untrained model is 1
    1.0
    """

    def __init__(
        self, kind: str = "spec", tasks: int = 8, steps: int = 3000, seed: int = 0, noise: float = 0.15, runs: int = 1
    ) -> None:
        if kind not in KINDS:
            raise unknown_name("kind of game", kind, KINDS)
        rng = generator(seed, "game", kind)
        self.kind, self.steps, self.noise, self.runs = kind, steps, noise, runs
        self.tasks = tuple(f"task{k}" for k in range(tasks))
        mixture = rng.dirichlet(np.full(tasks, 2.0))
        self.best: Floats = rng.uniform(0.5, 1.0, tasks)
        self.batches: Mapping[str, float] | None = None
        if kind in ("sizes", "memory"):
            sizes = np.maximum(4.0, np.exp(rng.normal(np.log(steps / tasks / 2), 1.0, tasks)))
            self.batches = dict(zip(self.tasks, sizes.tolist(), strict=True))
            mixture = np.sqrt(sizes) * np.exp(0.3 * rng.normal(size=tasks))
            mixture /= mixture.sum()
            if kind == "memory":
                mixture = 2 * sizes / steps  # two passes teach what there is
        need = np.maximum(1.0, steps * mixture)
        self._gains: Floats = self.best / need
        self._times: Floats = need / 2
        self._forgets: Floats = rng.uniform(0.0, 0.01, tasks) * self._gains * (3.0 if kind == "interfere" else 1.0)
        self._onsets: Floats = np.zeros(tasks)
        chosen = rng.permutation(tasks)[:2]
        if kind == "noise":
            # With what the two leave over uniform sampling would be done early: nobody could be better.
            self._gains *= (need.sum() - need[chosen].sum()) / need.sum()
            self._gains[chosen] = self._forgets[chosen] = 0.0
        if kind == "late":
            self._onsets[chosen] = rng.uniform(0.04, 0.08, len(chosen)) * steps
        self._cross: Floats = (
            rng.normal(0.0, 0.12, (tasks, tasks)) * self._gains if kind == "interfere" else np.zeros(0)
        )
        self.reset()

    def reset(self, seed: int = 0) -> None:
        """Forget everything that was learned; the noise of batches begins anew."""
        self.scores: Floats = np.zeros((self.runs, len(self.tasks)))
        self.visits: Floats = np.zeros((self.runs, len(self.tasks)))
        self._rng = generator(seed, "batches")

    def train(self, chosen: NDArray[np.int64]) -> Floats:
        """One step of every training, each on its own task; the losses of their batches before it."""
        rows = np.arange(self.runs)
        losses = 1.0 - self._shown(rows, chosen) + self.noise * self._rng.normal(size=self.runs)
        self.visits[rows, chosen] += 1
        begun = self.visits[rows, chosen] > self._onsets[chosen]
        room = self.best[chosen] - self.scores[rows, chosen]
        if self.kind == "exp":
            gains = room * -np.expm1(-1.0 / self._times[chosen])
        else:
            gains = np.minimum(self._gains[chosen], room)
        self.scores[rows, chosen] += np.where(begun, gains, 0.0)
        if self.kind == "interfere":
            self.scores += self._cross[chosen]
        self.scores -= self._forgets
        np.clip(self.scores, 0.0, self.best, out=self.scores)
        return np.asarray(losses)

    def _shown(self, rows: NDArray[np.int64], chosen: NDArray[np.int64]) -> Floats:
        """The scores of training rows."""
        scores = self.scores[rows, chosen]
        if self.kind != "memory" or self.batches is None:
            return scores
        lengths = np.ceil(list(self.batches.values()))[chosen]
        seen = np.floor(self.visits[rows, chosen] / lengths)  # how often, each row of this pass
        return np.asarray(scores + (1.0 - scores) * -np.expm1(-seen / 2))
