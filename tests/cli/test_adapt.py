"""`rota adapt`, `--start`, `rota compare` and the flags of CA-MTL, with a tiny encoder and small files."""

from __future__ import annotations

import json
import random
import shutil

import pytest
import yaml
from run_tools import assert_same_run
from test_errors import assert_refused
from test_texts import QUICK, sentence, write_rte

from rota.inference import Trained
from rota.runlog import Run


def write_task(folder, name, rows=40):
    """A task of two classes from a file of one's own."""
    rng = random.Random(name)
    lines = [json.dumps({"text": sentence(rng), "label": k % 2}) for k in range(rows)]
    for split in ("train", "dev"):
        (folder / f"{name}-{split}.jsonl").write_text("\n".join(lines) + "\n")
    about = {
        "name": name,
        "kind": "classification",
        "text": "text",
        "label": "label",
        "train": f"{name}-train.jsonl",
        "dev": f"{name}-dev.jsonl",
    }
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(about))
    return folder / f"{name}.yaml"


@pytest.fixture
def base(rota_main, tmp_path, tiny_bert, monkeypatch):
    """A run of CA-MTL on two tasks, and how to call the command line with its data."""
    monkeypatch.setenv("ROTA_CACHE", str(tmp_path / "cache"))
    write_rte(tmp_path / "data")
    other = write_task(tmp_path, "other")

    def call(verb, *flags):
        return rota_main(verb, *flags, "--data", tmp_path / "data")

    flags = ["--tasks", f"rte,{other}", "--model", f"camtl:{tiny_bert}", "--method", "mt-uncertainty"]
    code, _, err = call("train", *QUICK, *flags, "--out", tmp_path / "base", "-q")
    assert code == 0, err
    return call, tmp_path


def test_a_run_of_camtl_is_evaluated_and_exported(base, rota_main):
    _, folder = base
    run = Run(folder / "base")
    assert run.info["stream"] == "PoolStream"
    assert run.info["picking"]["select"]["name"] == "mt-uncertainty"
    assert run.info["model"]["encoder"]["type"] == "CAMTL"
    code, out, err = rota_main("evaluate", folder / "base", "--json")
    assert code == 0, err
    assert json.loads(out)["tasks"]["rte"]["score"] == run.summary["best"]["dev"]["tasks"]["rte"]["score"]
    code, _, err = rota_main("export", folder / "base", "--out", folder / "exported")
    assert code == 0, err
    assert (folder / "exported" / "model.safetensors").is_file()
    assert not (folder / "exported" / "encoder" / "model.safetensors").exists()


