"""Texts from the command line: train, evaluate, predict, export, with a tiny encoder and small files."""

from __future__ import annotations

import csv
import json
import random

import pytest
import yaml
from run_tools import assert_same_run
from sklearn.metrics import accuracy_score, f1_score
from test_errors import assert_refused

from rota.models import load_model
from rota.runlog import Run

QUICK = ["--steps", 4, "--eval-every", 2, "--batch-size", 4, "--longest", 32]
WORDS = ["the", "cat", "dog", "bird", "sat", "ran", "flew", "on", "in", "under", "mat", "house", "tree", "red", "blue"]


def sentence(rng, words=6):
    return " ".join(rng.choices(WORDS, k=words))


def write_rte(folder, train=12, dev=7):
    rng = random.Random(0)
    (folder / "glue" / "RTE").mkdir(parents=True)
    for split, rows in (("train", train), ("dev", dev)):
        lines = ["index\tsentence1\tsentence2\tlabel"]
        for k in range(rows):
            second = "" if k == 0 else sentence(rng)  # an empty second sentence is a sentence
            long = 200 if k == 1 else 6  # much longer than any encoder takes
            lines.append(f"{k}\t{sentence(rng, long)}\t{second}\t{'not_' if k % 2 else ''}entailment")
        (folder / "glue" / "RTE" / f"{split}.tsv").write_text("\n".join(lines) + "\n")


@pytest.fixture
def texts(rota_main, tmp_path, monkeypatch, tiny_bert):
    """Train on small files; returns how to call the command line, and the folder."""
    monkeypatch.setenv("ROTA_CACHE", str(tmp_path / "cache"))
    write_rte(tmp_path / "data")

    def train(*flags, out="run"):
        common = ["train", *QUICK, "--data", tmp_path / "data", "--model", tiny_bert, "--out", tmp_path / out]
        return rota_main(*common, *flags)

    return train, rota_main, tmp_path


def test_a_run_says_what_was_cut_and_keeps_it(texts):
    train, _, folder = texts
    code, out, err = train("--tasks", "rte")
    assert code == 0, err
    assert "rte: 1 truncated of 12 train rows" in err
    assert "rte: 1 truncated of 7 dev rows" in err
    run = Run(folder / "run")
    assert run.info["tasks"]["rte"]["notes"]["counted"] == {"train": {"truncated": 1}, "dev": {"truncated": 1}}
    assert run.plan["lr"] == 5e-5  # what suits a pretrained encoder
    assert "average" in out


