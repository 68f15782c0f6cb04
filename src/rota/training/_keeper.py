"""What a run writes down, when, and how it goes on from there."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from rota.policies import Stateful
from rota.runlog import LogWriter
from rota.settings import Settings
from rota.training._checkpoint import Checkpoints
from rota.training._folder import DISK_FULL, disk_full
from rota.training._judge import Judge
from rota.training._rounds import Rounds
from rota.training._session import Session
from rota.training.engine import EagerEngine

WRITING = 0.05  # share of the time that writing checkpoints may take
ROUNDS = "trial"  # the file of what a trial remembers inside of a round


class Keeper:
    """Checkpoints, best models, and the clock of a run.

    Args:
        folder: Of the run.
        checkpoints: In it.
        session: Who else trains.
        settings: How often.
        engine: Has the model and its optimizer.
        judge: Knows which models are the best.
        log: What was written of it belongs to a checkpoint; None in processes that do not write.
        memories: Everything else that remembers, by name.
        rounds: Where training goes in rounds: remembers parameters, too.
    """

    def __init__(
        self,
        folder: Path,
        checkpoints: Checkpoints,
        session: Session,
        settings: Settings,
        engine: EagerEngine,
        judge: Judge,
        log: LogWriter | None,
        memories: Mapping[str, Stateful],
        rounds: Rounds | None,
    ) -> None:
        self._folder, self._checkpoints, self._session, self._settings = folder, checkpoints, session, settings
        self._engine, self._judge, self._log, self._rounds = engine, judge, log, rounds
        self._memories = {**memories, "judge": judge, "engine": engine, **({"rounds": rounds} if rounds else {})}
        self._best: dict[int, dict[str, torch.Tensor]] = {}  # not written yet
        self.seconds = 0.0
        self._clock = self._saved = time.perf_counter()
        self._writing = 0.0

    def start_clock(self) -> None:
        """Training begins or goes on now."""
        self._clock = time.perf_counter()

    def remember_best(self, step: int) -> None:
        """The model as it is now is a best one. It is written with the next checkpoint: a run that dies before it finds
        its best model again."""
        tensors = self._engine.model.state_dict().items()
        self._best[step] = {name: tensor.detach().to("cpu", copy=True) for name, tensor in tensors}

    def restore(self, state: dict[str, Any], tensors: dict[str, dict[str, torch.Tensor]]) -> int:
        """Everything is as it was; return the step."""
        self._engine.model.load_state_dict(tensors["model"])
        self._engine.optimizer_states.load(tensors["optimizer"])
        for name, memory in self._memories.items():
            memory.load_state_dict(state[name])
        if self._rounds:
            self._rounds.load_tensors(tensors.get(ROUNDS, {}))
        self._session.load_generators(state["generators"])
        self.seconds = state["seconds"]
        return int(state["step"])

    def is_time(self, done: int, evaluated: bool) -> bool:
        """Whether it is time for a checkpoint: as asked for, or at evaluations so that writing takes a small share of
        the time."""
        settings = self._settings
        if done == settings.steps:
            return False  # the loop ends with one
        if settings.checkpoint_every is not None:
            return done % settings.checkpoint_every == 0
        if not evaluated:
            return False
        waited = time.perf_counter() - self._saved
        return bool(self._session.gather(waited * WRITING >= self._writing)[0])  # all processes as the first one

    def save(self, done: int) -> None:
        """Write a checkpoint, and the best models that wait."""
        now = time.perf_counter()
        self.seconds, self._clock = self.seconds + now - self._clock, now
        state = {
            "step": done,
            "log": self._log.sync() if self._log is not None else None,
            **{name: memory.state_dict() for name, memory in self._memories.items()},
            "generators": self._session.generators(),
            "seconds": self.seconds,
        }
        if self._session.writes:
            kept = self._judge.kept_steps
            for step in sorted(self._best.keys() & kept):
                self._checkpoints.save_best(step, self._best[step])
            self._best.clear()
            tensors = {"model": self._engine.model.state_dict(), "optimizer": self._engine.optimizer_states.tensors()}
            inside = self._rounds.tensors() if self._rounds else {}
            self._checkpoints.save(done, {**tensors, **({ROUNDS: inside} if inside else {})}, state)
            self._checkpoints.prune_best(kept)
        self._session.wait()
        self._saved = time.perf_counter()
        self._writing = self._saved - now

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
