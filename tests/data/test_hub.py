"""Tasks from the hub: real data sets with the hub's columns and numbers; only the download is left out."""

from __future__ import annotations

import socket
import sys

import datasets
import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, Sequence, Value
from text_tools import assert_refuses, halves, reading_in, squeezed, tokens_between, whole_batch

from rota.data import SUITES, load_tasks, named_task
from rota.data._reading_sets import WNUT_TYPES
from rota.data._tokenizer import Tokenizer
from rota.hub import offline

TEXT, INT = Value("string"), Value("int32")
A, B = "the cat sat", "it ran"
GLUE = "nyu-mll/glue"
SUPERGLUE = "aps/super_glue"


def table(features, *rows):
    return Dataset.from_list(list(rows), features=Features(features))


def splits(features, *rows, **more):
    """The same rows to train and to validate, and a hidden test set, which nobody looks at."""
    found = {"train": table(features, *rows), "validation": table(features, *rows), "test": table(features, *rows)}
    return DatasetDict(found | more)


def pairs(one, two, names, label="label", **more):
    features = {one: TEXT, two: TEXT, label: ClassLabel(names=names), "idx": INT}
    return splits(features, {one: A, two: B, label: 1, "idx": 0}, {one: B, two: A, label: 0, "idx": 1}, **more)


def sentences(names):
    features = {"sentence": TEXT, "label": ClassLabel(names=names), "idx": INT}
    return splits(features, {"sentence": A, "label": 1, "idx": 0}, {"sentence": B, "label": 0, "idx": 1})


ENTAILMENT, TRUTH = ["entailment", "not_entailment"], ["False", "True"]
THREE = ["entailment", "neutral", "contradiction"]
SNLI = {"premise": TEXT, "hypothesis": TEXT, "label": ClassLabel(names=THREE)}
SCITAIL = dict.fromkeys(("sentence1_parse", "sentence1", "sentence2", "gold_label"), TEXT)
SPANS = Sequence({"start": INT, "end": INT})
MRQA = {"subset": TEXT, "context": TEXT, "qid": TEXT, "question": TEXT}
MRQA |= {"detected_answers": Sequence({"text": TEXT, "char_spans": SPANS}), "answers": Sequence(TEXT)}
TAGS = ["O", *(f"{prefix}-{name}" for name in WNUT_TYPES for prefix in "BI")]
INDEX = {"paragraph": INT, "question": INT, "answer": INT}
WSC = {"text": TEXT, "span1_index": INT, "span2_index": INT, "span1_text": TEXT, "span2_text": TEXT, "idx": INT}
WIC = {"word": TEXT, "sentence1": TEXT, "sentence2": TEXT, "start1": INT, "start2": INT, "end1": INT, "end2": INT}


def mrqa_row(subset, question="who sat?"):
    detected = {"text": ["cat"], "char_spans": [{"start": [4], "end": [6]}]}
    return {
        "subset": subset,
        "context": A,
        "qid": "1",
        "question": question,
        "detected_answers": detected,
        "answers": ["cat", "a cat"],
    }


STSB = {"sentence1": TEXT, "sentence2": TEXT, "label": Value("float32"), "idx": INT}
COPA = dict.fromkeys(("premise", "choice1", "choice2", "question"), TEXT) | {"idx": INT}
COPA |= {"label": ClassLabel(names=["choice1", "choice2"])}
MULTIRC = {"paragraph": TEXT, "question": TEXT, "answer": TEXT, "idx": INDEX, "label": ClassLabel(names=TRUTH)}
RECORD = {"passage": TEXT, "query": TEXT, "entities": Sequence(TEXT), "answers": Sequence(TEXT)}
RECORD |= {"idx": {"passage": INT, "query": INT}}


