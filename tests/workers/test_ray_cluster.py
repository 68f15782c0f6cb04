"""The same comparison on a Ray cluster of two nodes and on this machine."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from run_tools import command

from rota.runlog import LOG, SUMMARY
from rota.workers import attempts_at

pytest.importorskip("ray", reason="Ray is not installed")

WIDE = {**os.environ, "COLUMNS": "200"}
METHODS, PLAIN = "uniform,exp3s", "proportional,union,temperature"


class TwoNodes:
    def __init__(self) -> None:
        program = Path(__file__).parent / "cluster_of_two.py"
        self.process = subprocess.Popen(
            [sys.executable, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        told = json.loads(self._line())
        self.address, self.port, self.second = told["address"], told["port"], told["second"]

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def say(self, word: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()

    def kill_second(self) -> None:
        self.say("kill")
        assert self._line() == "killed\n"

    def environment(self) -> dict[str, str]:
        return {**WIDE, "RAY_ADDRESS": self.address}

    def end(self) -> None:
        self.process.communicate("end\n")
        assert self.process.returncode == 0


@pytest.fixture
def two_nodes():
    nodes = TwoNodes()
    try:
        yield nodes
        nodes.end()
    finally:
        if nodes.process.poll() is None:
            os.killpg(nodes.process.pid, signal.SIGKILL)
            nodes.process.communicate()


def compared(out, seeds, *more, steps=60):
    flags = ["--methods", METHODS, "--without", PLAIN, "--tasks", "digits", "--seeds", seeds, "--steps", steps]
    return command("compare", *flags, "--device", "cpu", "--out", out, *more)


def logs(folder):
    return {path.parent.name: path.read_bytes() for path in folder.glob(f"*/{LOG}")}


def tables(said):
    """What is printed, without seconds and places."""
    rows = [line for line in said.splitlines() if re.match(r" (uniform|exp3s) +\d", line)]
    return [re.sub(r" +\d+ *$", "", row) for row in rows]


@pytest.mark.slow
def test_results_are_sent_where_no_folder_is_shared(two_nodes, tmp_path):
    flags = ("--on", f"ray://127.0.0.1:{two_nodes.port},results=sent")
    done = subprocess.run(compared(tmp_path / "ray", "0", *flags), capture_output=True, text=True, env=WIDE)
    assert done.returncode == 0, done.stderr
    here = subprocess.run(compared(tmp_path / "here", "0"), capture_output=True, text=True, check=True, env=WIDE)
    assert len(logs(tmp_path / "here")) == 2
    assert logs(tmp_path / "ray") == logs(tmp_path / "here")
    assert len(tables(here.stdout)) == 4
    assert tables(done.stdout) == tables(here.stdout)


@pytest.mark.slow
def test_a_cluster_that_is_too_small_or_sees_another_disk_is_refused(two_nodes, tmp_path):
    for place, jobs, sentence in [
        ("ray", "3", "--on ray expects room for 3 workers of 1 CPUs and 0 GPUs. Found room for 2 on 2 nodes."),
        ("ray:gpus=1", "1", "expects room for 1 worker of 1 CPUs and 1 GPUs. Found room for 0 on 2 nodes."),
    ]:
        flags = ("--on", place, "--jobs", jobs)
        done = subprocess.run(
            compared(tmp_path / "ray", "0", *flags), env=two_nodes.environment(), capture_output=True, text=True
        )
        assert done.returncode == 2
        assert sentence in done.stderr
        assert not (tmp_path / "ray").exists()


@pytest.mark.slow
def test_workers_that_cannot_see_the_folder_are_refused(two_nodes, tmp_path):
    # A disk of the caller's own: a mount that only its name space has.
    own = ["unshare", "--mount", "--propagation", "private", "sh", "-c"]
    out = tmp_path / "own"
    out.mkdir()
    if subprocess.run([*own, f"mount -t tmpfs none {out}"], capture_output=True).returncode:
        pytest.skip("mounting a disk is not allowed here")
    words = " ".join(map(str, compared(out / "ray", "0", "--on", "ray")))
    done = subprocess.run(
        [*own, f"mount -t tmpfs none {out} && {words}"], env=two_nodes.environment(), capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "--on ray expects a folder that all nodes share. Found that" in done.stderr
    assert "Choose another --out, or have results sent: --on ray:results=sent." in done.stderr


@pytest.mark.slow
def test_a_search_is_shared_by_workers_and_autosem_trains_the_same_runs(two_nodes, tmp_path):
    flags = ["--target", "left", "--tasks", "digits", "--only", "left,noise", "--steps", 20, "--device", "cpu"]
    flags += ["--eval-every", 10, "--trials", 4]
    for verb, more in (("search", ["--sampler", "grid"]), ("autosem", ["--rounds", 4, "--option", "sampler=grid"])):
        said = {}
        for name, where in (("ray", ["--on", "ray", "--jobs", 2]), ("here", [])):
            done = subprocess.run(
                command(verb, *flags, *more, *where, "--out", tmp_path / verb / name),
                env=two_nodes.environment(),
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, done.stderr
            said[name] = {
                str(path.relative_to(tmp_path / verb / name)): path.read_bytes()
                for path in (tmp_path / verb / name).rglob(LOG)
            }
        assert len(said["here"]) >= 4
        assert said["ray"] == said["here"]


@pytest.mark.slow
def test_a_node_that_dies_takes_one_attempt_with_it_and_no_run(two_nodes, tmp_path):
    out = tmp_path / "ray"
    process = subprocess.Popen(
        compared(out, ",".join(map(str, range(12))), "--on", "ray", steps=400),
        env=two_nodes.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    lost = None
    while lost is None:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)
        lost = next((name for name in begun_on(out, two_nodes.second) if (out / name / LOG).is_file()), None)
    two_nodes.kill_second()
    assert not (out / lost / SUMMARY).exists() or attempts_at(out / lost).starts == 2
    before = {path.parent.name: path.stat().st_mtime_ns for path in out.glob(f"*/{SUMMARY}")}
    said, errors = process.communicate()
    assert process.returncode == 0, errors

    here = subprocess.run(
        compared(tmp_path / "here", ",".join(map(str, range(12))), steps=400),
        capture_output=True,
        text=True,
        check=True,
    )
    assert len(logs(tmp_path / "here")) == 24
    assert logs(out) == logs(tmp_path / "here")
    assert len(tables(here.stdout)) == 4
    assert tables(said) == tables(here.stdout)
    attempts = {name: attempts_at(out / name) for name in logs(out)}
    assert attempts.pop(lost) == (2, 1)
    assert set(attempts.values()) == {(1, 1)}
    assert all((out / name / SUMMARY).stat().st_mtime_ns == at for name, at in before.items())


def begun_on(out, node):
    """The latest run of each file of marks that was begun there and has not ended."""
    for file in (out / "attempts").glob("*.jsonl"):
        marks = [json.loads(line) for line in file.read_text().splitlines() if line.endswith("}")]
        if marks and marks[-1]["mark"] == "start" and marks[-1]["where"].endswith(node):
            yield file.stem
