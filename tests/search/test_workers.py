"""Several workers on one study: all trials once, and none lost when a worker dies."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import optuna
import pytest
from search_worker import TASKS, score

from rota.search import search_ratio
from rota.search._workers import MOST_RETRIES, WORKER, Worker, requeue

WORKER_SCRIPT = Path(__file__).with_name("search_worker.py")


@contextlib.contextmanager
def started(storage, log, *arguments):
    command = [sys.executable, str(WORKER_SCRIPT), storage, str(log), *map(str, arguments)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment) as process:
        try:
            yield process
        finally:
            process.kill()


def answer(process):
    out, err = process.communicate()
    assert process.returncode == 0, err
    return json.loads(out)


def lines(log):
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


@pytest.fixture
def postgresql(tmp_path):
    """The URL of a server that lives as long as the test."""
    pytest.importorskip("psycopg", reason="needs psycopg: pip install 'psycopg[binary]'")
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    binary = found[-1].parent if found else Path(shutil.which("initdb") or "/nowhere/initdb").parent
    if not (binary / "initdb").exists():
        pytest.skip("needs a PostgreSQL server: apt install postgresql")
    as_user = []
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rota-pg-", dir="/tmp")))
        if os.getuid() == 0:  # initdb refuses to be run by root
            if shutil.which("runuser") is None or subprocess.run(["id", "postgres"], capture_output=True).returncode:
                pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
            as_user = ["runuser", "-u", "postgres", "--"]
            shutil.chown(folder, "postgres")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        data = folder / "data"

        def call(*command):
            done = subprocess.run([*as_user, *map(str, command)], capture_output=True, text=True, cwd=folder)
            if done.returncode:
                pytest.skip(f"PostgreSQL cannot be started: {done.stderr.strip()[-300:]}")

        call(binary / "initdb", "-D", data, "-U", "rota", "-A", "trust", "--no-sync")
        options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        call(binary / "pg_ctl", "-D", data, "-o", options, "-w", "-l", folder / "log", "start")
        stack.callback(call, binary / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
        yield f"postgresql://rota@127.0.0.1:{port}/postgres"


@pytest.fixture(
    params=["sqlite", pytest.param("journal", marks=pytest.mark.slow), pytest.param("server", marks=pytest.mark.slow)]
)
def storage(request, tmp_path):
    """Where a study may live."""
    if request.param == "server":
        return request.getfixturevalue("postgresql")
    return {"sqlite": f"sqlite:///{tmp_path}/study.db", "journal": f"{tmp_path}/study.journal"}[request.param]


def test_two_workers_finish_a_search_together(storage, tmp_path):
    logs = [tmp_path / "one.log", tmp_path / "two.log"]
    with started(storage, logs[0]) as first, started(storage, logs[1]) as second:
        one, two = answer(first), answer(second)
    assert one == two
    assert len(one) == 12
    trained = [tuple(line["ratio"]) for log in logs for line in lines(log)]
    assert len(set(trained)) == len(trained) == 12
    assert {tuple(ratio) for ratio, _, _ in one} == set(trained)
    assert {state for _, _, state in one} == {"done"}


def test_a_killed_worker_loses_one_trial_and_that_is_retried(storage, tmp_path):
    """It is killed in its fifth trial while it trains; another one finishes the search."""
    log, trained = tmp_path / "killed.log", []

    def objective(ratio, seed, report):
        trained.append(list(ratio.values()))
        return score(ratio)

    with started(storage, log, 4) as victim:
        while not any(line["hangs"] for line in lines(log)):
            assert victim.poll() is None, victim.communicate()[1]
            time.sleep(0.05)
        victim.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, victim.pid, os.WEXITED | os.WNOWAIT)  # dead, but still in the table of processes
        found = search_ratio(objective, TASKS, 12, storage)
    finished = [line["ratio"] for line in lines(log)]
    assert len(finished) == 5
    assert trained[0] == finished[4]  # retried first
    assert [list(trial.ratio.values()) for trial in found.trials] == finished[:4] + trained
    straight = search_ratio(lambda ratio, seed, report: score(ratio), TASKS, 12)
    assert [(t.ratio, t.value) for t in found.trials] == [(t.ratio, t.value) for t in straight.trials]


class KilledError(BaseException):
    """Leaves the trial as it is."""


def abandon(storage):
    """A study with one finished trial and one whose worker died on another machine. Returns the ratio of the latter."""
    begun = []

    def objective(ratio, seed, report):
        begun.append(ratio)
        if len(begun) == 2:
            raise KilledError
        return score(ratio)

    with pytest.raises(KilledError):
        search_ratio(objective, TASKS, 3, storage, heartbeat=1)
    return begun[1]


@contextlib.contextmanager
def elsewhere(storage, seen):
    """The storage's study, after its running trial was signed by another machine."""
    place = optuna.storages.get_storage(storage)
    study = optuna.load_study(study_name=None, storage=place)
    (trial,) = study.get_trials(states=(optuna.trial.TrialState.RUNNING,))
    who = {**trial.user_attrs[WORKER], "machine": "elsewhere", "seen": seen}
    place.set_trial_user_attr(trial._trial_id, WORKER, who)
    yield study
    if isinstance(place, optuna.storages._CachedStorage):
        place._backend.engine.dispose()


