"""A model that is sharded over two processes is trained, saved and read as one that each of them has."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import safetensors.torch
import torch
from accelerate import Accelerator, FullyShardedDataParallelPlugin
from accelerate.state import AcceleratorState
from torch import nn

from rota.draws import Shard
from rota.engine._sharding import shard_model
from rota.errors import RotaError
from rota.runlog import LOG, Run

SCRIPT = Path(__file__).with_name("sharded.py")
ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}


def job(name, world, *arguments, **environment):
    return {"name": name, "world": world, "arguments": list(map(str, arguments)), "environment": environment}


def do(folder, *jobs):
    """Do them one after the other; how their processes ended."""
    command = [sys.executable, SCRIPT, folder, json.dumps(jobs)]
    done = subprocess.run(command, capture_output=True, text=True, env=ONE_THREAD)
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "ends.json").read_text())


def told(folder, name):
    """What the first process has said."""
    return (folder / f"{name}-rank0.txt").read_text()


def found(folder, name, world):
    """What each process ended with."""
    missing = told(folder, name)
    files = [folder / f"{name}-rank{rank}.json" for rank in range(world)]
    assert all(file.is_file() for file in files), missing
    return [json.loads(file.read_text()) for file in files]


def largest_difference(one, other):
    assert one["weights"].keys() == other["weights"].keys()
    return max(
        (torch.tensor(one["weights"][name]) - torch.tensor(other["weights"][name])).abs().max().item()
        for name in one["weights"]
    )


def steps(folder):
    return Run(folder).lines("step")


def evaluations(folder):
    return [(line["loss"], line["average"]) for line in Run(folder).lines("eval")]


@pytest.mark.parametrize(("policy", "stream"), [("static", "task"), ("learning", "task"), ("static", "joint")])
def test_two_processes_with_parts_are_one_with_the_whole_model(tmp_path, policy, stream):
    """In double precision, so that any difference but rounding would show; with accumulation, and passes that end with
    an odd number of rows."""
    flags = [policy, "plain", "--accumulate", 4, "--stream", stream], [policy, "shard", "--accumulate", 2]
    do(tmp_path, job("one", 1, *flags[0]), job("two", 2, *flags[1], "--stream", stream))
    [alone], parts = found(tmp_path, "one", 1), found(tmp_path, "two", 2)
    assert parts[0] == parts[1]  # both heard the same, decided the same, and end with the same weights
    assert parts[0]["sharded"] > 20
    assert alone["sharded"] == 0
    assert parts[0]["decisions"] == alone["decisions"]
    assert largest_difference(alone, parts[0]) < 1e-9
    for line, twin in zip(steps(tmp_path / "one"), steps(tmp_path / "two"), strict=True):
        if stream == "task":
            assert (line["task"], line["rows"]) == (twin["task"], twin["rows"])
            assert line["probability"] == pytest.approx(twin["probability"], abs=1e-9)
            assert line["value"] == pytest.approx(twin["value"], abs=1e-9)
            assert line["loss"] == pytest.approx(twin["loss"], abs=1e-9)
        else:
            for task, own in line["tasks"].items():
                assert own["loss"] == pytest.approx(twin["tasks"][task]["loss"], abs=1e-9)
    for ours, theirs in zip(evaluations(tmp_path / "one"), evaluations(tmp_path / "two"), strict=True):
        assert ours == pytest.approx(theirs, abs=1e-9)


def test_killed_and_resumed_is_never_stopped(tmp_path):
    """With dropout; killed behind the checkpoint of step 20 and once more behind that of step 30."""
    flags = ["learning", "shard", "--dropout", 0.2]
    kills = [job("cut", 2, *flags, "--stop", 23), job("cut", 2, *flags, "--stop", 31)]
    ends = do(tmp_path, job("whole", 2, *flags), *kills, job("cut", 2, *flags))
    assert ends == [[0, 0], [3, 3], [3, 3], [0, 0]], told(tmp_path, "cut")
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    assert found(tmp_path, "cut", 2)[0]["weights"] == found(tmp_path, "whole", 2)[0]["weights"]  # bit for bit
    assert (cut / LOG).read_bytes() == (whole / LOG).read_bytes()
    files = sorted(path.relative_to(whole) for path in whole.rglob("*.safetensors"))
    assert files == sorted(path.relative_to(cut) for path in cut.rglob("*.safetensors"))
    assert {path.parts[0] for path in files} == {"best", "checkpoints"}
    for path in files:  # the best model, and the parts of the model and its optimizer in each process
        ours, theirs = (safetensors.torch.load_file(folder / path) for folder in (cut, whole))
        assert ours.keys() == theirs.keys()
        assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert not [path for path in tmp_path.rglob("*") if path.name == ".metadata" or path.name.startswith("tmp-")]


def test_an_optimizer_of_ones_own_goes_on_in_another_number_of_processes(tmp_path):
    """Parts fit any number: written by two, read by three. An update keeps its 24 rows."""
    flags = ["static", "optimizer", "--batch-size", 12]
    cut = [job("cut", 2, *flags, "--stop", 23), job("cut", 3, *flags), job("cut", 3, *flags, "--elastic")]
    assert do(tmp_path, job("whole", 2, *flags), *cut) == [[0, 0], [3, 3], [2, 2, 2], [0, 0, 0]], told(tmp_path, "cut")
    assert "processes (was 2, now 3)" in told(tmp_path, "cut")
    whole, moved = found(tmp_path, "whole", 2)[0], found(tmp_path, "cut", 3)[0]
    assert moved["decisions"] == whole["decisions"][20:]
    assert largest_difference(whole, moved) < 1e-9
    assert moved["weights"] != whole["weights"]  # otherwise the tolerance says nothing


def test_a_configuration_of_accelerate_is_honoured(tmp_path):
    """From the environment, as `accelerate launch` sets it, and with an accelerator of one's own."""
    environment = {
        "ACCELERATE_USE_FSDP": "true",
        "FSDP_VERSION": "2",
        "FSDP_AUTO_WRAP_POLICY": "TRANSFORMER_BASED_WRAP",
    }
    told_so = job("environment", 2, "static", "environment", **environment)
    do(tmp_path, job("said", 2, "static", "shard"), told_so, job("accelerator", 2, "static", "accelerator"))
    for how in ("environment", "accelerator"):
        assert found(tmp_path, how, 2) == found(tmp_path, "said", 2)
        assert Run(tmp_path / how).plan["shard"] is True
        assert (tmp_path / how / LOG).read_bytes() == (tmp_path / "said" / LOG).read_bytes()


