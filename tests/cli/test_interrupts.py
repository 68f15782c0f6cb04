"""Ctrl-C and SIGTERM: a process ends in order, and says the command that goes on."""

from __future__ import annotations

import functools
import shlex
import signal
import subprocess
import time

import pytest
from run_tools import assert_same_run, checkpoints, command, rota

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
    begin = "rota: stopped. Go on with: rota "
    assert said.startswith(begin), said
    assert said.endswith("\n")
    assert said.count("\n") == 1
    return shlex.split(said.removeprefix(begin))


@SIGNALS
def test_a_training_that_is_stopped_says_how_it_goes_on(tmp_path, number, code):
    folder = tmp_path / "runs" / "auto-0"
    process = start("train", *TINY, "--eval-every", 1000, "--num-workers", 1, "-q", cwd=tmp_path)
    wait_for(process, lambda: checkpoints(folder))
    process.send_signal(number)
    said = process.communicate()[1]
    assert process.returncode == code
    assert said == "rota: stopped. Go on with: rota train --resume runs/auto-0\n"
    done = rota(*command_in(said), "-q", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert rota("train", *TINY, "--eval-every", 1000, "-q", "--out", tmp_path / "whole").returncode == 0
    assert_same_run(tmp_path / "whole", folder)


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
    code, _, said = rota_main("train", "--steps", 3, "--out", tmp_path / "r")
    assert code == 130
    assert command_in(said) == ["train", "--steps", "3", "--out", str(tmp_path / "r")]


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
