"""What a run writes down, when, and how it goes on from there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rota.errors import RotaError
from rota.policies import Stateful
from rota.runlog import LogWriter
from rota.settings import Settings
from rota.streams import Stream
from rota.training._distributed import DistributedContext
from rota.training._folder import DISK_FULL, disk_full
from rota.training._model_files import BRANCHES, ModelFiles
from rota.turns import own_time

WRITING = 0.05  # share of the time that writing checkpoints may take
FIRST = 2.0  # seconds without a checkpoint, in runs of which only results are kept
NOT_OURS = (KeyError, TypeError, IndexError, AttributeError, ValueError, RuntimeError)
"""What reading a state of another program raises."""


class Checkpointer:
    """Writes checkpoints and best models when it is time, brings a run back from them, and has its clock.

    Args:
        folder: Of the run.
        files: Of the model, in it.
        context: Who else trains.
        stream: May remember parameters, too.
        log: What was written of it belongs to a checkpoint; None in processes that do not write.
        memories: Everything that remembers, by name.
        settings: How often.
        hardware: Where it is trained now.
    """

    def __init__(
        self,
        folder: Path,
        files: ModelFiles,
        context: DistributedContext,
        stream: Stream,
        log: LogWriter | None,
        memories: Mapping[str, Stateful],
        settings: Settings,
        hardware: Mapping[str, Any],
    ) -> None:
        self._hardware = dict(hardware)
        self._folder, self._files, self._context, self._settings = folder, files, context, settings
        self._checkpoints, self._stream, self._log = files.checkpoints, stream, log
        self._memories = memories
        self.seconds = 0.0
        self._clock = self._saved = own_time()
        self._writing = (
            0.0 if settings.keep == "all" else FIRST * WRITING
        )  # nobody misses the first moments of many runs

    def start_clock(self) -> None:
        """Training begins or goes on now."""
        self._clock = own_time()

    def restore(self, state: dict[str, Any], tensors: Mapping[str, Any]) -> int:
        """Everything is as it was; return the step."""
        try:
            return self._restore(state, tensors)
        except RotaError:
            raise
        except NOT_OURS as error:
            raise RotaError(
                f"Expected a checkpoint of this run in {self._folder}. Found one with another content "
                f"({type(error).__name__}: {error}). Continue from another one, or start again in a new folder."
            ) from error

    def _restore(self, state: dict[str, Any], tensors: Mapping[str, Any]) -> int:
        self._files.restore(state, tensors)
        for name, memory in self._memories.items():
            # Runs of earlier versions counted no exposure.
            memory.load_state_dict(state.get(name, {}) if name == "exposure" else state[name])
        self._stream.load_tensors(tensors.get(BRANCHES, {}))
        if state.get("hardware", self._hardware) == self._hardware:
            self._context.load_generators(state["generators"])
        else:  # other processes, or another device, whose generators have states of their own
            self._context.seed(self._settings.seed, state["step"])
        self.seconds = state["seconds"]
        return int(state["step"])

    def is_time(self, done: int, evaluated: bool) -> bool:
        """Whether it is time for a checkpoint: as asked for, or at evaluations so that writing takes a small share of
        the time."""
        settings = self._settings
        if settings.checkpoint_every is not None:
            return done % settings.checkpoint_every == 0
        if not evaluated:
            return False
        waited = own_time() - self._saved
        return bool(self._context.gather(waited * WRITING >= self._writing)[0])  # all processes as the first one

    def save(self, done: int) -> None:
        """Write a checkpoint, and the best models that wait."""
        now = self._tick()
        state = {
            "step": done,
            "log": self._log.sync() if self._log is not None else None,
            **{name: memory.state_dict() for name, memory in self._memories.items()},
            "generators": self._context.generators(),
            "hardware": self._hardware,
            "seconds": self.seconds,
        }
        self._files.save(done, self._stream.tensors(), state)
        self._context.wait()
        self._saved = own_time()
        self._writing = self._saved - now

    def _tick(self) -> float:
        now = own_time()
        self.seconds, self._clock = self.seconds + now - self._clock, now
        return now

    def finish(self, done: int) -> None:
        """Training is over: write what stays of it, and what other processes have to read now."""
        if self._settings.keep == "all":
            self.save(done)
            return
        self._tick()
        if self._context.writes and (self._settings.keep == "best" or self._context.shard.world > 1):
            self._files.write_best()
        self._context.wait()

    def tidy(self) -> None:
        """The run has its summary: remove what is not to be kept."""
        if self._context.writes and self._settings.keep != "all":
            self._checkpoints.remove(best=self._settings.keep == "logs")

    def rescue(self, done: int, error: OSError) -> None:
        """The disk is full: give up the older checkpoint, save what was trained, and say what to do."""
        if error.errno not in DISK_FULL:
            raise error
        self._checkpoints.make_room()
        try:
            self.save(done)
        except OSError:
            done = self._checkpoints.latest_step()
        raise disk_full(self._folder, done) from error
