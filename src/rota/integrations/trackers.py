"""Trackers for `rota.fit`: TensorBoard, Weights & Biases, MLflow, trackio and others, by name, through accelerate.

    rota.fit(model, tasks, policy, folder, callbacks=[TrackerCallback("tensorboard")])

Loss, score and share of each task are drawn over one axis, the updates. Trainers of others have trackers of their own,
to which `rota.integrations` adds the same numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from accelerate.tracking import LOGGER_TYPE_TO_CLASS

from rota.callbacks import Callback, RunStart
from rota.errors import RotaError, unknown_name
from rota.integrations._versions import require
from rota.runlog import Run

__all__ = ["TrackerCallback"]

require("accelerate", "1.10", "2")

EVERY = 20  # updates over which losses are averaged


class TrackerCallback(Callback):
    """Sends what happens in a run to a tracker.

    Args:
        name: "tensorboard", "wandb", "mlflow", "trackio", or another that accelerate knows.
        project: How the tracker calls what belongs together.
        folder: For trackers that write files; by default `tracker` in the folder of the run.
        options: Of the tracker itself.

    >>> callbacks = [TrackerCallback("tensorboard", project="mixtures")]  # for `rota.fit(…, callbacks=callbacks)`
    >>> try:
    ...     TrackerCallback("wandbb")
    ... except RotaError as error:
    ...     str(error).partition(" Known:")[0]
    "Unknown tracker 'wandbb'. Did you mean 'wandb'?"
    """

    def __init__(self, name: str, project: str = "rota", folder: Path | str | None = None, **options: Any) -> None:
        if name not in LOGGER_TYPE_TO_CLASS:
            raise unknown_name("tracker", name, LOGGER_TYPE_TO_CLASS)
        self._name, self._project, self._folder, self._options = name, project, folder, options
        self._tracker: Any = None
        self._losses: dict[str, list[float]] = {}

    def on_start(self, start: RunStart) -> None:
        kind = LOGGER_TYPE_TO_CLASS[self._name]
        options = dict(self._options)
        if kind.requires_logging_directory:
            options["logging_dir"] = str(self._folder or start.folder / "tracker")
        try:
            self._tracker = kind(self._project, **options)
            if hasattr(self._tracker, "start"):
                self._tracker.start()
        except ImportError as error:
            raise RotaError(f"The tracker '{self._name}' needs a package that is not installed: {error}.") from error
        plain = {name: value for name, value in start.settings.model_dump(mode="json").items() if _is_plain(value)}
        self._tracker.store_init_configuration(plain)

    def on_line(self, line: Mapping[str, Any]) -> None:
        if line["kind"] != "step":
            return
        losses = {line["task"]: line["loss"]} if line["task"] else {t: own["loss"] for t, own in line["tasks"].items()}
        for task, loss in losses.items():
            if loss is not None:
                self._losses.setdefault(task, []).append(loss)
        if (line["step"] + 1) % EVERY == 0:
            means = {f"loss/{task}": sum(own) / len(own) for task, own in self._losses.items()}
            self._losses = {}
            self._tracker.log(means, step=line["step"] + 1)

    def on_evaluate(self, done: int, evaluation: Mapping[str, Any], mixture: Mapping[str, float]) -> None:
        values = {f"score/{task}": own["score"] for task, own in evaluation["tasks"].items()}
        values |= {f"share/{task}": share for task, share in mixture.items()}
        if evaluation["average"] is not None:
            values["score/average"] = evaluation["average"]
        self._tracker.log({name: value for name, value in values.items() if value is not None}, step=done)

    def on_end(self, run: Run) -> None:
        if hasattr(self._tracker, "finish"):
            self._tracker.finish()


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)
