"""Ctrl-C and SIGTERM: a process ends in order, and says the command that goes on."""

from __future__ import annotations

import functools
import os
import shlex
import signal
import subprocess
import time

import pytest
from run_tools import assert_same_run, checkpoints, command, rota

from rota.engine import EagerEngine
from rota.runlog import Run

TINY = ["--tasks", "left,right", "--rows", "left=40,right=40", "--steps", 1000, "--checkpoint-every", 20]
SIGNALS = pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])


def start(*arguments, **options):
    # Whoever runs the tests in the background has interrupts switched off, and children inherit that.
    heard = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command(*arguments), text=True, preexec_fn=heard, **pipes, **options)


def wait_for(process, event):
    while process.poll() is None and not event():
        time.sleep(0.01)
    assert process.poll() is None, process.communicate()


def command_in(said):
    """The only line on stderr."""
    begin, command = said.split(". Go on with: rota ")
    assert begin.startswith("rota: stopped"), said
    assert said.endswith("\n")
    assert said.count("\n") == 1
    return shlex.split(command)


@SIGNALS
def test_a_training_that_is_stopped_says_how_it_goes_on(tmp_path, number, code):
    folder = tmp_path / "runs" / "auto-0"
    flags = [*TINY, "--eval-every", 1000, "-q"]
    process = start("train", *flags, "--num-workers", 1, cwd=tmp_path, start_new_session=True)
    wait_for(process, lambda: checkpoints(folder))
    os.killpg(process.pid, number)  # as schedulers and terminals do: those who fetch batches get it, too
    said = process.communicate()[1]
    assert process.returncode == code
    step = int(checkpoints(folder)[-1].removeprefix("step-"))
    assert said == f"rota: stopped and saved at step {step}. Go on with: rota train --resume runs/auto-0\n"
    done = rota(*command_in(said), "-q", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert rota("train", *flags, "--out", tmp_path / "whole").returncode == 0
    assert_same_run(tmp_path / "whole", folder)


def test_where_the_step_could_not_be_saved_the_last_checkpoint_is_named(rota_main, monkeypatch, tmp_path):
    real = EagerEngine.update

    def update(self, plan, after_update=None):
        if plan.step == 25:
            raise KeyboardInterrupt  # as if somebody had asked twice
        return real(self, plan, after_update)

    monkeypatch.setattr(EagerEngine, "update", update)
    folder = tmp_path / "r"
    code, _, said = rota_main("train", *TINY, "-q", "--grace", 5, "--out", folder)
    again = f"rota train --resume {folder} --grace 5"
    assert (code, said) == (130, f"rota: stopped; the last checkpoint is that of step 20. Go on with: {again}\n")


def test_a_folder_with_blanks_is_said_so_that_it_can_be_copied(tmp_path):
    folder = tmp_path / "my  runs" / "it's"
    process = start("train", *TINY, "-q", "--out", folder)
    wait_for(process, lambda: checkpoints(folder))
    process.terminate()
    assert command_in(process.communicate()[1]) == ["train", "--resume", str(folder)]


@SIGNALS
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_comparison_that_is_stopped_says_the_same_command(tmp_path, number, code, jobs):
    flags = ["--methods", "exp3s", "--without", "proportional,union,temperature", "--seeds", "0,1", "--jobs", jobs]
    process = start("compare", *flags, *TINY, "--out", tmp_path / "c")
    wait_for(process, lambda: any(checkpoints(path.parent) for path in tmp_path.rglob("run.json")))
    process.send_signal(number)
    said = process.communicate()[1].splitlines(keepends=True)[-1]  # before it there are lines of progress
    assert process.returncode == code
    assert command_in(said) == list(map(str, ["compare", *flags, *TINY, "--out", tmp_path / "c"]))


def test_an_interrupt_before_there_is_a_run_says_the_same_command(rota_main, monkeypatch, tmp_path):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("rota.runs.run_plan", interrupted, raising=False)
    code, _, said = rota_main("train", "--steps", 3, "--out", tmp_path / "r", "-q")
    assert code == 130
    assert command_in(said) == ["train", "--steps", "3", "--out", str(tmp_path / "r"), "-q"]


def test_the_run_of_somebody_else_is_not_offered(rota_main, monkeypatch, tmp_path):
    flags = ["train", "--tasks", "left", "--rows", "left=40", "--steps", 2, "-q", "--out", tmp_path / "r"]
    assert rota_main(*flags)[0] == 0
    assert Run(tmp_path / "r").finished

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("rota.runs.run_plan", interrupted, raising=False)
    assert command_in(rota_main(*flags)[2])[1] == "--tasks"


def test_a_verb_that_keeps_nothing_says_so(rota_main, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("rota.cli._methods.option_rows", interrupted)
    code, _, said = rota_main("methods", "exp3s")
    assert (code, said) == (130, "rota: stopped; nothing was kept.\n")


def test_the_handler_of_a_program_around_it_is_left_alone(rota_main):
    before = signal.getsignal(signal.SIGTERM)
    assert rota_main("methods")[0] == 0
    assert signal.getsignal(signal.SIGTERM) == before


def test_an_interrupt_of_which_python_makes_something_else_ends_in_order_too(rota_main, monkeypatch):
    class Interrupted:
        def __set_name__(self, owner, name):
            raise KeyboardInterrupt

    def app(**options):
        type("Late", (), {"field": Interrupted()})  # RuntimeError until Python 3.11

    monkeypatch.setattr("rota.cli.app", app)
    code, out, err = rota_main("tasks")
    assert (code, out) == (130, "")
    assert err == "rota: stopped; nothing was kept.\n"


def test_other_mistakes_of_ours_are_not_hidden(rota_main, monkeypatch):
    def app(**options):
        raise ValueError("a defect")

    monkeypatch.setattr("rota.cli.app", app)
    with pytest.raises(ValueError, match="a defect"):
        rota_main("tasks")
