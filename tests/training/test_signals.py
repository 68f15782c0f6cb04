"""Ctrl-C and SIGTERM while a model is trained: its step is saved, and nobody's handler is replaced."""

from __future__ import annotations

import functools
import signal
import threading
import time

import pytest
from fit_tools import NAMES, QUICK, make_tasks, train
from run_tools import assert_same_run, checkpoints

import rota
from rota.callbacks import Callback
from rota.errors import RotaError
from rota.interrupts import Stopped
from rota.policies import Exp3S, uniform
from rota.signals import prediction_gain
from rota.streams import JointStream, MTUncertainty, PoolStream
from rota.trials import AlphaVIL, RoundStream

RARE = QUICK.model_copy(update={"checkpoint_every": 1000, "eval_every": 10})
POOL = functools.partial(PoolStream, select=MTUncertainty(), candidates=12, every=3)
ROUNDS = functools.partial(RoundStream, trial=functools.partial(AlphaVIL, fraction=0.5))
CASES = {
    "one task": (lambda: Exp3S(NAMES, eta=0.5), {"listen": prediction_gain}, {}),
    "read late": (lambda: Exp3S(NAMES, eta=0.5), {"listen": prediction_gain}, {"delay": 3}),
    "all tasks": (lambda: Exp3S(NAMES, eta=0.5), {"listen": prediction_gain, "stream": JointStream}, {}),
    "workers": (lambda: uniform(NAMES), {}, {"num_workers": 1}),
    "pools": (lambda: uniform(NAMES), {"stream": POOL}, {}),
    "inside of a round": (lambda: uniform(NAMES[:2]), {"stream": ROUNDS, "tasks": "one target"}, {}),
}


@pytest.fixture(autouse=True)
def usual_handlers():
    """Whoever runs the tests in the background has interrupts switched off."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class SignalAt(Callback):
    """Somebody asks the process to end, in the middle of the loop."""

    def __init__(self, step, *numbers):
        self.step, self.numbers = step, numbers

    def on_step(self, done):
        if done == self.step:
            for number in self.numbers:
                signal.raise_signal(number)


def one_target():
    target, other, _ = make_tasks()
    return [target, rota.Task(other.name, other.kind, other.splits, auxiliary=True)]


@pytest.mark.parametrize("case", CASES)
def test_a_training_that_hears_a_signal_saves_its_step_and_goes_on_as_if_there_had_been_none(tmp_path, case):
    policy, options, changes = CASES[case]
    options = {**options, **({"tasks": one_target()} if "tasks" in options else {})}
    settings = RARE.model_copy(update=changes)
    train(tmp_path / "whole", policy(), settings, **options)
    resume = False
    for step, number in ((3, signal.SIGTERM), (10, signal.SIGINT), (17, signal.SIGTERM), (40, signal.SIGINT)):
        asks = [SignalAt(step, number)]
        with pytest.raises(Stopped, match=f"up to step {step} is saved") as stopped, rota.save_on_signals():
            train(tmp_path / "cut", policy(), settings, resume=resume, callbacks=asks, **options)
        assert (stopped.value.folder, stopped.value.step) == (tmp_path / "cut", step)
        assert checkpoints(tmp_path / "cut")[-1] == f"step-{step:08d}"
        resume = True
    train(tmp_path / "cut", policy(), settings, resume=True, **options)
    assert_same_run(tmp_path / "whole", tmp_path / "cut")


def test_whoever_asks_twice_does_not_wait(tmp_path):
    asks = [SignalAt(3, signal.SIGINT, signal.SIGINT)]
    with pytest.raises(KeyboardInterrupt) as ended, rota.save_on_signals():
        train(tmp_path / "r", settings=RARE, callbacks=asks)
    assert not isinstance(ended.value, Stopped)
    assert not checkpoints(tmp_path / "r")


def test_a_step_that_takes_longer_than_the_grace_is_not_waited_for(tmp_path):
    class Slow(SignalAt):
        def on_step(self, done):
            super().on_step(done)
            if done == self.step:
                time.sleep(30)

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt) as ended, rota.save_on_signals(grace=0.2):
        train(tmp_path / "r", settings=RARE, callbacks=[Slow(3, signal.SIGTERM)])
    assert not isinstance(ended.value, Stopped)
    assert time.monotonic() - began < 25
    train(tmp_path / "whole", settings=RARE)
    train(tmp_path / "r", settings=RARE, resume=True)
    assert_same_run(tmp_path / "whole", tmp_path / "r")


def test_where_nothing_is_trained_a_signal_ends_at_once():
    with pytest.raises(KeyboardInterrupt), rota.save_on_signals():
        signal.raise_signal(signal.SIGTERM)


def test_nobody_asked_for_it_and_ctrl_c_is_what_it_always_was(tmp_path):
    with pytest.raises(KeyboardInterrupt) as ended:
        train(tmp_path / "r", settings=RARE, callbacks=[SignalAt(3, signal.SIGINT)])
    assert not isinstance(ended.value, Stopped)
    assert not checkpoints(tmp_path / "r")


def test_handlers_of_others_are_left_alone_and_its_own_are_taken_back(tmp_path):
    heard = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
    mine = signal.getsignal(signal.SIGTERM)
    try:
        with rota.save_on_signals():
            assert signal.getsignal(signal.SIGTERM) is mine
            assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
            train(tmp_path / "r", settings=RARE, callbacks=[SignalAt(3, signal.SIGTERM)])
        assert heard == [signal.SIGTERM]
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGTERM, before)


def test_another_thread_cannot_hear_signals():
    found = []

    def ask():
        try:
            with rota.save_on_signals():
                pass
        except RotaError as error:
            found.append(str(error))

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert found == ["save_on_signals expects the main thread, which alone hears signals. Found another one."]


def test_a_model_that_is_broken_already_is_not_saved_by_a_signal(tmp_path):
    tasks = make_tasks(nan_rows=range(30))
    settings = RARE.model_copy(update={"delay": 20})
    with pytest.raises(rota.training.NotANumberError), rota.save_on_signals():
        train(tmp_path / "r", settings=settings, tasks=tasks, callbacks=[SignalAt(15, signal.SIGTERM)])
    assert not checkpoints(tmp_path / "r")