def test_the_best_model_is_an_ordinary_file(tmp_path, tiny_bert):
    """The command line trains an encoder in two processes; one alone evaluates, predicts and exports."""
    for name, pair in (("stars", ["cat", "dog"]), ("colours", ["red", "blue"])):
        rows = [f"the {pair[k % 2]} sat on the {pair[k % 3 % 2]} mat,{k % 2}" for k in range(40)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["text,label", *rows]) + "\n")
        task = {"name": name, "kind": "classification", "train": f"{name}.csv", "dev": f"{name}.csv"}
        (tmp_path / f"{name}.yaml").write_text(json.dumps(task))
    files = ",".join(str(tmp_path / f"{name}.yaml") for name in ("stars", "colours"))
    flags = [
        "rota",
        "train",
        "--tasks",
        files,
        "--model",
        tiny_bert,
        "--method",
        "exp3s",
        "--steps",
        20,
        "--dropout",
        0,
    ]
    flags += ["--optimizer", "sgd", "--lr", 0.05, "--device", "cpu", "--eval-every", 10, "--out"]
    jobs = [
        job("two", 2, *flags, tmp_path / "two", "--batch-size", 4, "--shard"),
        job("one", 1, *flags, tmp_path / "one", "--batch-size", 8),
        job("evaluate", 1, "rota", "evaluate", tmp_path / "two", "--json"),
        job("predict", 1, "rota", "predict", tmp_path / "two", "--task", "stars", "--input", tmp_path / "stars.csv"),
        job("export", 1, "rota", "export", tmp_path / "two", "--out", tmp_path / "exported"),
    ]
    jobs = [{**own, "environment": {"ROTA_CACHE": str(tmp_path / "cache")}} for own in jobs]
    ends = do(tmp_path, *jobs)
    assert ends == [[0, 0], [0], [0], [0], [0]], "".join(told(tmp_path, own["name"]) for own in jobs)
    assert "model: sharded over 2 processes; 4 groups of layers" in told(tmp_path, "two")  # 1 + 2 layers, and the rest
    [best] = (tmp_path / "two" / "best").iterdir()
    twin = safetensors.torch.load_file(tmp_path / "one" / "best" / best.name / "model.safetensors")
    own = safetensors.torch.load_file(best / "model.safetensors")
    assert own.keys() == twin.keys()
    for name, tensor in own.items():
        torch.testing.assert_close(tensor, twin[name], atol=1e-5, rtol=0)
    scores = Run(tmp_path / "two").summary["best"]["dev"]
    assert json.loads(told(tmp_path, "evaluate"))["average"] == pytest.approx(scores["average"], abs=1e-9)


