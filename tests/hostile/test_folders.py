"""Data and run folders from strangers: links, pipes, devices, archives and files that unpack without end."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import zipfile
from pathlib import Path

import pytest
from run_tools import checkpoints

from rota.data import _safe_files

TASK = {"name": "mood", "kind": "classification", "text": "text", "label": "label"}
ROWS = "".join(f'{{"text": "text number {k}", "label": "{"ab"[k % 2]}"}}\n' for k in range(40))
TRAIN = ["--model", "minilm", "--steps", "1", "--device", "cpu", "-q", "--out", "out"]


def described(folder, train):
    (folder / "task.yaml").write_text(json.dumps({**TASK, "train": train}))
    return ["train", "--tasks", "task.yaml", *TRAIN]


def refused(rota_main, arguments):
    code, _, said = rota_main(*arguments)
    assert code == 2, said
    assert said.startswith("rota: ")
    assert "Traceback" not in said
    assert not Path("out").exists()
    return said


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ROTA_CACHE", str(tmp_path / "cache"))


def test_a_pipe_is_not_waited_for(tmp_path, rota_main):
    os.mkfifo(tmp_path / "rows.jsonl")
    assert "expects a file for train" in refused(rota_main, described(tmp_path, "rows.jsonl"))
    os.mkfifo(tmp_path / "pipe.yaml")
    assert "that is no file" in refused(rota_main, ["train", "--tasks", "pipe.yaml", *TRAIN])


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.csv", "rows.tsv", "rows.json", "rows.jsonl.gz", "rows.parquet"])
def test_a_link_to_a_device_is_not_read(tmp_path, rota_main, name):
    (tmp_path / name).symlink_to("/dev/zero")
    assert "expects a file for train" in refused(rota_main, described(tmp_path, name))


def test_a_link_that_leads_round_is_a_sentence(tmp_path, rota_main):
    (tmp_path / "rows.jsonl").symlink_to(tmp_path / "other.jsonl")
    (tmp_path / "other.jsonl").symlink_to(tmp_path / "rows.jsonl")
    assert "Found none at rows.jsonl" in refused(rota_main, described(tmp_path, "rows.jsonl"))


@pytest.mark.parametrize("content", [b"0" * 10_000_000, b"\n" * 10_000_000], ids=["one line", "many lines"])
def test_a_file_that_unpacks_without_end_is_refused(tmp_path, rota_main, monkeypatch, content):
    monkeypatch.setattr(_safe_files, "LARGE", 1_000_000)
    (tmp_path / "rows.jsonl.gz").write_bytes(gzip.compress(content))
    assert "times as many unpacked as packed" in refused(rota_main, described(tmp_path, "rows.jsonl.gz"))


def test_an_endless_picture_file_is_refused(tmp_path, rota_main, monkeypatch):
    monkeypatch.setattr(_safe_files, "LARGE", 1_000_000)
    for name in ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"):
        (tmp_path / f"{name}-ubyte.gz").write_bytes(gzip.compress(bytes(5_000_000)))
    said = refused(
        rota_main, ["train", "--tasks", "multimnist", "--data", tmp_path, "--steps", 1, "-q", "--out", "out"]
    )
    assert "times as many unpacked as packed" in said


def test_long_passages_and_text_that_packs_well_are_no_tricks(tmp_path):
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(gzip.compress(ROWS.encode() * 1000))
    assert b"".join(_safe_files.raw_lines(path)) == ROWS.encode() * 1000


def test_an_archive_is_never_unpacked(tmp_path, rota_main):
    with zipfile.ZipFile(tmp_path / "rows.zip", "w") as archive:
        archive.writestr("../../escaped.jsonl", ROWS)
    assert "Expected a file that ends in" in refused(rota_main, described(tmp_path, "rows.zip"))
    shutil.copy(tmp_path / "rows.zip", tmp_path / "rows.jsonl")
    refused(rota_main, described(tmp_path, "rows.jsonl"))
    shutil.copy(tmp_path / "rows.zip", tmp_path / "rows.parquet")
    refused(rota_main, described(tmp_path, "rows.parquet"))
    assert not list(tmp_path.parent.glob("**/escaped*"))


def test_names_that_stand_for_each_other_do_not_multiply(tmp_path, rota_main):
    """Nine levels of nine: a billion labels where each is written out."""
    levels = ["a: &a [x, y, x, y, x, y, x, y, x]"]
    levels += [f"{n}: &{n} [{', '.join([f'*{before}'] * 9)}]" for before, n in zip("abcdefgh", "bcdefghi", strict=True)]
    (tmp_path / "task.yaml").write_text("\n".join([*levels, "labels: *i", "name: x"]))
    said = refused(rota_main, ["train", "--tasks", "task.yaml", *TRAIN])
    assert len(said) < 10_000


@pytest.fixture
def run(rota_main):
    flags = ["--tasks", "digits", "--only", "left,right", "--checkpoint-every", 5, "--device", "cpu", "-q"]

    def dies(*_, **__):
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rota.training._loop.write_summary", dies)
        assert rota_main("train", *flags, "--steps", 10, "--out", "run")[0] == 130
    return Path("run")


@pytest.mark.parametrize("place", ["log.jsonl", "checkpoints", "best", "starts.jsonl", "writer.lock"])
def test_a_run_folder_does_not_write_through_links(tmp_path, rota_main, run, place):
    outside = tmp_path / "outside"
    if place in ("checkpoints", "best"):
        shutil.move(run / place, outside)
    else:
        outside.write_text("precious\n")
        (run / place).unlink(missing_ok=True)
    before = [path.read_bytes() for path in sorted(outside.rglob("*")) or [outside] if path.is_file()]
    (run / place).symlink_to(outside)
    code, _, said = rota_main("train", "--resume", run)
    assert (code, f"Found {place}, a link to" in said) == (2, True), said
    assert [path.read_bytes() for path in sorted(outside.rglob("*")) or [outside] if path.is_file()] == before


def test_a_checkpoint_that_is_a_link_is_not_removed_through(tmp_path, rota_main, run):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "precious").write_text("x")
    (run / "checkpoints" / "tmp-step-00000001").symlink_to(tmp_path / "home")
    code, _, said = rota_main("train", "--resume", run)
    assert (code, "a link to" in said) == (2, True)
    assert (tmp_path / "home" / "precious").exists()


def test_a_link_to_the_whole_folder_is_fine(tmp_path, rota_main, run):
    shutil.move(run, tmp_path / "disk")
    Path("run").symlink_to(tmp_path / "disk")
    assert rota_main("train", "--resume", "run", "-q")[0] == 0
    assert checkpoints(tmp_path / "disk")
