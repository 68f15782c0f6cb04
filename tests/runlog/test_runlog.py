"""Logs survive crashes and full disks; readers say what is wrong."""

from __future__ import annotations

import errno
import json
import os

import pytest

from rota.errors import RotaError
from rota.runlog import LOG, RUN, SCHEMA, SUMMARY, Ledger, LogWriter, Run, find_runs, read_lines, write_json


def make_run(folder, **info):
    folder.mkdir(parents=True)
    write_json(folder / RUN, {"schema": SCHEMA, "id": "x", "plan": {}, "tasks": {}, **info})
    return folder


def test_lines_wait_in_memory_until_flushed(tmp_path):
    log = LogWriter(tmp_path / LOG)
    log.write({"kind": "note", "step": 0})
    assert (tmp_path / LOG).read_bytes() == b""
    assert log.waiting == 1
    size = log.flush()
    assert (tmp_path / LOG).read_bytes() == b'{"kind":"note","step":0}\n'
    assert size == 25
    assert log.waiting == 0


@pytest.mark.parametrize("cut", range(1, 25))
def test_a_torn_last_line_is_left_out_wherever_it_was_torn(tmp_path, cut):
    path = tmp_path / LOG
    path.write_bytes(b'{"kind":"note","step":0}\n' + b'{"kind":"note","step":1}\n'[:cut])
    steps = [line["step"] for line in read_lines(path)]
    assert steps == ([0, 1] if cut == 24 else [0])  # without its line end it is whole


def test_a_broken_line_in_the_middle_is_an_error_that_names_it(tmp_path):
    path = tmp_path / LOG
    for wrong in (b"not json", b"[1]", b'{"step":1}'):
        path.write_bytes(b'{"kind":"note","step":0}\n' + wrong + b'\n{"kind":"note","step":1}\n')
        with pytest.raises(RotaError, match="line 2"):
            list(read_lines(path))


def test_a_log_is_cut_back_to_its_checkpoint(tmp_path):
    path = tmp_path / LOG
    path.write_bytes(b'{"a":1}\n{"a":2}\n{"a":')
    log = LogWriter(path, offset=8)
    log.write({"a": 3})
    log.close()
    assert path.read_bytes() == b'{"a":1}\n{"a":3}\n'


def test_a_log_shorter_than_its_checkpoint_says_is_refused(tmp_path):
    (tmp_path / LOG).write_bytes(b"{}\n")
    with pytest.raises(RotaError, match="expects at least 100 bytes"):
        LogWriter(tmp_path / LOG, offset=100)


def test_a_flush_that_fails_half_way_loses_nothing(tmp_path, monkeypatch):
    log = LogWriter(tmp_path / LOG)
    log.write({"a": 1})
    log.flush()
    log.write({"a": 2})
    log.write({"a": 3})
    real = os.pwrite

    def full(file, data, offset):
        if len(data) > 4:
            return real(file, data[:4], offset)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", lambda f, d, o: full(f, d, o) if o < 12 else full(f, b"", o))
    with pytest.raises(OSError, match="No space"):
        log.flush()
    assert (tmp_path / LOG).read_bytes() == b'{"a":1}\n'
    monkeypatch.undo()
    log.flush()
    assert (tmp_path / LOG).read_bytes() == b'{"a":1}\n{"a":2}\n{"a":3}\n'


def test_numbers_that_are_none_are_refused_not_written(tmp_path):
    with pytest.raises(ValueError, match="Out of range"):
        LogWriter(tmp_path / LOG).write({"loss": float("nan")})


def test_json_files_appear_whole_or_not_at_all(tmp_path):
    path = tmp_path / "summary.json"
    write_json(path, {"a": 1})
    with pytest.raises(ValueError, match="Out of range"):
        write_json(path, {"a": float("inf")})
    assert json.loads(path.read_text()) == {"a": 1}


def test_runs_are_found_and_inner_runs_belong_to_their_outer_one(tmp_path):
    make_run(tmp_path / "b")
    make_run(tmp_path / "a")
    make_run(tmp_path / "a" / "runs" / "inner")
    assert [run.folder.name for run in find_runs([tmp_path])] == ["a", "b"]
    assert [run.folder.name for run in find_runs([tmp_path / "a"])] == ["a"]


def test_a_run_reads_its_parts_and_says_what_is_missing(tmp_path):
    run = Run(make_run(tmp_path / "r"))
    assert run.lines() == []
    assert not run.finished
    with pytest.raises(RotaError, match="is not finished"):
        _ = run.summary
    (tmp_path / "r" / LOG).write_text('{"kind":"note","step":0}\n{"kind":"eval","step":1,"average":0.5,"tasks":{}}\n')
    assert [line["step"] for line in run.lines("eval")] == [1]
    best = {"step": 1, "dev": {"average": 0.5, "tasks": {}}}
    write_json(tmp_path / "r" / SUMMARY, {"steps": 1, "best": best, "updates": {}, "cost": {}})
    with pytest.raises(RotaError, match=r"summary.json: 1 wrong field: 'seconds' is missing\."):
        _ = run.summary
    whole = {"steps": 1, "best": best, "updates": {}, "cost": {}, "seconds": 1.0}
    write_json(tmp_path / "r" / SUMMARY, whole)
    assert run.summary == whole


def test_wrong_places_are_refused_with_a_sentence(tmp_path):
    with pytest.raises(RotaError, match="Found nothing there"):
        find_runs([tmp_path / "nowhere"])
    with pytest.raises(RotaError, match="Found none"):
        find_runs([tmp_path])
    with pytest.raises(RotaError, match="Expected a run folder"):
        Run(tmp_path)
    with pytest.raises(RotaError, match=r"expected schema 1\. Found 99"):
        _ = Run(make_run(tmp_path / "new", schema=99)).info
    for number, content in enumerate(("[]", "{}", '{"schema": 1, "plan": null}')):
        folder = make_run(tmp_path / f"odd{number}")
        (folder / RUN).write_text(content)
        with pytest.raises(RotaError, match=r"is missing|expect"):
            _ = Run(folder).info
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / RUN).write_text("{")
    with pytest.raises(RotaError, match="expected JSON"):
        _ = Run(tmp_path / "bad").info


def test_the_ledger_adds_up_and_survives_json():
    one = Ledger(updates=10, train=320, scored=64, evaluated=1000, reported=70)
    both = one + Ledger(updates=5, train=160, dev_trained=10)
    assert both == Ledger(updates=15, train=480, scored=64, evaluated=1000, reported=70, dev_trained=10, runs=2)
    assert both.forward_equivalents == 3 * (480 + 10) + 64
    assert both.all_forwards == both.forward_equivalents + 1070
    assert Ledger.from_dict(json.loads(json.dumps(both.as_dict()))) == both
