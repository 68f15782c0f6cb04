"""What `fit` was told in other words before sources, streams of rounds and callbacks had a name; for one version."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from rota.callbacks import Callback
from rota.deprecation import Translation
from rota.runlog import PRUNED
from rota.sources import DevScores
from rota.trials import RoundStream


class Watcher(Callback):
    """A function that hears step and average of each evaluation, and says whether to give the run up."""

    def __init__(self, watch: Callable[[int, float], bool]) -> None:
        self._watch = watch

    def on_evaluate(self, done: int, evaluation: Mapping[str, Any], mixture: Mapping[str, float]) -> str | None:
        if not done or evaluation["average"] is None:
            return None
        return PRUNED if self._watch(done, evaluation["average"]) else None


OLD_ARGUMENTS: dict[str, Translation] = {
    "signal": "listen",
    "survey": "listen",
    "reward": "listen",
    "tell_scores": lambda tell: {"listen": DevScores()} if tell else {},
    "trial": lambda trial: {"stream": functools.partial(RoundStream, trial=trial)},
    "watch": lambda watch: {"callbacks": [Watcher(watch)]},
}