def test_predictions_are_those_that_the_evaluation_counted(texts):
    train, rota, folder = texts
    assert train("--tasks", "rte", "-q")[0] == 0
    code, out, err = rota("evaluate", folder / "run", "--json")
    assert code == 0, err
    result = json.loads(out)["tasks"]["rte"]
    published = folder / "data" / "glue" / "RTE" / "dev.tsv"
    code, out, err = rota("predict", folder / "run", "--task", "rte", "--input", published)
    assert code == 0, err
    answers = [json.loads(line) for line in out.splitlines()]
    with published.open() as file:
        labels = [row["label"] for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
    assert len(answers) == 7
    assert result["metrics"]["accuracy"] == accuracy_score(labels, [answer["label"] for answer in answers])
    for answer in answers:
        assert sum(answer["probabilities"].values()) == pytest.approx(1, abs=1e-5)
        assert max(answer["probabilities"], key=answer["probabilities"].get) == answer["label"]
    assert "rte: 1 × truncated" in err


def test_an_evaluation_shows_every_metric(texts):
    train, rota, folder = texts
    assert train("--tasks", "rte", "-q")[0] == 0
    code, out, _ = rota("evaluate", folder / "run", "--rows", 3)
    assert code == 0
    assert "accuracy" in out
    assert "rte" in out
    assert_refused(rota("evaluate", folder / "run", "--split", "test"), "Expected rows in split 'test'", "rte")
    assert_refused(rota("evaluate", folder / "run", "--tasks", "rt"), "Unknown task of the run 'rt'", "'rte'")


def test_rows_may_come_from_stdin_and_go_to_a_file(texts, monkeypatch):
    train, rota, folder = texts
    assert train("--tasks", "rte", "-q")[0] == 0
    rows = folder / "rows.jsonl"
    rows.write_text('{"sentence1": "the cat sat", "sentence2": "a cat"}\n')
    with rows.open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        flags = ["--task", "rte", "--input", "-", "--out", folder / "answers.jsonl"]
        assert rota("predict", folder / "run", *flags)[0] == 0
    assert json.loads((folder / "answers.jsonl").read_text())["label"] in ("entailment", "not_entailment")


def test_several_runs_answer_together(texts):
    train, rota, folder = texts
    runs = [folder / "one", folder / "two"]
    for seed, run in enumerate(runs):
        assert train("--tasks", "rte", "-q", "--seed", seed, "--lr", 0.01, out=run.name)[0] == 0
    published = folder / "data" / "glue" / "RTE" / "dev.tsv"
    flags = ["--task", "rte", "--input", published]
    one, two, both = (
        [json.loads(line) for line in rota("predict", *some, *flags)[1].splitlines()]
        for some in (runs[:1], runs[1:], runs)
    )
    assert len(both) == 7
    for a, b, mean in zip(one, two, both, strict=True):
        expected = {name: (p + b["probabilities"][name]) / 2 for name, p in a["probabilities"].items()}
        assert mean["probabilities"] == pytest.approx(expected, abs=2e-6)
        assert mean["label"] == max(expected, key=expected.get)
    # Their score is that of these answers; each run's own stands beside it.
    labels = [line.rsplit("\t", 1)[1] for line in published.read_text().splitlines()[1:]]
    result = json.loads(rota("evaluate", *runs, "--json")[1])
    assert result["tasks"]["rte"]["score"] == accuracy_score(labels, [answer["label"] for answer in both])
    singles = [json.loads(rota("evaluate", run, "--json")[1]) for run in runs]
    assert result["runs"] == [{"run": str(run), **own} for run, own in zip(runs, singles, strict=True)]
    code, out, _ = rota("evaluate", *runs)
    assert code == 0
    assert "score of each run" in out
    assert " · ".join(f"{100 * own['average']:.1f}" for own in singles) in out
    assert "score of each run" not in rota("evaluate", runs[0])[1]
    assert_refused(rota("predict", *runs, "--task", "rta", "--input", published), "Unknown task of the runs 'rta'")
    assert_refused(rota("predict", runs[0], folder, *flags), f"Expected a run folder (with run.json) at {folder}")


def test_wrong_rows_to_predict_are_refused_with_a_sentence(texts):
    train, rota, folder = texts
    assert train("--tasks", "rte", "-q")[0] == 0
    rows = folder / "rows.jsonl"
    rows.write_text('{"premise": "the cat sat"}\n')
    predict = ["predict", folder / "run", "--input", rows, "--task"]
    assert_refused(rota(*predict, "rte"), f"{rows}, line 1", "'sentence1'", "reads the columns sentence1, sentence2")
    assert_refused(rota(*predict, "rta"), "Unknown task of the run 'rta'", "Did you mean 'rte'?")
    missing = ["predict", folder / "run", "--task", "rte", "--input"]
    assert_refused(rota(*missing, folder / "absent.jsonl"), "absent.jsonl", "No such file")
    (folder / "kept.jsonl").write_text("mine")
    assert_refused(rota(*predict, "rte", "--out", folder / "kept.jsonl"), "'sentence1'")
    assert (folder / "kept.jsonl").read_text() == "mine"
    assert_refused(rota("predict", folder, "--task", "rte", "--input", rows), "Expected a run folder")


def test_pictures_have_no_rows_to_predict(rota_main, tmp_path):
    flags = ["--tasks", "left,right", "--steps", 2, "--rows", "left=20,right=20", "-q"]
    assert rota_main("train", *flags, "--out", tmp_path / "r")[0] == 0
    (tmp_path / "rows.jsonl").write_text("{}\n")
    answer = rota_main("predict", tmp_path / "r", "--task", "left", "--input", tmp_path / "rows.jsonl")
    assert_refused(answer, "expect a task of texts. Found 'left'")
    assert rota_main("evaluate", tmp_path / "r", "--split", "test", "--rows", 50)[0] == 0


def test_an_exported_model_is_whole(texts):
    train, rota, folder = texts
    assert train("--tasks", "rte", "-q")[0] == 0
    assert rota("export", folder / "run", "--out", folder / "model")[0] == 0
    assert set(load_model(folder / "model").heads) == {"rte"}
    assert (folder / "model" / "encoder" / "tokenizer.json").is_file()
    assert_refused(rota("export", folder / "run", "--out", folder / "model"), "Expected a new folder")
    # The encoder is one to train with.
    assert train("--tasks", "rte", "-q", "--model", folder / "model" / "encoder", out="second")[0] == 0


def test_workers_and_a_second_start_change_nothing(texts):
    train, _, folder = texts
    for out, flags in (("one", []), ("two", ["--num-workers", 1]), ("three", [])):
        assert train("--tasks", "rte", "-q", "--group-lengths", *flags, out=out)[0] == 0
    assert_same_run(folder / "one", folder / "two")
    assert_same_run(folder / "one", folder / "three")


@pytest.mark.parametrize(
    ("flags", "parts"),
    [
        (["--tasks", "rte", "--data", "nowhere"], ["--data expects a folder. Found none at nowhere"]),
        (["--tasks", "rte", "--model", "lenet"], ["Expected a model for Texts", "Found 'lenet'. Use auto"]),
        (["--tasks", "rte", "--model", "minlm"], ["Unknown model 'minlm'. Did you mean 'minilm'?"]),
        (["--tasks", "rte,left"], ["expect equal inputs", "Train them in separate runs"]),
        (["--tasks", "rte,superglue-rte"], ["'superglue-rte' beside 'rte'", "same rows"]),
        (["--tasks", "rte", "--pooling", "max"], ["'pooling' expects 'mean', 'first' or 'pooled'"]),
        (["--tasks", "absent.yaml"], ["Expected a YAML file with tasks at absent.yaml"]),
        (["--tasks", "rte", "--longest", "2"], ["'longest' expects greater than or equal to 8"]),
    ],
)
def test_wrong_wishes_are_refused_with_a_sentence(texts, flags, parts):
    train, _, _ = texts
    assert_refused(train(*flags), *parts)


def own(folder, name, rows, **fields):
    """A task of one's own in JSON lines."""
    (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    file = folder / f"{name}.yaml"
    file.write_text(yaml.safe_dump({"name": name, "train": f"{name}.jsonl", **fields}))
    return file


def test_a_hundred_classes_one_dev_row_and_a_batch_larger_than_the_data_train(texts):
    train, rota, folder = texts
    rng = random.Random(1)
    rows = [{"text": sentence(rng), "label": f"class {k % 100}"} for k in range(150)]
    (folder / "dev.jsonl").write_text(json.dumps(rows[0]) + "\n")
    file = own(folder, "many", rows, kind="classification", dev="dev.jsonl", metrics=["accuracy", "macro_f1"])
    code, _, err = train("--tasks", f"{file},rte", "--batch-size", 400)
    assert code == 0, err
    run = Run(folder / "run")
    assert run.info["tasks"]["many"]["kind"] == "classification (100 classes)"
    assert run.info["tasks"]["many"]["rows"] == {"train": 150, "dev": 1}
    # A run knows its own tasks, whatever becomes of their files.
    file.unlink()
    code, out, err = rota("predict", folder / "run", "--task", "many", "--input", folder / "dev.jsonl")
    assert code == 0, err
    assert json.loads(out)["label"].startswith("class ")


def test_every_kind_of_ones_own_trains_and_predicts(texts):
    train, rota, folder = texts
    rng = random.Random(2)
    texts_of = [sentence(rng) for _ in range(10)]
    passage = "the cat sat on the mat and the dog ran under the old tree " * 5
    rows = {
        "size": [{"text": text, "label": len(text)} for text in texts_of],
        "next": [
            {"text": t, "ways": [sentence(rng), sentence(rng), "the end"], "label": k % 3}
            for k, t in enumerate(texts_of)
        ],
        "names": [{"words": t.split(), "tags": ["B-x", "I-x", "O", "O", "O", "B-y"]} for t in texts_of],
        "where": [
            {"question": "where is the cat", "context": passage, "answers": [{"text": "on the mat", "start": 12}]}
            for _ in texts_of
        ],
    }
    fields = {
        "size": {"kind": "regression"},
        "next": {"kind": "choice", "choices": ["ways"]},
        "names": {"kind": "tagging", "text": "words", "label": "tags"},
        "where": {"kind": "answer", "text": ["question", "context"]},
    }
    files = [str(own(folder, name, rows[name], dev=0.3, **fields[name])) for name in rows]
    code, _, err = train("--tasks", ",".join(files), "--steps", 8)
    assert code == 0, err
    info = Run(folder / "run").info["tasks"]
    assert info["size"]["rows"] == {"train": 7, "dev": 3}
    assert info["where"]["notes"]["counted"]["train"] == {"read in several windows": 7}
    keys = {
        "size": {"value"},
        "next": {"choice", "probabilities"},
        "names": {"tags"},
        "where": {"answer", "candidates"},
    }
    for name in rows:
        code, out, err = rota("predict", folder / "run", "--task", name, "--input", folder / f"{name}.jsonl")
        assert code == 0, err
        answers = [json.loads(line) for line in out.splitlines()]
        assert len(answers) == 10
        assert {frozenset(answer) for answer in answers} == {frozenset(keys[name])}
        twice = rota("predict", folder / "run", folder / "run", "--task", name, "--input", folder / f"{name}.jsonl")
        assert twice == (0, out, err), "the mean of a run and itself"
    assert all(len(json.loads(line)["tags"]) == 6 for line in _lines(rota, folder, "names"))
    assert all(json.loads(line)["answer"] in passage for line in _lines(rota, folder, "where"))


def _lines(rota, folder, name):
    return rota("predict", folder / "run", "--task", name, "--input", folder / f"{name}.jsonl")[1].splitlines()


def test_flags_change_one_task(texts):
    train, _, folder = texts
    rng = random.Random(3)
    rows = [{"text": sentence(rng), "label": k % 2} for k in range(20)]
    file = own(folder, "own", rows, kind="classification", dev=0.2, metrics=["accuracy", "f1"])
    flags = ["--per-task", "rte.batch_size=3,rte.loss_weight=0.5,own.stop_after=1", "--steps", 6]
    code, _, err = train("--tasks", f"rte,{file}", *flags)
    assert code == 0, err
    run = Run(folder / "run")
    assert run.summary["updates"] == {"own": 1, "rte": 5}
    assert {line["n"] for line in run.lines("step") if line["task"] == "rte"} == {3}
    assert run.info["tasks"]["rte"]["loss_weight"] == 0.5
    assert_refused(train("--per-task", "rte=3", "--tasks", "rte", out="b"), "task.field=value", "'rte=3'")
    assert_refused(train("--per-task", "rte.batch=3", "--tasks", "rte", out="b"), "unknown field 'per_task.rte.batch'")
    assert_refused(train("--per-task", "rta.batch_size=3", "--tasks", "rte", out="b"), "Unknown task 'rta'")


def test_a_changed_file_makes_another_run(texts):
    train, rota, folder = texts
    assert train("--tasks", "rte", "-q")[0] == 0
    (folder / "run" / "summary.json").unlink()  # as if it had not finished
    path = folder / "data" / "glue" / "RTE" / "train.tsv"
    path.write_text(path.read_text().replace("cat", "dog"))
    assert_refused(rota("train", "--resume", folder / "run"), "expects what it was started with", "Changed: tasks")


def test_an_f1_is_that_of_scikit_learn(texts):
    train, rota, folder = texts
    rng = random.Random(4)
    rows = [{"text": sentence(rng), "label": k % 2} for k in range(60)]
    (folder / "dev.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[:31]))
    file = own(folder, "own", rows[31:], kind="classification", dev="dev.jsonl", metrics=["accuracy", "f1"])
    assert train("--tasks", file, "-q", "--lr", "0.01", "--steps", 20)[0] == 0
    found = json.loads(rota("evaluate", folder / "run", "--json")[1])["tasks"]["own"]["metrics"]
    answers = rota("predict", folder / "run", "--task", "own", "--input", folder / "dev.jsonl")[1].splitlines()
    predicted, labels = [int(json.loads(line)["label"]) for line in answers], [row["label"] for row in rows[:31]]
    assert found == {"accuracy": accuracy_score(labels, predicted), "f1": f1_score(labels, predicted)}