def test_a_new_task_is_scored_before_and_trained_with_few_rows_and_with_all(base):
    call, folder = base
    new = write_task(folder, "new")
    flags = ["--task", new, "--fractions", "0.1,1", "--steps", 3, "--least", 2, "--batch-size", 4, "--heads", 2]
    flags += ["--fewest", 1]
    code, out, err = call("adapt", folder / "base", *flags, "--out", folder / "adapted", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert set(found["zero_shot"]) == {"rte", "other", "average", "random", "xavier"}
    assert all(len(scores) == 2 for scores in found["zero_shot"].values())
    best = max(found["zero_shot"], key=lambda name: sum(found["zero_shot"][name]))
    assert found["embedding"] == best
    assert [own["rows"] for own in found["scores"].values()] == [4, 40]
    assert [own["steps"] for own in found["scores"].values()] == [3, 3]
    run = Run(folder / "adapted" / "adapted-1-0")
    assert run.plan["start"] == str(folder / "base")
    assert Trained(run.folder).model.encoder.frozen == 0
    assert Run(folder / "adapted" / "fresh-1-0").info["model"]["encoder"]["type"] == "Pretrained"
    before = (folder / "adapted" / "adapted-1-0" / "log.jsonl").stat().st_mtime_ns
    code, again, err = call("adapt", folder / "base", *flags, "--out", folder / "adapted")
    assert code == 0, err
    assert "Dev score" in again
    assert (folder / "adapted" / "adapted-1-0" / "log.jsonl").stat().st_mtime_ns == before, "it was finished already"


def test_seeds_other_runs_and_adapters_learn_the_same_rows_beside_it(base, tiny_bert, rota_main):
    call, folder = base
    plain = ["--tasks", f"rte,{folder / 'other.yaml'}", "--model", tiny_bert, *QUICK, "--out", folder / "plain", "-q"]
    assert call("train", *plain)[0] == 0
    new = write_task(folder, "new")
    flags = ["--task", new, "--fractions", "0.00001,1", "--steps", 3, "--least", 2, "--batch-size", 4, "--heads", 1]
    flags += ["--beside", f"{folder / 'plain'},lora:r=2", "--seeds", "0,1,2", "--out", folder / "adapted"]
    code, out, err = call("adapt", folder / "base", *flags, "--json")
    assert code == 0, err
    found = json.loads(out)
    assert [own["rows"] for own in found["scores"].values()] == [16, 40], "never fewer than 16 rows"
    assert set(found["by_seed"]["1"]) == {"adapted", "fresh", "plain", "lora-r=2"}
    for share, learners in found["by_seed"].items():
        for learner, by_seed in learners.items():
            runs = {seed: Run(folder / "adapted" / f"{learner}-{share}-{seed}") for seed in by_seed}
            assert by_seed == {seed: run.summary["best"]["dev"]["average"] for seed, run in runs.items()}
            assert found["scores"][share][learner] == pytest.approx(sum(by_seed.values()) / 3)
    rows = []
    for learner in found["by_seed"]["1"]:
        run = Run(folder / "adapted" / f"{learner}-1-2")
        rows.append([run.row_ids("new", line) for line in run.lines("step")])
    assert rows.count(rows[0]) == len(rows), "all see the same rows in the same order"
    assert Run(folder / "adapted" / "plain-1-0").plan["start"] == str(folder / "plain")
    lora = Trained(folder / "adapted" / "lora-r=2-1-0").model.encoder
    assert type(lora).__name__ == "Adapted"
    code, out, err = call("adapt", folder / "base", *flags)
    assert code == 0, err
    assert "From the run, minus" in out
    assert "lora-r=2" in out
    code, out, err = rota_main("report", folder / "adapted", "--out", folder / "adapted.html")
    assert code == 0, err


def test_a_started_run_begins_with_the_weights_of_the_other_and_can_be_resumed(base, rota_main):
    call, folder = base
    flags = [
        "--start",
        folder / "base",
        "--tasks",
        "rte",
        "--steps",
        4,
        "--eval-every",
        2,
        "--checkpoint-every",
        2,
        "-q",
    ]
    code, _, err = call("train", *flags, "--lr", 1e-12, "--out", folder / "on")
    assert code == 0, err
    first = Run(folder / "on").lines("eval")[0]["tasks"]["rte"]["loss"]
    assert first == pytest.approx(Run(folder / "base").summary["best"]["dev"]["tasks"]["rte"]["loss"], abs=1e-6)
    assert call("train", *flags, "--out", folder / "whole")[0] == 0
    assert call("train", *flags, "--out", folder / "cut")[0] == 0
    run = folder / "cut"
    (run / "summary.json").unlink()
    for name in sorted((run / "checkpoints").iterdir())[1:]:
        shutil.rmtree(name)
    code, _, err = rota_main("train", "--resume", run, "-q")
    assert code == 0, err
    assert_same_run(folder / "whole", folder / "cut")


def test_the_released_configuration_is_trained_resumed_exported_and_counted(base, rota_main, tiny_bert):
    call, folder = base
    flags = ["--tasks", f"rte,{folder / 'other.yaml'}", "--model", f"camtl:{tiny_bert}", "--parts", "released"]
    flags += ["--method", "mt-uncertainty", "--option", "scoring_dropout=true", *QUICK, "--checkpoint-every", 2, "-q"]
    for name in ("whole", "cut"):
        code, _, err = call("train", *flags, "--out", folder / name)
        assert code == 0, err
    info = Run(folder / "whole").info
    assert info["plan"]["parts"] == "released"
    assert info["picking"]["scoring_dropout"] is True
    parts = info["model"]["encoder"]["parts"]
    assert (parts["bottleneck"], parts["new_top"], parts["longest"]) == ("released-top", True, info["plan"]["longest"])
    (folder / "cut" / "summary.json").unlink()
    for checkpoint in sorted((folder / "cut" / "checkpoints").iterdir())[1:]:
        shutil.rmtree(checkpoint)
    code, _, err = rota_main("train", "--resume", folder / "cut", "-q")
    assert code == 0, err
    assert_same_run(folder / "whole", folder / "cut")
    for verb in (["evaluate", folder / "whole"], ["export", folder / "whole", "--out", folder / "exported"]):
        code, _, err = rota_main(*verb)
        assert code == 0, err
    assert Trained(folder / "whole").model.encoder.parts.bottleneck == "released-top"
    code, out, err = rota_main("parameters", folder / "whole", "--json")
    assert code == 0, err
    assert json.loads(out)["run"]["parts"]["bottleneck"]["parameters"] > 0


def test_an_unknown_word_for_parts_is_refused(base, tiny_bert):
    call, folder = base
    flags = ["--tasks", "rte", "--model", f"camtl:{tiny_bert}", "--parts", "relaesed", "--out", folder / "wrong"]
    assert_refused(call("train", *flags), "'parts' expects fields such as norm=off, or the word released", "relaesed")
    flags[3:6] = [str(tiny_bert), "--parts", "released"]
    assert_refused(call("train", *flags), "--parts expects --model camtl")


@pytest.mark.parametrize(
    ("flags", "sentences"),
    [
        (["--task", "rte"], ["does not know yet", "rte"]),
        (["--task", "new.yaml", "--fractions", "0,1"], ["above 0 and up to 1"]),
        (["--task", "new.yaml", "--init", "cloa"], ["Unknown beginning of the vector 'cloa'", "average"]),
        (["--task", "new.yaml", "--freeze", "1"], ["decides --freeze itself"]),
        (["--task", "new.yaml", "--beside", "lroa"], ["Unknown adapter 'lroa'. Did you mean 'lora'?"]),
        (["--task", "new.yaml", "--beside", "lora,lora"], ["names of its own", "'lora' twice"]),
    ],
)
def test_wrong_adaptations_are_refused_with_a_sentence(base, monkeypatch, flags, sentences):
    call, folder = base
    write_task(folder, "new")
    monkeypatch.chdir(folder)
    common = ["--steps", 2, "--heads", 1, "--fractions", 1]
    common = common[:4] if "--fractions" in flags else common
    assert_refused(call("adapt", folder / "base", *flags, *common), *sentences)


def test_variants_are_compared_seed_by_seed_and_kept(base, tiny_bert):
    call, folder = base
    content = {
        "about": "which one",
        "common": {"tasks": ["rte"], "steps": 4, "eval_every": 2, "batch_size": 4, "longest": 32, "freeze": "half"},
        "seeds": [0, 1],
        "baseline": "plain",
        "without": ["uniform", "proportional", "union", "temperature"],
        "variants": {
            "plain": {"model": str(tiny_bert)},
            "parts": {"model": f"camtl:{tiny_bert}", "parts": {"bottleneck": False, "norm": "off"}},
            "broken": {"model": f"camtl:{tiny_bert}", "parts": {"normm": "off"}},
        },
    }
    (folder / "table.yaml").write_text(yaml.safe_dump(content))
    code, out, err = call("compare", folder / "table.yaml", "--out", folder / "table")
    assert code == 2
    assert "broken-0" in err
    assert "unknown field 'normm'" in " ".join(out.split())
    assert "which one" in out
    assert (folder / "table" / "report.html").is_file()
    parts = Run(folder / "table" / "parts-1").info["model"]["encoder"]["parts"]
    assert (parts["bottleneck"], parts["norm"], parts["alignment"]) == ("off", "off", "film")
    before = (folder / "table" / "plain-0" / "log.jsonl").stat().st_mtime_ns
    del content["variants"]["broken"]
    (folder / "table.yaml").write_text(yaml.safe_dump(content))
    code, out, err = call("compare", folder / "table.yaml", "--out", folder / "table", "--seeds", "0,1")
    assert code == 0, err
    assert "± " in out
    assert "− plain [95 %]" in out
    assert (folder / "table" / "plain-0" / "log.jsonl").stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ({"variants": {"a": {}}, "baseline": "b"}, "Unknown variant as baseline 'b'. Known: a, "),
        ({"variants": {"a": {"step": 3}}}, "variant 'a': 1 wrong field: unknown field 'step' (did you mean 'steps'?)"),
        ({"variant": {"a": {}}}, "did you mean 'variants'?"),
        ([1], "expected fields such as `variants:`"),
    ],
)
def test_wrong_comparisons_are_refused_with_a_sentence(rota_main, tmp_path, content, sentence):
    (tmp_path / "table.yaml").write_text(yaml.safe_dump(content))
    assert_refused(rota_main("compare", tmp_path / "table.yaml"), sentence)
