"""The loop."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from rota.feedback import Choice, Feedback
from rota.policies import Policy, Stateful
from rota.runlog import LOG, SUMMARY, LogWriter, Run, write_json
from rota.settings import Settings
from rota.signals import Signal
from rota.streams import BranchStream, PoolStream, Streams, TaskStream, rows_per_step
from rota.tasks import Task, check_tasks
from rota.training._checkpoint import Checkpoints
from rota.training._conclusion import conclusion
from rota.training._evaluate import evaluate, evaluation_tasks
from rota.training._folder import DISK_FULL, check_same, describe, disk_full, make_folder, refuse_old
from rota.training._judge import Judge, Watch
from rota.training._keeper import Keeper
from rota.training._progress import ProgressBar
from rota.training._questions import Questions
from rota.training._recorder import Recorder
from rota.training._reward import Reward, Rewarder
from rota.training._rounds import Rounds, Trials, all_broke, make_rounds
from rota.training._session import Session, surroundings, threads_for
from rota.training._settled import settled
from rota.training._survey import Survey, Surveyor
from rota.training.engine import EagerEngine, GraphEngine

FLUSH = 100  # lines of the log that may wait in memory


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
    trial: Trials | None = None,
    reward: Reward | None = None,
    watch: Watch | None = None,
    tell_scores: bool = False,
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
        trial: Where given, training goes in rounds, such as `functools.partial(AlphaVIL, fraction=0.25)`; the only task
            that is not auxiliary is the target, and the stream is not asked.
        reward: What the policy hears at the end of each round of turns about the score that counts.
        watch: Hears the step and the average score of each evaluation, and says whether to give the run up.
        tell_scores: Whether the policy hears the dev score of each task at every evaluation.
    """
    check_tasks(tasks)
    settings, reason = settled(settings or Settings(), listens=signal is not None or trial is not None)
    session = Session(settings)
    with surroundings(threads_for(model, settings), gpu=session.accelerator.device.type == "cuda"):
        session.seed(settings.seed)
        training = _Training(
            *(model, tasks, policy, Path(folder), settings, stream, signal, session, survey, before, trial, reward),
            *(watch, tell_scores),
        )
        start = training.open(resume)
        if start is None:
            return Run(folder)
        try:
            with ProgressBar(Path(folder).name, settings.steps, start, shown=progress and session.writes) as bar:
                bar.noticed(tasks)
                bar.uncaptured(reason and f"eager, because {reason}")
                bar.told(training.rounds.trial.notice if training.rounds else None)
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
        trial: Trials | None,
        reward: Reward | None,
        watch: Watch | None,
        tell_scores: bool,
    ) -> None:
        self.tasks, self.policy, self.folder, self.settings = tasks, policy, folder, settings
        self.evaluated = evaluation_tasks(tasks, settings.eval_rows)
        self.signal, self.session, self.before, self.tell_scores = signal, session, before, tell_scores
        trained = [task for task in tasks if task.trained]
        rows = rows_per_step(trained, settings.batch_size, settings.accumulate * session.shard.world)
        self.stream = (BranchStream if trial else stream)(
            trained, policy, rows, settings.seed, session.shard, settings.num_workers, settings.group_lengths
        )
        engine = EagerEngine if settings.engine == "eager" else GraphEngine
        self.engine = engine(model, tasks, settings, session.accelerator)
        if isinstance(self.stream, PoolStream):
            self.stream.ask = Questions(self.engine, trained, session, settings.seed).ready_for(self.stream)
        self.surveyor = (
            Surveyor(survey, self.engine.model, trained, settings.seed, settings.eval_batch_size) if survey else None
        )
        self.rounds = make_rounds(trial, self.stream, self.engine, trained, rows, session, settings) if trial else None
        self.rewarder = Rewarder(reward) if reward else None
        self.judge = Judge(settings.best, settings.patience, watch)

    def run(self, start: int, bar: ProgressBar) -> None:
        """The loop on one screen."""
        settings, done = self.settings, start
        self.keeper.start_clock()
        if start == 0:
            self._evaluate(0, bar)
        for step in range(start, settings.steps):
            if self.judge.stops or (self.rounds and not self.rounds.open(step)):
                break
            turn = self.stream.next(step)
            outcome = self.engine.update(turn, self.signal)
            self.recorder.step(turn, outcome)
            done = step + 1
            bar.step(done, self.engine.captures)
            bar.uncaptured(self.engine.fallback)
            try:
                if self.rounds:
                    self._end_step_of_round(self.rounds, done, outcome.skipped, bar)
                if evaluates := self._is_time_to_evaluate(done):
                    self._evaluate(done, bar)
                if self.surveyor and done % self.surveyor.survey.every == 0 and done < settings.steps:
                    self._survey(done, self.surveyor)
                if self.rewarder and done % self.rewarder.reward.every == 0 and turn.choice:
                    self._reward(done, turn.choice, self.rewarder)
                if self.keeper.is_time(done, evaluates):
                    self.keeper.save(done)
                if self.log is not None and self.log.waiting >= FLUSH:
                    self.log.flush()
            except OSError as error:
                self.keeper.rescue(done, error)
        self._end(done, bar)

    def _end(self, done: int, bar: ProgressBar) -> None:
        if self.judge.last_step != done:
            self._evaluate(done, bar)  # no further round fitted into the steps
        self.recorder.finish()
        try:
            self.keeper.save(done)
        except OSError as error:
            self.keeper.rescue(done, error)
        self._summarise(done)

    def _end_step_of_round(self, rounds: Rounds, done: int, skipped: bool, bar: ProgressBar) -> None:
        line = rounds.close(done, skipped)
        if line is None:
            return
        self.recorder.note(line)
        bar.decided(line)
        if line["diverged"] and len(line["diverged"]) == len(rounds.trial.tasks):
            self.keeper.save(done)
            raise all_broke(line["round"], self.folder, done)

    def _is_time_to_evaluate(self, done: int) -> bool:
        interval, steps = self.settings.evaluation_interval, self.settings.steps
        if self.rounds:  # between rounds alone: inside, the parameters are those of a branch
            return self.rounds.at_border and (done - self.judge.last_step >= interval or done == steps)
        return done % interval == 0 or done == steps

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
        skips = self.settings.on_nan == "skip" or self.rounds is not None  # a round leaves a broken branch out
        self.recorder = Recorder(self.policy, self.log, self.settings.delay or 0, skips)
        self.keeper = self._make_keeper()
        return self.keeper.restore(*found) if found else 0

    def _make_keeper(self) -> Keeper:
        memories: dict[str, Stateful] = {"policy": self.policy, "stream": self.stream, "recorder": self.recorder}
        optional = {"surveyor": self.surveyor, "rewarder": self.rewarder}
        memories |= {name: memory for name, memory in optional.items() if memory is not None}
        return Keeper(
            *(self.folder, self.checkpoints, self.session, self.settings, self.engine, self.judge, self.log),
            *(memories, self.rounds),
        )

    def _describe(self) -> dict[str, Any]:
        survey = self.surveyor.survey if self.surveyor else None
        trial = self.rounds.trial.describe() if self.rounds else None
        reward = self.rewarder.reward if self.rewarder else None
        return describe(
            *(self.settings, self.tasks, self.policy, self.stream, self.signal, survey, self.engine.model),
            *(self.session, trial, reward, self.tell_scores),
        )

    def close(self) -> None:
        """Write what still waits in memory, where one looks for the reason of a crash; leave the model as any other."""
        self.engine.close()
        if self.log is not None:
            with contextlib.suppress(OSError):
                self.log.close()

    def _evaluate(self, done: int, bar: ProgressBar) -> None:
        result = self._score("dev")
        if self.tell_scores:
            self.recorder.tell_scores(done, result["tasks"])
        mixture = self.rounds.trial.mixture if self.rounds else self.policy.outlook(done)
        self.recorder.note({"kind": "eval", "step": done, **result, "mixture": mixture})
        bar.evaluated(done, result["average"], mixture)
        if self.rewarder and not done:
            self.rewarder.start(result["average"] or 0.0)
        if done and self.judge.is_best(done, result) and self.session.writes:
            self.keeper.remember_best(done)

    def _survey(self, done: int, surveyor: Surveyor) -> None:
        """Tell the policy how unsure the model is about each task."""
        found = surveyor(done, self.engine.look, self.session.shard, self.session.gather)
        for task, own in found.items():
            self.policy.observe(Feedback(task, own["value"], None, done))
        self.recorder.note({"kind": "survey", "step": done, "tasks": found, "mixture": self.policy.outlook(done)})
        self.engine.ledger.scored += surveyor.examples

    def _reward(self, done: int, choice: Choice, rewarder: Rewarder) -> None:
        """Tell the policy whether the round that is over did good."""
        counted = [task for task in self.evaluated if task.counted]
        line = rewarder(choice, done, self._look_at(counted, "dev")["average"] or 0.0)
        self.policy.observe(choice.scored(line["value"]))
        self.recorder.note(line)
        self.engine.ledger.scored += sum(task.size("dev") for task in counted)

    def _score(self, split: str) -> dict[str, Any]:
        result = self._look_at(self.evaluated, split)
        self.engine.ledger.evaluated += sum(task["n"] for task in result["tasks"].values())
        return result

    def _look_at(self, tasks: Sequence[Task], split: str) -> dict[str, Any]:
        session, engine, rows = self.session, self.engine, self.settings.eval_batch_size
        return evaluate(engine.model, tasks, split, rows, session.shard, session.gather, engine.look)

    def _summarise(self, done: int) -> None:
        """Score the best model on the test rows and write how the run ended."""
        assert self.judge.best_step is not None
        self.session.wait()
        tests = {}
        for step in sorted(self.judge.kept_steps, key=lambda step: step == self.judge.best_step):  # that one stays
            self.engine.model.load_state_dict(self.checkpoints.load_best(step))
            tests[step] = self._score("test")
        if self.session.writes:
            surveying = self.surveyor.seconds if self.surveyor else 0.0
            summary = conclusion(
                done, self.judge, tests, self.recorder, self.engine, self.keeper.seconds, surveying, self.before
            )
            try:
                write_json(self.folder / SUMMARY, summary)
            except OSError as error:
                raise (disk_full(self.folder, done) if error.errno in DISK_FULL else error) from error
        self.session.wait()
