"""What is not printed on a terminal is read by programs: nothing is cut, a value is on one line."""

from __future__ import annotations

import os
import pty
import subprocess

import pytest
from run_tools import command, rota

from rota.data import SUITES
from rota.methods import METHODS, option_rows

NARROW = {**os.environ, "COLUMNS": "40"}


def lines_of(*arguments):
    done = rota(*arguments, env=NARROW)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def line_with(lines, *values):
    return any(all(value in line for value in values) for line in lines)


def test_methods_in_a_pipe_are_whole():
    lines = lines_of("methods")
    for method in METHODS.values():
        assert line_with(lines, method.name, method.summary, method.source)


@pytest.mark.parametrize("name", ["exp3s", "auto", "autosem"])
def test_options_of_a_method_in_a_pipe_are_whole(name):
    lines = lines_of("methods", name)
    assert line_with(lines, METHODS[name].summary)
    for row in option_rows(METHODS[name].options):
        assert line_with(lines, row.name, row.takes, row.default, row.reason)


def test_tasks_in_a_pipe_are_whole():
    lines = lines_of("tasks")
    assert not line_with(lines, "…")
    for suite in SUITES.values():
        assert all(line_with(lines, task) for task in suite.tasks)
        for task in suite.named:
            assert line_with(lines, task.name, repr(task.form.kind), ", ".join(task.form.kind.metric_names))


def test_a_terminal_is_kept_to():
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0) as read:
        env = {**os.environ, "COLUMNS": "60", "LINES": "25", "TERM": "dumb"}  # rich believes both or none
        process = subprocess.Popen(command("methods", "exp3s"), stdout=theirs, env=env)
        os.close(theirs)
        printed = b""
        while chunk := _read(read):
            printed += chunk
    assert process.wait() == 0
    assert max(len(line.rstrip()) for line in printed.decode().splitlines()) <= 60


def _read(terminal):
    try:
        return terminal.read(65536)
    except OSError:  # Linux says so where others say that there is no more
        return b""