def test_a_part_that_is_damaged_is_named(tmp_path):
    assert do(tmp_path, job("cut", 2, "static", "shard", "--stop", 23)) == [[3, 3]]
    shutil.copytree(tmp_path / "cut", tmp_path / "other")
    part = sorted((tmp_path / "cut" / "checkpoints" / "step-00000020" / "optimizer").iterdir())[-1]
    part.write_bytes(part.read_bytes()[:-8] + b"\xff" * 8)
    assert do(tmp_path, job("cut", 2, "static", "shard"), job("other", 2, "static", "plain")) == [[2, 2], [2, 2]]
    for rank in range(2):
        said = (tmp_path / f"cut-rank{rank}.txt").read_text()
        assert f"Found optimizer/{part.name} damaged. The one before is good" in said
    assert "shard (was True, now False)" in told(tmp_path, "other")


TRAIN = ["train", "--tasks", "left,right", "--steps", 4, "-q", "--device", "cpu"]
ALONE = {
    "deepspeed": ({"ACCELERATE_USE_DEEPSPEED": "true"}, [], "Found a configuration of DeepSpeed"),
    "megatron": ({"ACCELERATE_USE_MEGATRON_LM": "true"}, [], "Found a configuration of Megatron-LM"),
    "first version": ({"ACCELERATE_USE_FSDP": "true", "FSDP_VERSION": "1"}, [], "Found fsdp_version=1"),
    "offload": ({"FSDP_OFFLOAD_PARAMS": "true"}, ["--shard"], "Found fsdp_offload_params"),
    "one process": ({}, ["--shard"], "sharded over several processes. Found one"),
    "graph": ({}, ["--shard", "--engine", "graph"], "Found --engine graph"),
    "momenta": ({}, ["--shard", "--optimizer-per-task"], "Found --optimizer-per-task"),
}


@pytest.mark.skipif(torch.accelerator.is_available(), reason="says first that there is a GPU")
@pytest.mark.parametrize("case", ALONE)
def test_a_configuration_that_is_not_honoured_is_refused_by_name(rota_main, tmp_path, monkeypatch, case):
    environment, flags, sentence = ALONE[case]
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    code, _, errors = rota_main(*TRAIN, *flags, "--out", tmp_path / "r")
    assert (code, sentence in " ".join(errors.split())) == (2, True), errors
    assert not (tmp_path / "r").exists()


SHARDED = {
    "pool": (["--method", "mt-uncertainty"], "Found PoolStream"),
    "rounds": (["--method", "alphavil", "--target", "left"], "Found RoundStream"),
    "survey": (["--method", "active", "--option", "scope=head"], "expects scope 'all'"),
}


def test_methods_that_need_a_whole_model_are_refused_by_name(tmp_path):
    flags = [*TRAIN, "--shard", "--out"]
    ends = do(tmp_path, *(job(name, 2, "rota", *flags, tmp_path / name, *own) for name, (own, _) in SHARDED.items()))
    for name, (_, sentence) in SHARDED.items():
        assert sentence in told(tmp_path, name)
        assert "Traceback" not in told(tmp_path, name)
        assert not (tmp_path / name).exists()
    assert ends == [[2, 2]] * 3


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)), r"Found BatchNorm1d, whose statistics"),
        (lambda: nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.1)), r"Found dropout of 0\.1"),
    ],
)
def test_models_that_would_be_trained_otherwise_are_refused(make, sentence):
    accelerator = Accelerator(cpu=True)
    plugin = FullyShardedDataParallelPlugin(fsdp_version=2, activation_checkpointing=True)
    accelerator.state.fsdp_plugin = plugin
    model = make()
    try:
        with pytest.raises(RotaError, match=sentence):
            shard_model(model, torch.optim.SGD(model.parameters(), 0.1), accelerator)
    finally:
        AcceleratorState._reset_state(reset_partial_state=True)


def test_processes_that_work_together_do_equally_many_passes():
    """Each piece of work counts once, whatever their number."""
    for count in range(1, 12):
        for world in range(1, 6):
            each = [list(Shard(rank, world, together=True).passes(count)) for rank in range(world)]
            assert len({len(own) for own in each}) == 1
            assert sorted(number for own in each for number, counts in own if counts) == list(range(count))
            apart = [number for rank in range(world) for number, _ in Shard(rank, world).passes(count)]
            assert sorted(apart) == list(range(count))
