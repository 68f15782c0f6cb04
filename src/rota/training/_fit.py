"""The loop."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from rota.feedback import Feedback
from rota.policies import Policy
from rota.runlog import LOG, SUMMARY, LogWriter, Run, write_json
from rota.settings import Settings
from rota.signals import Signal
from rota.streams import PoolStream, Streams, TaskStream, rows_per_step
from rota.tasks import Task, check_tasks
from rota.training._checkpoint import Checkpoints
from rota.training._conclusion import conclusion
from rota.training._evaluate import evaluate, evaluation_tasks
from rota.training._folder import DISK_FULL, check_same, describe, disk_full, make_folder, refuse_old
from rota.training._judge import Judge
from rota.training._optimizer import load_optimizer_tensors, optimizer_tensors
from rota.training._progress import ProgressBar
from rota.training._questions import Questions
from rota.training._recorder import Recorder
from rota.training._session import Session, surroundings, threads_for
from rota.training._settled import settled
from rota.training._survey import Survey, Surveyor
from rota.training.engine import EagerEngine, GraphEngine

FLUSH = 100  # lines of the log that may wait in memory
WRITING = 0.05  # share of the time that writing checkpoints may take


def fit(
    model: nn.Module,
    tasks: Sequence[Task],
    policy: Policy,
    folder: Path | str,
    settings: Settings | None = None,
    *,
    stream: Streams = TaskStream,
    signal: Signal | None = None,
    resume: bool | str = False,
    progress: bool = True,
    survey: Survey | None = None,
    before: Sequence[Run] = (),
) -> Run:
    """Train `model` on `tasks` as `policy` says, and keep everything in `folder`.

    Stopped at any moment and resumed, a run is the run that was never stopped: same choices, same rows, same
    losses, same weights.

    Args:
        model: Any module that answers `model(task, inputs)`. Afterwards it holds the best weights.
        tasks: What there is to learn; those without training rows are only evaluated.
        policy: Over the names of the tasks with training rows.
        folder: A new run folder; an existing one is never overwritten.
        settings: Steps, batch size, learning rate, …; written into `run.json` as the plan of the run.
        stream: `TaskStream` (one task per step), `JointStream` (all tasks, weighted), `MixedStream` (rows of any
            tasks), or what makes one, such as `functools.partial(PoolStream, select=MTUncertainty())`.
        signal: What the policy hears after a step; None if it does not listen.
        resume: Continue the run in `folder`: True from its latest checkpoint, or the name of one.
        progress: Whether to show a progress bar.
        survey: What the policy hears about all tasks from time to time.
        before: Finished runs that were trained for the sake of this one; their cost is counted in its own.

    Returns:
        The finished run.
    """
    check_tasks(tasks)
    settings, reason = settled(settings or Settings(), listens=signal is not None)
    session = Session(settings)
    with surroundings(threads_for(model, settings), gpu=session.accelerator.device.type == "cuda"):
        session.seed(settings.seed)
        training = _Training(model, tasks, policy, Path(folder), settings, stream, signal, session, survey, before)
        start = training.open(resume)
        if start is None:
            return Run(folder)
        try:
            with ProgressBar(Path(folder).name, settings.steps, start, shown=progress and session.writes) as bar:
                bar.noticed(tasks)
                bar.uncaptured(reason and f"eager, because {reason}")
                training.run(start, bar)
        finally:
            training.close()
    return Run(folder)


class _Training:
    """One run while it happens."""

    def __init__(
        self,
        model: nn.Module,
        tasks: Sequence[Task],
        policy: Policy,
        folder: Path,
        settings: Settings,
        stream: Streams,
        signal: Signal | None,
        session: Session,
        survey: Survey | None,
        before: Sequence[Run],
    ) -> None:
        self.tasks, self.policy, self.folder, self.settings = tasks, policy, folder, settings
        self.evaluated = evaluation_tasks(tasks, settings.eval_rows)
        self.signal, self.session, self.before = signal, session, before
        trained = [task for task in tasks if task.trained]
        rows = rows_per_step(trained, settings.batch_size, settings.accumulate * session.shard.world)
        self.stream = stream(
            trained, policy, rows, settings.seed, session.shard, settings.num_workers, settings.group_lengths
        )
        engine = EagerEngine if settings.engine == "eager" else GraphEngine
        self.engine = engine(model, tasks, settings, session.accelerator)
        if isinstance(self.stream, PoolStream):
            self.stream.ask = Questions(self.engine, trained, session, settings.seed).ready_for(self.stream)
        self.surveyor = (
            Surveyor(survey, self.engine.model, trained, settings.seed, settings.eval_batch_size) if survey else None
        )
        self.judge = Judge(settings.best, settings.patience)
        self.best: tuple[int, dict[str, torch.Tensor]] | None = None
        self.seconds = 0.0
        self.saved, self.writing = time.perf_counter(), 0.0

    def run(self, start: int, bar: ProgressBar) -> None:
        """The loop on one screen."""
        settings, done, self.clock = self.settings, start, time.perf_counter()
        if start == 0:
            self._evaluate(0, bar)
        for step in range(start, settings.steps):
            if self.judge.stops:
                break
            turn = self.stream.next(step)
            self.recorder.step(turn, self.engine.update(turn, self.signal))
            done = step + 1
            bar.step(done, self.engine.captures)
            bar.uncaptured(self.engine.fallback)
            try:
                if done % settings.evaluation_interval == 0 or done == settings.steps:
                    self._evaluate(done, bar)
                if self.surveyor and done % self.surveyor.survey.every == 0 and done < settings.steps:
                    self._survey(done, self.surveyor)
                if self._saves(done):
                    self._save(done)
                if self.log is not None and self.log.waiting >= FLUSH:
                    self.log.flush()
            except OSError as error:
                self._rescue(done, error)
        self.recorder.finish()
        try:
            self._save(done)
        except OSError as error:
            self._rescue(done, error)
        self._summarise(done)

    def open(self, resume: bool | str) -> int | None:
        """Make the run folder or go back into it; return the step to start from, None if all is done."""
        if not resume:
            refuse_old(self.folder, inner=bool(self.before))
            self.session.wait()
            if self.session.writes:
                make_folder(self.folder, self._describe())
            self.session.wait()
        run = Run(self.folder)
        check_same(run, self._describe())
        torch.set_num_threads(run.info["threads"])
        self.checkpoints = Checkpoints(self.folder, run.info["id"])
        if run.finished:
            self.engine.model.load_state_dict(self.checkpoints.load_best(run.summary["best"]["step"]))
            return None
        found = self.checkpoints.load(resume if isinstance(resume, str) else None)
        if found and self.session.writes:
            # Somebody chose an older one: the newer ones go before the log is cut back behind them.
            self.checkpoints.drop_after(found[0]["step"])
        self.log = LogWriter(self.folder / LOG, found[0]["log"] if found else 0) if self.session.writes else None
        self.recorder = Recorder(self.policy, self.log, self.settings.delay or 0, self.settings.on_nan == "skip")
        return self._restore(*found) if found else 0

    def _describe(self) -> dict[str, Any]:
        survey, model = self.surveyor.survey if self.surveyor else None, self.engine.model
        return describe(self.settings, self.tasks, self.policy, self.stream, self.signal, survey, model, self.session)

    def close(self) -> None:
        """Write what still waits in memory: whoever looks for the reason of a crash looks there. Leave the model as any
        other."""
        self.engine.close()
        if self.log is not None:
            with contextlib.suppress(OSError):
                self.log.close()

    def _restore(self, state: dict[str, Any], tensors: dict[str, dict[str, torch.Tensor]]) -> int:
        self.engine.model.load_state_dict(tensors["model"])
        load_optimizer_tensors(self.engine.optimizer, tensors["optimizer"])
        self.policy.load_state_dict(state["policy"])
        self.stream.load_state_dict(state["stream"])
        self.recorder.load_state_dict(state["recorder"])
        self.judge.load_state_dict(state["judge"])
        self.session.load_generators(state["generators"])
        self.engine.load_state_dict(state["engine"])
        self.seconds = state["seconds"]
        if self.surveyor:
            self.surveyor.load_state_dict(state["surveyor"])
        return int(state["step"])

    def _evaluate(self, done: int, bar: ProgressBar) -> None:
        result = self._score("dev")
        mixture = self.policy.shares(done)
        self.recorder.note({"kind": "eval", "step": done, **result, "mixture": mixture})
        bar.evaluated(done, result["average"], mixture)
        if done and self.judge.is_best(done, result) and self.session.writes:
            # Written with the next checkpoint: a run that dies before it finds its best model again.
            tensors = self.engine.model.state_dict().items()
            self.best = done, {name: tensor.detach().to("cpu", copy=True) for name, tensor in tensors}

    def _survey(self, done: int, surveyor: Surveyor) -> None:
        """Tell the policy how unsure the model is about each task."""
        found = surveyor(done, self.engine.look, self.session.shard, self.session.gather)
        for task, own in found.items():
            self.policy.observe(Feedback(task, own["value"], None, done))
        self.recorder.note({"kind": "survey", "step": done, "tasks": found, "mixture": self.policy.shares(done)})
        self.engine.ledger.scored += surveyor.examples

    def _score(self, split: str) -> dict[str, Any]:
        session, rows = self.session, self.settings.eval_batch_size
        look, model = self.engine.look, self.engine.model
        result = evaluate(model, self.evaluated, split, rows, session.shard, session.gather, look)
        self.engine.ledger.evaluated += sum(task["n"] for task in result["tasks"].values())
        return result

    def _saves(self, done: int) -> bool:
        """Whether it is time for a checkpoint: as asked for, or at evaluations so that writing takes a small share of
        the time."""
        settings = self.settings
        if done == settings.steps:
            return False  # the loop ends with one
        if settings.checkpoint_every is not None:
            return done % settings.checkpoint_every == 0
        if done % settings.evaluation_interval:
            return False
        waited = time.perf_counter() - self.saved
        return bool(self.session.gather(waited * WRITING >= self.writing)[0])  # all processes as the first one

    def _save(self, done: int) -> None:
        now = time.perf_counter()
        self.seconds, self.clock = self.seconds + now - self.clock, now
        state = {
            "step": done,
            "log": self.log.sync() if self.log is not None else None,
            "policy": self.policy.state_dict(),
            "stream": self.stream.state_dict(),
            "recorder": self.recorder.state_dict(),
            "judge": self.judge.state_dict(),
            "generators": self.session.generators(),
            "engine": self.engine.state_dict(),
            "seconds": self.seconds,
            "surveyor": self.surveyor and self.surveyor.state_dict(),
        }
        if self.session.writes:
            if self.best is not None:
                self.checkpoints.save_best(*self.best)
                self.best = None
            tensors = {"model": self.engine.model.state_dict(), "optimizer": optimizer_tensors(self.engine.optimizer)}
            self.checkpoints.save(done, tensors, state)
            self.checkpoints.prune_best(self.judge.best_step)
        self.session.wait()
        self.saved = time.perf_counter()
        self.writing = self.saved - now

    def _rescue(self, done: int, error: OSError) -> None:
        """The disk is full: give up the older checkpoint, save what was trained, and say what to do."""
        if error.errno not in DISK_FULL:
            raise error
        self.checkpoints.make_room()
        try:
            self._save(done)
        except OSError:
            done = self.checkpoints.latest_step()
        raise disk_full(self.folder, done) from error

    def _summarise(self, done: int) -> None:
        """Score the best model on the test rows and write how the run ended."""
        assert self.judge.best_step is not None
        self.session.wait()
        self.engine.model.load_state_dict(self.checkpoints.load_best(self.judge.best_step))
        test = self._score("test")
        if self.session.writes:
            surveying = self.surveyor.seconds if self.surveyor else 0.0
            summary = conclusion(
                done, self.judge, test, self.recorder, self.engine, self.seconds, surveying, self.before
            )
            try:
                write_json(self.folder / SUMMARY, summary)
            except OSError as error:
                raise (disk_full(self.folder, done) if error.errno in DISK_FULL else error) from error
        self.session.wait()
