"""The loop."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from rota.callbacks import RunStart
from rota.engine import Trainer, make_engine
from rota.errors import RotaError
from rota.evaluation import RunAccess, evaluation_budget, evaluation_tasks
from rota.interrupts import at_step_ends, stop
from rota.policies import Policy, Stateful
from rota.runlog import LOG, SUMMARY, LogWriter, Run, as_if_begun
from rota.settings import Settings
from rota.sources import Moment, Source
from rota.streams import Streams, rows_per_step
from rota.tasks import Task
from rota.training._best import best_tracker
from rota.training._callbacks import Callbacks
from rota.training._checkpointer import Checkpointer
from rota.training._distributed import DistributedContext
from rota.training._elastic import divided
from rota.training._ending import write_summary
from rota.training._evaluations import Evaluations
from rota.training._exposure import Exposure
from rota.training._feedback_queue import FeedbackQueue
from rota.training._feeds import Feeds
from rota.training._folder import check_same, describe, make_folder, note_start, refuse_old
from rota.training._model_files import files_in
from rota.training._opening_notices import opening_notices
from rota.training._own_model import try_first_rows
from rota.training._resolve import refuse_parking, resolve_engine
from rota.training._resolve_sharding import refuse_unshardable
from rota.training._stopping import Stopping
from rota.training._task_change import ChangeOfTasks, apart_from_tasks, change_of_tasks, info_then

FLUSH = 100  # lines of the log that may wait in memory


class TrainingLoop:
    """One run while it happens."""

    before: Sequence[Run] = ()
    callbacks: Callbacks
    asked: bool = False  # whether a callback may end the run
    other_versions: str | None = None  # than it was started with
    change: ChangeOfTasks | None = None  # before the first step

    def __init__(
        self,
        model: nn.Module,
        tasks: Sequence[Task],
        policy: Policy,
        folder: Path,
        settings: Settings,
        stream: Streams,
        sources: Sequence[Source],
        context: DistributedContext,
        own: Trainer,
        began_in: int,
    ) -> None:
        self.tasks, self.policy, self.folder, self.context = tasks, policy, folder, context
        trained = [task for task in tasks if task.trained]
        rows = rows_per_step(trained, settings.batch_size, settings.accumulate * began_in)
        self.stream = stream(
            trained, policy, rows, settings.seed, context.shard, settings.num_workers, settings.group_lengths
        )
        refuse_parking(settings, self.stream)
        if settings.shard:
            refuse_unshardable(self.stream)
        heard = any(source.each_step and (policy.hears is None or source.says in policy.hears) for source in sources)
        own_part = divided(settings, tasks, began_in, context.shard.world)
        self.divided, self.not_captured = resolve_engine(own_part, heard or self.stream.needs_outcome, own, model)
        asked = {"batch_size": settings.batch_size, "accumulate": settings.accumulate}
        self.settings = self.divided.model_copy(update=asked)
        self.engine = make_engine(model, tasks, self.divided, context.accelerator, own)
        try_first_rows(self.engine.learner, trained)
        limited = evaluation_tasks(tasks, settings.eval_rows)
        self.access = RunAccess(
            self.engine, self.settings, policy, trained, limited, rows, context.shard, context.gather
        )
        self.evaluations = Evaluations(self.access, tasks, evaluation_budget(settings, tasks, rows))
        self.stream.connect(self.access)
        self.exposure = Exposure(self.settings, self.stream, trained, lambda: self.engine.learner.ledger)
        self.feeds = Feeds(sources, policy, self.access)
        self.best = best_tracker(settings, tasks)
        self.stopping = Stopping(context, self.settings.delay or 0)

    def run(self, start: int) -> None:
        """The loop on one screen."""
        self._announce(start)
        self.checkpointer.start_clock()
        self.exposure.before = self.before
        if self.was != self.hardware:
            parts = {"batch_size": self.divided.batch_size, "accumulate": self.divided.accumulate}
            self.queue.note({"kind": "resumed", "step": start, **self.hardware, **parts})
        if start == 0:
            self._evaluate(0)
        if self.change is not None:
            self._begin_with_others(self.change)
        with at_step_ends():
            done = self._train(start)
        self._end(done)

    def _begin_with_others(self, change: ChangeOfTasks) -> None:
        """Other tasks from here on. All of them are evaluated, and a checkpoint knows them before the next step: with
        it the change is made, and before it is not."""
        for line in change.heard:
            self._write(line)
        self.queue.note(change.line(self.stream.expected_shares(change.step)))
        self._evaluate(change.step)
        try:
            self.checkpointer.save(change.step)
        except OSError as error:
            self.checkpointer.rescue(change.step, error)

    def _train(self, start: int) -> int:
        """All steps but those that were made before; how many there are then."""
        done = start
        for step in itertools.count(start):
            if self.best.stops or self.exposure.is_over(step):
                break
            plan = self.stream.next(step)
            if plan is None:
                break
            plan = self.exposure.scheduled(plan)
            outcome = self.engine.update(plan, self.feeds.after_update)
            self.queue.step(plan, outcome)
            done = step + 1
            for heard in self.callbacks.steps:
                heard(done)
            try:
                self._end_step(done, outcome.skipped)
                self.exposure.hear(plan)
                over = self.exposure.is_over(done)
                if evaluates := self.evaluations.is_time(done, self.best.last_step, self.stream, self.exposure):
                    self._evaluate(done, last=over)
                if self.feeds.at_step_end:
                    for line in self.feeds.stepped(Moment(done, over, plan.choice)):
                        self.queue.note(line)
                ends = self.stopping.ends_at(done)
                # The loop ends with a checkpoint.
                if ends or (not over and self.checkpointer.is_time(done, evaluates)):
                    self.checkpointer.save(done)
                if ends:
                    raise stop(self.folder, done)
                if self.log is not None and self.log.waiting >= FLUSH:
                    self.log.flush()
            except OSError as error:
                self.checkpointer.rescue(done, error)
        return done

    def _announce(self, start: int) -> None:
        begun = RunStart(self.folder, self.tasks, self.settings, start, lambda: self.engine.captures)
        self.callbacks.on_start(begun)
        for notice in opening_notices(self):
            self.callbacks.on_notice(notice)
        self.engine.tell_fallback_to(lambda reason: self.callbacks.on_notice(f"engine: {reason}"))

    def _end(self, done: int) -> None:
        if self.best.last_step != done:
            self._evaluate(done, last=True)  # no further round fitted into the steps
        elif not self.best.last_is_whole:  # somebody ended it
            self.best.last, self.best.last_is_whole = self.evaluations.reported(), True
            self._note_evaluation(done, self.best.last)
        self.queue.finish()
        try:
            self.checkpointer.finish(done)
        except OSError as error:
            self.checkpointer.rescue(done, error)
        write_summary(self, done)
        self.checkpointer.tidy()

    def _end_step(self, done: int, skipped: bool) -> None:
        ended = self.stream.ended(done, skipped)
        if ended is None:
            return
        self.queue.note(ended.line)
        if ended.notice is not None:
            self.callbacks.on_notice(ended.notice)
        if ended.failure is not None:
            self.checkpointer.save(done)
            raise RotaError(f"{ended.failure} Everything up to step {done} is saved in {self.folder}.")

    def writes(self, resume: bool | str) -> bool:
        """Whether this process is going to write into the folder."""
        if not resume:
            refuse_old(self.folder, inner=bool(self.before))  # before a folder is made for anything
        return self.context.writes and not (resume and (self.folder / SUMMARY).is_file())

    def open(self, resume: bool | str, elastic: bool = False, takes_over: Policy | None = None) -> int | None:
        """Make the run folder or go back into it; return the step to start from, None if all is done."""
        if not resume:
            refuse_old(self.folder, inner=bool(self.before))
            self.context.wait()
            if self.context.writes:
                make_folder(self.folder, self._describe())
            self.context.wait()
        run = Run(self.folder)
        self.files = files_in(self.folder, run.info["id"], self.engine.learner, self.best, self.context)
        checkpoints = self.files.checkpoints
        if self.context.writes and not run.finished:
            checkpoints.bring_back()
        self.context.wait()
        found = None if run.finished else checkpoints.load(resume if isinstance(resume, str) else None)
        asked, description = as_if_begun(run.info) if run.finished else info_then(run, found), self._describe()
        if takes_over is not None:
            self.change = change_of_tasks(run, asked, description, found, takes_over)
            asked = apart_from_tasks(asked, description)
        self.was, self.hardware = check_same(run, asked, description, found and found[0].get("hardware"), elastic)
        torch.set_num_threads(run.started["threads"])
        if run.finished:
            if self.settings.keep != "logs":
                self.files.load_best(run.summary["best"]["step"])
            return None
        if self.context.writes:
            self.other_versions = note_start(self.folder, description)
            # Where an older one was asked for, the newer ones go before the log is cut back behind them.
            checkpoints.drop_after(found[0]["step"] if found else 0)
        self.log = LogWriter(self.folder / LOG, found[0]["log"] if found else 0) if self.context.writes else None
        self.queue = self._queue_of(self.policy, self._write)
        self.checkpointer = self._checkpointer()
        if self.change is not None and found is not None:
            learner = self.engine.learner
            found = self.change.carried(found, learner, self.stream, self.feeds, self.policy, self.best, self._queue_of)
        start = self.checkpointer.restore(*found) if found else 0
        self.engine.learner.falls = self.best.falls
        return start

    def _checkpointer(self) -> Checkpointer:
        memories: dict[str, Stateful] = {"policy": self.policy, "queue": self.queue, "feeds": self.feeds}
        memories |= {"exposure": self.exposure, "stream": self.stream, "best": self.best, "engine": self.engine}
        return Checkpointer(
            self.folder, self.files, self.context, self.stream, self.log, memories, self.settings, self.hardware
        )

    def _queue_of(self, policy: Policy, write: Callable[[dict[str, Any]], None]) -> FeedbackQueue:
        delay, log_rows = self.settings.delay or 0, self.settings.log_rows
        skips = self.settings.on_nan == "skip" or self.stream.needs_outcome  # a round leaves a broken branch out
        return FeedbackQueue(policy, write, delay, skips, self.feeds.word, log_rows)

    def _write(self, line: dict[str, Any]) -> None:
        if self.log is not None:
            self.log.write(line)
        for heard in self.callbacks.lines:
            heard(line)

    def _describe(self) -> dict[str, Any]:
        listen, budget = self.feeds.describe(), self.evaluations.budget
        return describe(self.access, self.tasks, self.stream, listen, budget, self.context)

    def close(self) -> None:
        """Write what still waits in memory, where one looks for the reason of a crash; leave the model as any other."""
        self.engine.close()
        self.stream.close()
        if self.log is not None:
            with contextlib.suppress(OSError):
                self.log.close()

    def _evaluate(self, done: int, last: bool = False) -> None:
        """Look at the rows by which models are compared during the whole run; at the end at all of them, too."""
        self.exposure.look()
        compared, whole = self.evaluations.compared(), not self.evaluations.budget.all_at_end
        result = self.evaluations.reported() if last and not whole else compared
        lines = self.feeds.evaluated(Moment(done, self.exposure.is_over(done), None, result))
        reason = self._note_evaluation(done, result)
        for line in lines:
            self.queue.note(line)
        if done and self.best.hear(done, compared, result, last or whole):
            self.files.remember_best(done)
        if self.best.falls != self.engine.learner.falls:
            self.engine.learner.falls = self.best.falls
            self.queue.note({"kind": "rate", "step": done, "factor": self.settings.decay_by**self.best.falls})
        if self.asked:
            reason = self.context.gather(reason)[0]  # all processes as the first one
        if reason:
            self.best.stop(reason)

    def _note_evaluation(self, done: int, result: dict[str, Any]) -> str | None:
        """Log an evaluation and pass it to the callbacks; return a reason to end the run, if one has one."""
        mixture = self.stream.expected_shares(done)
        self.queue.note({"kind": "eval", "step": done, **result, "mixture": mixture})
        return self.callbacks.on_evaluate(done, result, mixture)