def hub():
    """What the hub has, by path and configuration."""
    mnli = pairs("premise", "hypothesis", THREE)
    return {
        (GLUE, "cola"): sentences(["unacceptable", "acceptable"]),
        (GLUE, "sst2"): sentences(["negative", "positive"]),
        (GLUE, "mrpc"): pairs("sentence1", "sentence2", ["not_equivalent", "equivalent"]),
        (GLUE, "stsb"): splits(
            STSB,
            {"sentence1": A, "sentence2": B, "label": 1.0, "idx": 0},
            {"sentence1": B, "sentence2": A, "label": 0.0, "idx": 1},
        ),
        (GLUE, "qqp"): pairs("question1", "question2", ["not_duplicate", "duplicate"]),
        (GLUE, "mnli"): DatasetDict(
            train=mnli["train"], validation_matched=mnli["train"], validation_mismatched=mnli["train"].select([1])
        ),
        (GLUE, "qnli"): pairs("question", "sentence", ENTAILMENT),
        (GLUE, "rte"): pairs("sentence1", "sentence2", ENTAILMENT),
        (GLUE, "wnli"): pairs("sentence1", "sentence2", ["not_entailment", "entailment"]),
        (SUPERGLUE, "boolq"): pairs("question", "passage", TRUTH),
        (SUPERGLUE, "cb"): pairs("premise", "hypothesis", ["entailment", "contradiction", "neutral"]),
        (SUPERGLUE, "rte"): pairs("premise", "hypothesis", ENTAILMENT),
        (SUPERGLUE, "copa"): splits(
            COPA, {"premise": A, "choice1": B, "choice2": A, "question": "cause", "idx": 0, "label": 1}
        ),
        (SUPERGLUE, "multirc"): splits(
            MULTIRC,
            *(
                {
                    "paragraph": A,
                    "question": "who?",
                    "answer": "cat",
                    "idx": dict(zip(INDEX, at, strict=True)),
                    "label": k,
                }
                for k, at in [(1, (0, 0, 0)), (0, (0, 0, 1)), (1, (0, 1, 0)), (1, (1, 0, 0))]
            ),
        ),
        (SUPERGLUE, "record"): splits(
            RECORD,
            *(
                {
                    "passage": A,
                    "query": "@placeholder sat",
                    "entities": ["cat", "dog"],
                    "answers": ["dog"],
                    "idx": {"passage": 0, "query": k},
                }
                for k in range(2)
            ),
        ),
        (SUPERGLUE, "wic"): splits(
            WIC | {"idx": INT, "label": ClassLabel(names=TRUTH)},
            {"word": "ran", "sentence1": "a cat ran", "sentence2": B, "idx": 0, "label": 1}
            | {"start1": 6, "end1": 9, "start2": 3, "end2": 6},
        ),
        (SUPERGLUE, "wsc.fixed"): splits(
            WSC | {"label": ClassLabel(names=TRUTH)},
            {"text": "the cat sat. It ran.", "span1_index": 0, "span1_text": "the cat", "idx": 0, "label": 1}
            | {"span2_index": 3, "span2_text": "It"},
        ),
        ("mrqa-workshop/mrqa", None): splits(
            MRQA, *(mrqa_row(task.hub.only[1], f"who sat in {task.name}?") for task in SUITES["mrqa"].named)
        ),
        ("leondz/wnut_17", None): splits(
            {"id": TEXT, "tokens": Sequence(TEXT), "ner_tags": Sequence(ClassLabel(names=TAGS))},
            {"id": "0", "tokens": ["cat", "sat"], "ner_tags": [9, 0]},
        ),
        ("stanfordnlp/snli", None): splits(
            SNLI, *({"premise": A, "hypothesis": B, "label": label} for label in (0, 1, 2, -1))
        ),
        ("allenai/scitail", "snli_format"): splits(
            SCITAIL,
            *(
                {"sentence1_parse": "", "sentence1": A, "sentence2": B, "gold_label": g}
                for g in ("neutral", "entailment")
            ),
        ),
    }


@pytest.fixture(scope="module")
def on_the_hub():
    return hub()


@pytest.fixture
def reading(tmp_path, tiny_bert, monkeypatch, on_the_hub):
    monkeypatch.setattr(datasets, "load_dataset", lambda path, config=None: on_the_hub[path, config])
    return reading_in(tmp_path, tiny_bert)


@pytest.mark.parametrize("name", ["mrpc", "stsb", "qqp", "qnli", "rte", "wnli", "boolq", "cb", "superglue-rte"])
def test_pairs_and_their_numbers(reading, name):
    (task,) = load_tasks([name], reading)
    assert set(task.splits) == {"train", "dev"}  # labels of the hub's test sets are hidden
    for split in ("train", "dev"):
        rows = task.splits[split]
        assert rows.labels().tolist() == [1, 0]
        assert halves(rows, reading.tokenizer) == [(squeezed(A), squeezed(B)), (squeezed(B), squeezed(A))]


def test_numbers_mean_the_same_as_in_the_published_files(on_the_hub):
    ours = {"equivalent": "same", "duplicate": "same", "not_equivalent": "different", "not_duplicate": "different"}
    for suite in SUITES.values():
        for task in suite.named:
            label = on_the_hub[task.hub.path, task.hub.config]["train"].features.get("label")
            if isinstance(label, ClassLabel) and hasattr(task.form, "labels"):
                assert list(task.form.labels.names) == [ours.get(name, name.lower()) for name in label.names]


@pytest.mark.parametrize("name", ["cola", "sst2"])
def test_single_sentences(reading, name):
    (task,) = load_tasks([name], reading)
    assert halves(task.splits["dev"], reading.tokenizer) == [(squeezed(A), ""), (squeezed(B), "")]
    assert task.splits["dev"].labels().tolist() == [1, 0]


def test_mnli_parts(reading):
    (task,) = load_tasks(["mnli"], reading)
    assert task.splits["dev"].side["part"].tolist() == [0, 0, 1]
    assert task.splits["dev"].labels().tolist() == [1, 0, 0]


def test_groups_of_multirc_and_record(reading):
    multirc, record = load_tasks(["multirc", "record"], reading)
    assert len(set(multirc.splits["dev"].side["group"].tolist())) == 3
    assert multirc.splits["dev"].labels().tolist() == [1, 0, 1, 1]
    assert record.splits["dev"].labels().tolist() == [0, 1, 0, 1]
    assert len(set(record.splits["dev"].side["group"].tolist())) == 2
    assert [second for _, second in halves(record.splits["dev"], reading.tokenizer)] == ["catsat", "dogsat"] * 2


