"""A language model of several sources through the verbs of the command line."""

from __future__ import annotations

import json

import peft
import pytest
import safetensors.torch
import torch
import transformers
from fit_tools import Crash
from language_tools import described, rows_of, save_language_model, two_sources
from run_tools import assert_same_run

from rota.engine import EagerEngine
from rota.inference import Trained
from rota.plans import make_plan
from rota.runlog import Run
from rota.runs import run_plan


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    return save_language_model(tmp_path_factory.mktemp("runs") / "llama")


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("ROTA_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


def plan_of(folder, model, **fields):
    usual = {"steps": 12, "batch_size": 4, "method": "uniform", "longest": 32, "eval_every": 6, "checkpoint_every": 3}
    return make_plan({"tasks": [str(two_sources(folder))], "model": str(model), **usual, **fields})


ASKED = {
    "full": {},
    "lora": {"adapter": "lora:r=2,dropout=0.1"},
    "packed": {"pack": True},
    "exp3s": {"method": "exp3s", "adapter": "lora:r=2", "pack": True, "accumulate": 2},
}


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_a_run_that_dies_and_goes_on_is_the_one_that_never_stopped(tmp_path, llama, monkeypatch, asked):
    plan = plan_of(tmp_path, llama, **asked)
    whole = run_plan(plan, tmp_path / "whole", progress=False)
    real = EagerEngine.update

    def dying(self, turn, after_update=None):
        outcome = real(self, turn, after_update)
        if turn.step == 7:
            raise Crash
        return outcome

    monkeypatch.setattr(EagerEngine, "update", dying)
    with pytest.raises(Crash):
        run_plan(plan, tmp_path / "cut", progress=False)
    monkeypatch.undo()
    monkeypatch.setenv("ROTA_CACHE", str(tmp_path / "other"))  # tokens are made again
    again = run_plan(plan, tmp_path / "cut", resume=True, progress=False)
    assert_same_run(whole.folder, again.folder)
    assert again.summary["cost"] == whole.summary["cost"]


def test_checkpoints_of_lora_hold_the_adapter_alone(tmp_path, llama):
    run = run_plan(plan_of(tmp_path, llama, adapter="lora:r=2"), tmp_path / "run", progress=False)
    (best,) = (run.folder / "best").glob("*/model.safetensors")
    assert all(".lora_" in name for name in safetensors.torch.load_file(best))
    assert run.info["model"]["base"] == str(llama)
    assert run.info["plan"]["lr"] == 2e-4


def test_tokens_in_the_log_and_shares_of_them(tmp_path, llama):
    run = run_plan(plan_of(tmp_path, llama), tmp_path / "run", progress=False)
    lines = run.lines("step")
    assert sum(line["tokens"] for line in lines) == run.summary["cost"]["tokens"] > 0
    evaluated = run.lines("eval")[-1]["tasks"]
    assert all(own["tokens"] > own["n"] for own in evaluated.values())


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A run that has learned to repeat the first word, by LoRA."""
    folder = tmp_path_factory.mktemp("learned")
    base = save_language_model(folder / "base")
    rows = [
        {"prompt": f"the {word}", "completion": f" {word}", "choices": [" cat", " dog", " bird"]}
        for word in ("cat", "dog", "bird")
        for _ in range(8)
    ]
    metrics = ["exact_match", "f1", "rouge_l", "choice_accuracy"]
    tasks = described(folder, rows, source=None, choices="choices", metrics=metrics)
    plan = make_plan(
        {
            "tasks": [str(tasks)],
            "model": str(base),
            "adapter": "lora:r=8",
            "steps": 60,
            "batch_size": 8,
            "lr": 0.02,
            "method": "uniform",
            "eval_every": 60,
        }
    )
    return run_plan(plan, folder / "run", progress=False)


def test_answers_are_measured_when_asked_for(learned):
    found = Trained(learned.folder).evaluate("dev")["tasks"]["mix"]
    assert found["metrics"] == {"exact_match": 1.0, "f1": 1.0, "rouge_l": 1.0, "choice_accuracy": 1.0}
    first = learned.lines("eval")[0]["tasks"]["mix"]["metrics"]
    assert first["exact_match"] < 0.5


def test_predict_goes_on_with_prompts(learned, tmp_path, rota_main):
    (tmp_path / "new.jsonl").write_text('{"prompt": "the dog"}\n{"prompt": "the cat"}\n')
    asked = ("--task", "mix", "--input", tmp_path / "new.jsonl", "--tokens", 8)
    code, out, err = rota_main("predict", learned.folder, *asked)
    assert code == 0, err
    assert [json.loads(line) for line in out.splitlines()] == [{"answer": "dog"}, {"answer": "cat"}]


def test_predict_refuses_prompts_that_do_not_fit(learned, tmp_path, rota_main):
    (tmp_path / "new.jsonl").write_text(json.dumps({"prompt": "the cat " * 40}) + "\n")
    asked = ("predict", learned.folder, "--task", "mix", "--input", tmp_path / "new.jsonl", "--tokens", 8)
    code, _, err = rota_main(*asked)
    assert code == 2
    assert "line 1: expected a prompt of at most 56 tokens" in " ".join(err.split())


def test_an_export_says_what_the_run_says_in_plain_transformers_and_peft(learned, tmp_path):
    trained = Trained(learned.folder)
    prompts = [[6, 7, 8, 9]]
    inputs = torch.tensor(prompts)
    with torch.no_grad():
        wanted = trained.model.network(input_ids=inputs).logits
    trained.export(tmp_path / "out")
    plain = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "out" / "language_model")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out" / "language_model")
    base = transformers.AutoModelForCausalLM.from_pretrained(learned.plan["model"])
    adapted = peft.PeftModel.from_pretrained(base, tmp_path / "out" / "adapter").eval()
    with torch.no_grad():
        torch.testing.assert_close(plain.eval()(input_ids=inputs).logits, wanted, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(adapted(input_ids=inputs).logits, wanted, atol=1e-5, rtol=1e-5)
    said = plain.generate(**tokenizer("the dog", return_tensors="pt"), max_new_tokens=4, do_sample=False)
    assert tokenizer.decode(said[0], skip_special_tokens=True) == "the dog dog"


def test_the_whole_model_is_exported_too(tmp_path, llama):
    run = run_plan(plan_of(tmp_path, llama, steps=2), tmp_path / "run", progress=False)
    trained = Trained(run.folder)
    trained.export(tmp_path / "out")
    plain = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "out" / "language_model")
    ours = dict(trained.model.network.named_parameters())
    assert all(own.equal(ours[name]) for name, own in plain.named_parameters())
    assert not (tmp_path / "out" / "adapter").exists()


def test_a_run_starts_from_another_one(tmp_path, llama):
    first = run_plan(plan_of(tmp_path, llama, steps=2), tmp_path / "first", progress=False)
    plan = make_plan(
        {
            "tasks": [str(tmp_path / "mix.yaml")],
            "start": str(first.folder),
            "steps": 1,
            "method": "uniform",
            "eval_every": 1,
        }
    )
    second = run_plan(plan, tmp_path / "second", progress=False)
    assert second.lines("eval")[0]["loss"] == pytest.approx(first.summary["best"]["dev"]["loss"], abs=1e-6)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"freeze": 1}, "expects an encoder with heads. Found a language model"),
        ({"adapter": "houlsby"}, "Unknown adapter of a language model"),
        ({"model": "auto"}, "expects a language model"),
    ],
)
def test_what_a_language_model_has_not_is_refused(tmp_path, llama, rota_main, fields, said):
    flags = [str(part) for name, value in {"model": llama, **fields}.items() for part in (f"--{name}", value)]
    code, _, err = rota_main("train", "--tasks", two_sources(tmp_path), "--out", tmp_path / "run", *flags)
    assert code == 2
    assert said in " ".join(err.split())


def test_a_model_without_tokenizer_is_refused(tmp_path, rota_main):
    model = save_language_model(tmp_path / "bare")
    for file in model.glob("tok*"):
        file.unlink()
    code, _, err = rota_main("train", "--tasks", two_sources(tmp_path), "--model", model, "--out", tmp_path / "run")
    assert code == 2
    assert "with its tokenizer" in " ".join(err.split())


def test_a_causal_task_does_not_mix_with_others(tmp_path, llama, rota_main):
    (tmp_path / "stars.jsonl").write_text(
        "".join(json.dumps({"text": f"the {k}", "label": k % 2}) + "\n" for k in range(8))
    )
    (tmp_path / "stars.yaml").write_text("{name: stars, kind: classification, train: stars.jsonl, dev: 0.5}")
    tasks = f"{two_sources(tmp_path)},{tmp_path / 'stars.yaml'}"
    code, _, err = rota_main("train", "--tasks", tasks, "--model", llama, "--out", tmp_path / "run")
    assert code == 2
    assert "Found 'stars' beside them" in " ".join(err.split())


def test_the_report_has_every_source(tmp_path, llama, rota_main):
    rows = [row for number in range(20) for row in rows_of(f"s{number}", 4)]
    plan = make_plan(
        {"tasks": [str(described(tmp_path, rows))], "model": str(llama), "steps": 6, "method": "uniform", "longest": 32}
    )
    run = run_plan(plan, tmp_path / "run", progress=False)
    code, _, err = rota_main("report", run.folder, "--out", tmp_path / "report.html")
    assert code == 0, err
    page = (tmp_path / "report.html").read_text()
    assert all(f"mix-s{number}" in page for number in range(20))
    assert Run(run.folder).finished


def test_a_language_model_is_an_encoder_for_other_tasks(tmp_path, llama):
    """The mean of its last layer, which padding does not change."""
    pairs = [{"one": f"the {word}", "other": "sat on", "label": word} for word in ("cat", "dog") for _ in range(6)]
    (tmp_path / "pair.jsonl").write_text("\n".join(map(json.dumps, pairs)))
    asked = {"name": "pair", "kind": "classification", "train": "pair.jsonl", "dev": 0.25, "text": ["one", "other"]}
    (tmp_path / "pair.yaml").write_text(json.dumps(asked))
    tagged = [{"words": ["the", word], "tags": ["O", word]} for word in ("cat", "dog") for _ in range(6)]
    (tmp_path / "tag.jsonl").write_text("\n".join(map(json.dumps, tagged)))
    (tmp_path / "tag.yaml").write_text('{"name": "tag", "kind": "tagging", "train": "tag.jsonl", "dev": 0.25}')
    plan = make_plan(
        {
            "tasks": [str(tmp_path / "pair.yaml"), str(tmp_path / "tag.yaml")],
            "model": str(llama),
            "steps": 60,
            "lr": 0.01,
            "method": "uniform",
            "batch_size": 4,
            "eval_every": 60,
        }
    )
    run = run_plan(plan, tmp_path / "run", progress=False)
    assert run.info["model"]["encoder"]["pooling"] == "mean"
    assert run.summary["best"]["dev"]["tasks"]["pair"]["score"] == 1.0
    found = Trained(run.folder).evaluate("dev")
    assert found["average"] == pytest.approx(run.summary["best"]["dev"]["average"])
