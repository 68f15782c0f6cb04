"""`rota compare FILE --full --dry-run` without the data and the encoders: what is missing, and a rough cost."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
import yaml
from test_adapt import write_task

from rota.data import Reading, task_names, tasks_elsewhere
from rota.plans import make_plan
from rota.pretrained import is_here, layers_and_width
from rota.runs import missing_of, rough_cost

EXPERIMENTS = sorted((Path(__file__).parents[2] / "experiments").glob("*.yaml"))


@pytest.fixture(autouse=True)
def nothing_here(tmp_path, monkeypatch):
    """A machine without data, without a hub, and without what was fetched from it before."""
    import huggingface_hub.constants

    for name in ("HF_HOME", "HF_DATASETS_CACHE", "HF_HUB_CACHE", "ROTA_DATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub" / "hub"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()


@pytest.mark.parametrize("file", EXPERIMENTS, ids=lambda path: path.stem)
def test_every_experiment_says_what_it_needs_and_costs(file, rota_main, tmp_path):
    code, out, err = rota_main("compare", file, "--full", "--dry-run", "--data", tmp_path / "data")
    assert code == 0, err
    assert "Traceback" not in out + err
    told = " ".join(out.split())
    content = yaml.safe_load(file.read_text())
    tasks = {**content.get("common", {}), **content.get("full", {}).get("common", {})}.get("tasks")
    if "commands" in content:
        commands = content.get("full", content)["commands"]
        assert all(" ".join(command.split()) in told for command in commands)
        assert told.endswith("Nothing was trained.")
    elif tasks == ["digits"]:  # which are on every disk
        assert "Nothing was trained. Leave --dry-run out" in told
    else:
        for part in ("tasks: ", "settings: ", " updates, ", "Missing data: ", "Nothing was fetched or trained."):
            assert part in told
        full = yaml.safe_dump(content["full"])
        for name in ("bert-base-cased", "bert-large-cased", "bert-base-uncased", "roberta-base", "roberta-large"):
            assert (f"Missing encoder: {name} (on the hub)." in told) == (f"model: {name}" in full)
        assert (" h on this machine" in told) == (tasks != ["multimnist"])  # its network has no layers
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data"]


@pytest.mark.parametrize("file", EXPERIMENTS, ids=lambda path: path.stem)
def test_commands_of_experiments_have_flags_that_there_are(file, rota_main, tmp_path):
    content = yaml.safe_load(file.read_text())
    for command in [*content.get("commands", []), *content.get("full", {}).get("commands", [])]:
        program, verb, *flags = shlex.split(command.replace("DIR", str(tmp_path / "data")))
        assert program == "rota"
        if verb in ("train", "adapt"):  # a simulation has nothing to be missing, and would be made
            code, _, err = rota_main(verb, *flags, "--dry-run")
            assert code == 2
            assert "xpected" in err, err  # the run or the files
            assert "No such option" not in err
            assert "wrong field" not in err


def test_what_is_here_is_not_missing(tmp_path, tiny_bert):
    task = write_task(tmp_path, "own")
    fields = {"tasks": [str(task), "rte", "digits"], "data": str(tmp_path / "data")}
    found = missing_of(
        [make_plan({**fields, "model": f"camtl:{tiny_bert}"}), make_plan({**fields, "model": "some/one"})]
    )
    assert (found.encoders, dict(found.tasks)) == (("some/one",), {"rte": "nyu-mll/glue on the hub"})
    (tmp_path / "hub" / "datasets" / "nyu-mll___glue" / "rte").mkdir(parents=True)
    assert tasks_elsewhere(["rte", "mrpc"], Reading()) == {"mrpc": "nyu-mll/glue on the hub"}
    rte = tmp_path / "data" / "RTE"
    rte.mkdir()
    (rte / "train.tsv").write_text("")
    assert "mrpc" in tasks_elsewhere(["mrpc"], Reading(tmp_path / "data"))
    assert task_names([str(task), "superglue"])[:2] == ["own", "boolq"]


def test_only_some_of_a_task_is_not_enough(tmp_path):
    (tmp_path / "data" / "QNLI").mkdir()
    (tmp_path / "data" / "QNLI" / "dev.tsv").write_text("")
    assert "qnli" in tasks_elsewhere(["qnli"], Reading(tmp_path / "data"))


def test_the_size_of_an_encoder_is_read_or_known_by_name(tiny_bert):
    config = json.loads((tiny_bert / "config.json").read_text())
    assert layers_and_width(str(tiny_bert)) == (config["num_hidden_layers"], config["hidden_size"])
    assert layers_and_width("minilm") == (6, 384)
    assert layers_and_width("bert-large-cased") == (24, 1024)
    assert is_here("minilm")
    assert not is_here("bert-large-cased")
    assert not is_here("a/b/c")


def test_the_estimate_counts_candidates_and_what_is_trained_before():
    common = {"tasks": ["rte", "mrpc"], "model": "bert-base-cased", "steps": 100, "batch_size": 16}
    plain = rough_cost(make_plan({**common, "method": "uniform"}), 1e12)
    assert plain.forwards == 100 * 16 * 3
    picked = rough_cost(make_plan({**common, "method": "mt-uncertainty"}), 1e12)
    assert picked.forwards == 100 * (16 * 3 + 2 * 16)
    rarely = {"method": "mt-uncertainty", "options": {"every": 2, "candidates": 32}}
    assert rough_cost(make_plan({**common, **rarely}), 1e12).forwards == 100 * (16 * 3 + 2 * 32 / 2)
    joint = {"method": "joint", "options": {"weights": {"rte": 1, "mrpc": 1}}}
    assert rough_cost(make_plan({**common, **joint}), 1e12).forwards == 2 * plain.forwards
    learned = rough_cost(make_plan({**common, "method": "counterfactual"}), 1e12)
    assert learned.updates >= 200
    assert learned.seconds == pytest.approx(plain.seconds * learned.updates / 100)
    assert rough_cost(make_plan({**common, "method": "uniform", "model": "some/one"}), 1e12).seconds is None


def test_a_comparison_that_has_all_it_needs_is_timed_as_before(rota_main):
    flags = ["--methods", "exp3s", "--without", "proportional,union,temperature", "--tasks", "left,right", "--seeds", 0]
    code, out, err = rota_main("compare", *flags, "--steps", 4, "--rows", "left=40,right=40", "--dry-run")
    assert code == 0, err
    assert "Missing" not in out
    assert "2 runs, 1 at a time: about " in out


def test_other_tasks_trained_alone_keep_the_variant_that_the_file_names(rota_main, tmp_path):
    file = next(path for path in EXPERIMENTS if path.stem == "002-table-2")
    code, out, err = rota_main("compare", file, "--dry-run", "--singles", "cola", "--data", tmp_path / "data")
    assert code == 0, err
    assert "single-cola" in out
    assert "single-rte" not in out


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--tasks", "rtee"], "Unknown task 'rtee'"),
        (["--tasks", "rte", "--models", "minilmm"], "Unknown model 'minilmm'"),
        (["--tasks", "rte", "--data", "nowhere"], "expects a folder"),
    ],
)
def test_mistakes_stay_mistakes(rota_main, flags, sentence):
    code, _, err = rota_main("compare", "--methods", "exp3s", *flags, "--dry-run")
    assert code == 2
    assert sentence in err