def test_places_and_choices(reading):
    wic, wsc, copa = load_tasks(["wic", "wsc", "copa"], reading)
    for task, expected in ((wic, ["ran", "ran"]), (wsc, ["thecat", "it"])):
        rows = task.splits["train"]
        spans = whole_batch(rows).inputs["spans"][0].tolist()
        assert [tokens_between(rows, reading.tokenizer, 0, *span) for span in spans] == expected
    assert copa.splits["train"].labels().tolist() == [1]


def test_each_set_of_mrqa_has_its_own_questions(reading):
    for task in load_tasks(["mrqa"], reading):
        rows = task.splits["dev"]
        assert halves(rows, reading.tokenizer) == [(f"whosatin{task.name}?", squeezed(A))]
        start, end = whole_batch(rows).labels[0].tolist()
        assert rows.side["passages"].excerpt(0, start, end) == "cat"
        assert rows.side["passages"].references(0) == ["cat", "a cat"]


def test_wnut_snli_and_scitail_have_test_sets(reading):
    wnut, snli, scitail = load_tasks(["wnut2017", "snli", "scitail"], reading)
    assert wnut.splits["test"].labels().tolist() == [9, 0]
    assert snli.splits["test"].labels().tolist() == [0, 1, 2]
    assert snli.notes["counted"]["train"] == {"without label": 1}
    assert scitail.splits["test"].labels().tolist() == [1, 0]
    assert list(scitail.kind.names) == ["entailment", "not_entailment"]


def test_every_published_task_is_on_the_hub(on_the_hub):
    for suite in SUITES.values():
        for task in suite.named:
            assert (task.hub.path, task.hub.config) in on_the_hub


def test_rows_that_cannot_be_right_name_their_place(reading, on_the_hub, monkeypatch):
    features = {"sentence1": TEXT, "sentence2": TEXT, "label": ClassLabel(names=["a", "b", "c"])}
    wrong = splits(features, *({"sentence1": A, "sentence2": B, "label": label} for label in (0, 2)))
    monkeypatch.setitem(on_the_hub, (GLUE, "rte"), wrong)
    with assert_refuses(
        "hub: nyu-mll/glue (rte), row 2: expected a label among entailment, not_entailment", "Found 2."
    ):
        load_tasks(["rte"], reading)


def test_neither_folder_nor_hub(tmp_path, tiny_bert, monkeypatch):
    def unreachable(path, config=None):
        raise ConnectionError(f"Couldn't reach\n'{path}' on the Hub")

    monkeypatch.setattr(datasets, "load_dataset", unreachable)
    monkeypatch.setattr("rota.data._hub.offline", lambda: None)
    monkeypatch.delenv("ROTA_DATA", raising=False)
    reading = reading_in(tmp_path, tiny_bert)
    (tmp_path / "data" / "glue" / "RTE" / "train.tsv").mkdir(parents=True)  # no file
    with assert_refuses(
        f"Expected the files of task 'rte' in {tmp_path / 'data'}, or nyu-mll/glue on the hub. Found neither",
        "(ConnectionError: Couldn't reach 'nyu-mll/glue' on the Hub)",
    ):
        load_tasks(["rte"], reading)
    with assert_refuses("Expected the files of task 'cola' in a folder (none is named: Plan(data=…)), or"):
        load_tasks(["cola"], type(reading)(encoder=str(tiny_bert), cache=tmp_path / "cache"))


@pytest.fixture
def nobody_listens(monkeypatch):
    """An address of the hub on this machine, at a port that nobody has."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{port}")


def test_a_hub_that_does_not_answer_is_asked_once(tmp_path, tiny_bert, nobody_listens, caplog, capsys):
    with assert_refuses("Found neither (127.0.0.1 does not answer). Name the folder that has them: Plan(data=…)."):
        load_tasks(["rte"], reading_in(tmp_path, tiny_bert))
    said = capsys.readouterr()
    assert "Retry" not in caplog.text + said.out + said.err
    assert datasets.config.HF_HUB_OFFLINE is False  # as it was


def test_an_encoder_of_a_hub_that_does_not_answer(nobody_listens):
    with assert_refuses(
        "Expected the encoder 'some/encoder' in a folder, or on the hub. Found neither (127.0.0.1 does"
    ):
        _ = Tokenizer("some/encoder").fast


def test_somebody_who_is_offline_by_choice_is_not_asked(nobody_listens, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert offline() == "$HF_HUB_OFFLINE is set"


def test_a_hub_that_answers_is_not_offline(nobody_listens, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.getsockname()[1]}")
        assert offline() is None


def test_without_the_package_of_the_hub(tmp_path, tiny_bert, monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with assert_refuses(f"Task 'rte' was not found in {tmp_path / 'data'}", "needs the package datasets", "rota[hub]"):
        load_tasks(["rte"], reading_in(tmp_path, tiny_bert))
    assert named_task("rte").local(None) == {}