def test_a_lease_runs_out_when_it_is_not_renewed(tmp_path):
    file = str(tmp_path / "study.journal")
    ratio = abandon(file)
    place = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(file))
    worker = Worker(heartbeat=1, grace=4)
    with elsewhere(place, time.time()) as study:
        (trial,) = study.get_trials(states=(optuna.trial.TrialState.RUNNING,))
        assert not worker.abandoned(study, trial)
    with elsewhere(place, time.time() - 5) as study:
        (trial,) = study.get_trials(states=(optuna.trial.TrialState.RUNNING,))
        assert worker.abandoned(study, trial)
    trained = []
    found = search_ratio(lambda ratio, seed, report: trained.append(ratio) or score(ratio), TASKS, 3, file, heartbeat=1)
    assert trained[0] == ratio
    assert len(found.trials) == 3


@pytest.mark.slow
def test_a_lease_is_renewed_while_the_work_lasts(tmp_path):
    file = str(tmp_path / "study.journal")
    seen = []

    def long(ratio, seed, report):
        place = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(file))
        study = optuna.load_study(study_name=None, storage=place)
        for _ in range(2):
            seen.append(study.trials[0].user_attrs[WORKER]["seen"])
            time.sleep(1.5)
        return 0.0

    search_ratio(long, TASKS, 1, file, heartbeat=1)
    assert seen[0] < seen[1]


@pytest.mark.slow
def test_a_heartbeat_that_stops_on_another_machine_is_noticed_by_a_database(tmp_path):
    storage = f"sqlite:///{tmp_path}/study.db"
    ratio = abandon(storage)
    with elsewhere(storage, time.time()):
        pass
    trained = []
    begun = time.monotonic()
    found = search_ratio(
        lambda ratio, seed, report: trained.append(ratio) or score(ratio), TASKS, 3, storage, heartbeat=1
    )
    assert time.monotonic() - begun > 2
    assert len(found.trials) == 3
    assert ratio in trained
    assert len(trained) == 2


def test_nobody_waits_for_a_killed_holder_of_the_journal(tmp_path):
    """The lock of a killed process is let go by the operating system; a link of Optuna's that was left is ignored."""
    file = tmp_path / "study.journal"
    code = (
        "import os, signal, sys, pathlib\n"
        "from rota.search._journal_lock import journal_lock\n"
        "journal_lock(pathlib.Path(sys.argv[1])).acquire()\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, file])
    assert done.returncode == -signal.SIGKILL
    (tmp_path / "study.journal.lock").symlink_to("study.journal")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "sleep", lambda seconds: pytest.fail("it waited"))
        found = search_ratio(lambda ratio, seed, report: score(ratio), TASKS, 2, str(file))
    assert len(found.trials) == 2


def test_a_ratio_that_kills_every_worker_is_given_up(tmp_path):
    storage, begun = f"{tmp_path}/study.journal", []

    def deadly(ratio, seed, report):
        begun.append(ratio)
        if ratio == begun[0]:
            raise KilledError
        return score(ratio)

    for _ in range(MOST_RETRIES + 1):
        with pytest.raises(KilledError):
            search_ratio(deadly, TASKS, 3, storage)
    found = search_ratio(deadly, TASKS, 3, storage)
    assert begun[: MOST_RETRIES + 1] == [begun[0]] * (MOST_RETRIES + 1)
    assert sorted(trial.state for trial in found.trials) == ["done", "done", "pruned"]


def test_a_trial_whose_point_was_half_written_gets_a_new_one():
    study = optuna.create_study()
    study.set_user_attr("rota", {"tasks": ["a", "b"]})
    half = optuna.trial.create_trial(
        state=optuna.trial.TrialState.FAIL,
        params={"a": 1},
        distributions={"a": optuna.distributions.IntDistribution(1, 2)},
    )
    requeue(study, half)
    (queued,) = study.trials
    assert queued.params == {}


def test_a_worker_that_was_given_up_by_mistake_loses_its_trial_only(tmp_path):
    storage, begun = f"{tmp_path}/study.journal", []

    def slow(ratio, seed, report):
        begun.append(ratio)
        if len(begun) == 2:  # another worker believes that this one is dead
            place = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(storage))
            study = optuna.load_study(study_name=None, storage=place)
            (trial,) = study.get_trials(states=(optuna.trial.TrialState.RUNNING,))
            study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
            requeue(study, trial)
        return score(ratio)

    found = search_ratio(slow, TASKS, 4, storage)
    assert len(found.trials) == 4
    assert begun[1] == begun[2]
