"""A page is written again while its runs go on, and stays as it is when they have ended."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import time

import pytest
from log_tools import LOG_LINES, step_line, write_run

from rota.cli import _watching
from rota.cli._watching import watch
from rota.runlog import LOG, SUMMARY, LogWriter, write_json

RELOADS = '"reload":'


def test_a_page_is_written_when_a_log_has_grown_and_once_more_at_the_end(tmp_path, monkeypatch):
    run, written, naps = write_run(tmp_path, "a"), [], []

    def nap(seconds):
        naps.append(seconds)
        if len(naps) == 2:
            with (run.folder / LOG).open("a") as log:
                log.write("{}\n")
        if len(naps) == 3:
            write_json(run.folder / SUMMARY, {})

    monkeypatch.setattr(_watching.time, "sleep", nap)
    assert watch(lambda: [run.folder], written.append)
    assert written == [_watching.EVERY_S, _watching.EVERY_S, None]  # at first, when it had grown, at the end
    assert len(naps) == 3
    assert min(naps) >= _watching.EVERY_S


def test_the_page_of_a_watched_run_loads_itself_again_until_it_has_ended(rota_main, tmp_path):
    run = write_run(tmp_path, "a", average=0.5)
    code, out, _ = rota_main("report", run.folder, "--watch")
    assert code == 0
    assert "all runs have ended" in out
    assert RELOADS not in (run.folder / "report.html").read_text(encoding="utf-8").split("</main>")[1][:2000]


def test_ctrl_c_leaves_a_page_that_stays(tmp_path):
    run = write_run(tmp_path, "a", lines=LOG_LINES)
    page = run.folder / "report.html"
    command = [sys.executable, "-m", "rota", "report", str(run.folder), "--watch"]
    heard = functools.partial(signal.signal, signal.SIGINT, signal.default_int_handler)  # a background job ignores it
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, preexec_fn=heard, **pipes) as process:
        _wait(process, lambda: page.is_file())
        first = page.read_text(encoding="utf-8")
        log = LogWriter(run.folder / LOG)
        log.write(step_line(4, "right"))
        log.close()
        _wait(process, lambda: page.read_text(encoding="utf-8") != first)
        os.kill(process.pid, signal.SIGINT)
        said, _ = process.communicate()
    assert process.returncode == 0, said
    assert "no longer watched" in said
    assert "Traceback" not in said
    assert f"{RELOADS}{_watching.EVERY_S}" in first
    assert RELOADS not in page.read_text(encoding="utf-8").split("</main>")[1][:2000]


@pytest.mark.parametrize("flags", [("--format", "md"), ("-o", "-")])
def test_only_a_page_can_be_watched(rota_main, tmp_path, flags):
    code, _, errors = rota_main("report", write_run(tmp_path, "a").folder, "--watch", *flags)
    assert code == 2
    assert "--watch" in errors


def _wait(process, holds):
    while not holds():
        assert process.poll() is None, "it has ended"
        time.sleep(0.1)
