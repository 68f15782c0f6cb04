"""A run that goes on in another number of processes: the same decisions and rows; losses differ by rounding."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from fit_tools import QUICK, crash_at, make_tasks, train
from run_tools import assert_same_run

from rota.errors import RotaError
from rota.runlog import Run
from rota.settings import Settings
from rota.training._elastic import divided

SCRIPT = Path(__file__).with_name("elastic.py")
CHANGES = ("1:10", "2:20", "3:30", "1:")
GOING_ON = {"resume": True, "elastic": True, "dropout": 0}
LOSSES = 1e-6
"""How far losses may be from those of the run that never changed, in single precision."""


def elastic(folder, policy, dropout, *parts):
    command = [sys.executable, SCRIPT, folder, policy, dropout, *parts]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, env=environment)


def decisions(folder):
    return [(line["task"], line["probability"], line["ids"]) for line in Run(folder).lines("step")]


def losses(folder):
    return [line["loss"] for line in Run(folder).lines("step")]


def test_a_static_policy_decides_the_same_in_one_two_three_and_one_processes(tmp_path):
    for name, parts in (("whole", ["1:"]), ("moved", CHANGES)):
        done = elastic(tmp_path / name, "static", 0, *parts)
        assert done.returncode == 0, done.stderr
    assert decisions(tmp_path / "moved") == decisions(tmp_path / "whole")
    assert losses(tmp_path / "moved") == pytest.approx(losses(tmp_path / "whole"), abs=LOSSES)
    assert losses(tmp_path / "moved") != losses(tmp_path / "whole")  # otherwise the tolerance says nothing
    said, names = Run(tmp_path / "moved").lines("resumed"), ("step", "processes", "batch_size", "accumulate")
    assert [tuple(line[name] for name in names) for line in said] == [(10, 2, 12, 1), (20, 3, 8, 1), (30, 1, 24, 1)]
    assert not Run(tmp_path / "whole").lines("resumed")
    assert Run(tmp_path / "moved").info["processes"] == 1


def test_a_learning_policy_decides_the_same_until_rounding_decides(tmp_path):
    for name, parts in (("whole", ["1:"]), ("moved", CHANGES)):
        assert elastic(tmp_path / name, "learning", 0, *parts).returncode == 0
    ours, theirs = (Run(tmp_path / name).lines("step") for name in ("moved", "whole"))
    assert [line["ids"] for line in ours] == [line["ids"] for line in theirs]
    for line, twin in zip(ours, theirs, strict=True):
        assert line["probability"] == pytest.approx(twin["probability"], abs=1e-4)


def test_dropout_in_other_processes_is_the_same_each_time(tmp_path):
    """Its generators come from the seed, the step and the rank, so that the same changes give the same run."""
    for name in ("one", "again"):
        assert elastic(tmp_path / name, "static", 0.2, "1:10", "2:").returncode == 0
    assert_same_run(tmp_path / "one", tmp_path / "again")
    # Killed once more in two processes, which need no permission any more.
    assert elastic(tmp_path / "cut", "static", 0.2, "1:10", "2:20", "2:").returncode == 0
    assert_same_run(tmp_path / "one", tmp_path / "cut")


def test_a_number_of_processes_that_does_not_divide_the_batch_is_refused(tmp_path):
    done = elastic(tmp_path / "r", "static", 0, "1:10", "5:")
    assert done.returncode == 1
    assert "divides the 24 rows of its updates: 1, 2, 3, 4, 6, 8, 12, 24. Found 5." in done.stderr


@pytest.mark.parametrize(
    ("batch_size", "accumulate", "own", "then", "now", "expected"),
    [
        (24, 1, None, 1, 3, (8, 1)),
        (16, 1, None, 2, 1, (16, 2)),  # forward passes of the same size, whose memory is known to suffice
        (16, 3, None, 2, 3, (16, 2)),
        (8, 1, None, 3, 2, (6, 2)),
        (8, 1, 12, 3, 2, (6, 2)),  # 24 rows of one task and 36 of another, by 12 in two processes
        (8, 1, None, 2, 2, (8, 1)),
    ],
)
def test_rows_of_an_update_are_divided_anew(batch_size, accumulate, own, then, now, expected):
    tasks = make_tasks()
    tasks[0] = type(tasks[0])(tasks[0].name, tasks[0].kind, tasks[0].splits, batch_size=own)
    found = divided(Settings(batch_size=batch_size, accumulate=accumulate), tasks, then, now)
    assert (found.batch_size, found.accumulate) == expected
    if then != now:
        assert found.batch_size * found.accumulate * now == batch_size * accumulate * then


def test_whole_batches_stay_whole():
    with pytest.raises(RotaError, match=r"clip_each=True\) expects whole batches"):
        divided(Settings(batch_size=8, clip_each=True), [], then=2, now=1)


def test_permission_changes_nothing_where_nothing_has_changed(tmp_path):
    train(tmp_path / "whole")
    crash_at(9, tmp_path / "cut")
    train(tmp_path / "cut", resume=True, elastic=True)
    assert_same_run(tmp_path / "whole", tmp_path / "cut")


def test_a_new_run_has_nothing_to_be_elastic_about(tmp_path):
    with pytest.raises(RotaError, match="expects resume=True beside it"):
        train(tmp_path / "r", elastic=True)


def test_the_command_line_goes_on_elsewhere_with_the_flags_of_the_hardware_alone(rota_main, tmp_path):
    new = ["--tasks", "left", "--rows", "left=40", "--steps", 2, "-q", "--out", tmp_path / "r"]
    assert "--elastic expects --resume FOLDER" in rota_main("train", *new, "--elastic")[2]
    assert rota_main("train", *new)[0] == 0
    resume = ["train", "--resume", tmp_path / "r", "-q", "--device", "cpu"]
    assert "Found --device" in rota_main(*resume)[2]
    assert "Found --steps" in rota_main(*resume, "--elastic", "--steps", 3)[2]
    (tmp_path / "r" / "summary.json").unlink()
    assert rota_main(*resume, "--elastic")[::2] == (0, "")
    assert not Run(tmp_path / "r").lines("resumed")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_run_moves_to_a_gpu_and_back(tmp_path):
    cpu = QUICK.model_copy(update={"device": "cpu"})
    train(tmp_path / "whole", settings=cpu, dropout=0)
    crash_at(10, tmp_path / "moved", settings=cpu, dropout=0)
    with pytest.raises(RotaError, match=r"device \(was 'cpu', now 'cuda'\).*elastic=True"):
        train(tmp_path / "moved", resume=True, dropout=0)
    crash_at(30, tmp_path / "moved", settings=QUICK.model_copy(update={"engine": "eager"}), **GOING_ON)
    train(tmp_path / "moved", settings=cpu, **GOING_ON)
    assert decisions(tmp_path / "moved") == decisions(tmp_path / "whole")
    assert losses(tmp_path / "moved") == pytest.approx(losses(tmp_path / "whole"), abs=1e-3)
    assert [line["device"] for line in Run(tmp_path / "moved").lines("resumed")] == ["cuda", "cpu"]
