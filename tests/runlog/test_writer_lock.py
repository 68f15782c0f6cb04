"""One writer for a folder: others are told who it is; a dead one is followed, a slow one stops before it writes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from rota.errors import RotaError
from rota.runlog import LOCK, WRITER, FolderBusyError, LogWriter, create_json, only_writer, write_json
from rota.runlog import _network_disk as disk
from rota.runlog import _writer_lock as lock

HOLDER = """
import sys, time
from pathlib import Path
from rota.runlog import LogWriter, only_writer
from rota.runlog import _writer_lock as lock
lock.LEASE = {lease}
folder = Path(sys.argv[1])
with only_writer(folder):
    log = LogWriter(folder / "log.jsonl")
    (folder / "ready").touch()
    while not (folder / "go").exists():
        time.sleep(0.01)
    log.write({{"late": True}})
    try:
        log.flush()
    except Exception as error:
        print(type(error).__name__)
"""
LEASE = 1.5


@pytest.fixture
def holder(tmp_path):
    """Start another process that writes into a folder, and wait until it does."""
    begun = []

    def start(kind):
        environment = {**os.environ, "ROTA_LOCK": kind}
        folder = tmp_path / "run"
        code = HOLDER.format(lease=LEASE)
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(folder)], env=environment, stdout=subprocess.PIPE, text=True
        )
        begun.append(process)
        while not (folder / "ready").exists():
            assert process.poll() is None
            time.sleep(0.01)
        return process, folder

    yield start
    for process in begun:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture
def kind(request, monkeypatch):
    monkeypatch.setenv("ROTA_LOCK", request.param)
    monkeypatch.setattr(lock, "LEASE", LEASE)
    return request.param


both = pytest.mark.parametrize("kind", ["os", "lease"], indirect=True)


@both
def test_the_second_writer_is_told_who_the_first_one_is(holder, kind):
    process, folder = holder(kind)
    with pytest.raises(FolderBusyError, match=rf"process {process.pid} on \S+, at work since 20\d\d-"):
        only_writer(folder).__enter__()


@both
def test_the_place_of_a_killed_writer_is_free(holder, kind):
    process, folder = holder(kind)
    process.kill()
    process.wait()
    assert (folder / LOCK).exists()
    with only_writer(folder):
        write_json(folder / "a.json", {})
    assert {path.name for path in folder.iterdir()} == {"a.json", "ready", "log.jsonl"}


def test_a_stopped_writer_keeps_a_lock_of_the_operating_system(holder, monkeypatch):
    process, folder = holder("os")
    process.send_signal(signal.SIGSTOP)
    monkeypatch.setenv("ROTA_LOCK", "os")
    with pytest.raises(FolderBusyError):
        only_writer(folder).__enter__()
    process.send_signal(signal.SIGCONT)
    (folder / "go").touch()
    assert process.communicate()[0] == ""
    assert (folder / "log.jsonl").read_text() == '{"late":true}\n'


@pytest.mark.parametrize("kind", ["lease"], indirect=True)
def test_a_stopped_writer_loses_its_lease_and_writes_nothing_more(holder, kind):
    process, folder = holder(kind)
    process.send_signal(signal.SIGSTOP)
    with only_writer(folder):  # after it has seen no sign of life for a while
        (folder / "go").touch()
        process.send_signal(signal.SIGCONT)
        assert process.communicate()[0] == "FolderBusyError\n"
        assert (folder / "log.jsonl").read_bytes() == b""
        assert (folder / WRITER).exists(), "what the new one has said of itself stays"
        write_json(folder / "a.json", {})


def test_the_writer_may_enter_again_but_not_another_thread(tmp_path):
    refused = []

    def enter():
        try:
            with only_writer(tmp_path):
                pass
        except FolderBusyError:
            refused.append(True)

    with only_writer(tmp_path):
        with only_writer(tmp_path):
            assert (tmp_path / WRITER).exists()
        assert (tmp_path / WRITER).exists()
        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
    assert refused == [True]
    assert list(tmp_path.iterdir()) == []


def test_folders_that_stay_empty_are_taken_away(tmp_path):
    with only_writer(tmp_path / "a" / "b"):
        pass
    assert list(tmp_path.iterdir()) == []
    with only_writer(tmp_path / "a" / "b"):
        LogWriter(tmp_path / "a" / "b" / "log.jsonl").close()
    assert (tmp_path / "a" / "b" / "log.jsonl").exists()


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(RotaError, match=r"that can be written at .*file/run\. Found: Not a directory"):
        only_writer(tmp_path / "file" / "run").__enter__()


def test_a_new_file_never_replaces_another_one(tmp_path):
    create_json(tmp_path / "a.json", {"a": 1})
    with pytest.raises(FileExistsError):
        create_json(tmp_path / "a.json", {"a": 2})
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
    assert '"a": 1' in (tmp_path / "a.json").read_text()


def test_network_disks_are_known_by_what_the_kernel_says(tmp_path, monkeypatch):
    mounts = tmp_path / "mounts"
    mounts.write_text("/dev/a / ext4 rw 0 0\nhost:/x /mnt nfs4 rw 0 0\nb /mnt/my\\040disk ext4 rw 0 0\n")
    kinds = [disk._file_system(place, mounts) for place in ("/home", "/mnt/runs", "/mnt/my disk/runs", "/mntx")]
    assert kinds == ["ext4", "nfs4", "ext4", "ext4"]
    assert disk._file_system(tmp_path, tmp_path / "none") == ""
    monkeypatch.setenv("ROTA_LOCK", "maybe")
    with pytest.raises(RotaError, match=r"\$ROTA_LOCK expects auto, os or lease. Found 'maybe'."):
        disk.is_shared(tmp_path)
