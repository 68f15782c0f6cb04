"""Each published task is read from small files in its own layout: rows, labels, texts, parts, groups, places."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from published import CASES
from text_tools import assert_refuses, halves, jsonl, reading_in, squeezed, tokens_between, whole_batch, write

from rota.data import SUITES, load_tasks, named_task
from rota.tasks import (
    Cloze,
    GroupedAnswers,
    MultipleChoice,
    SpanClassification,
    check_tasks,
)


@pytest.mark.parametrize("name", CASES)
def test_texts_and_labels_of_classes_and_numbers(tmp_path, tiny_bert, name):
    kind, files, splits = CASES[name]
    reading = reading_in(tmp_path, tiny_bert)
    write(tmp_path / "data", files)
    (task,) = load_tasks([name], reading)
    assert set(task.splits) == set(splits)
    for split, rows in splits.items():
        assert halves(task.splits[split], reading.tokenizer) == [(squeezed(x), squeezed(y)) for x, y, _ in rows]
        assert task.splits[split].labels().tolist() == pytest.approx([label for _, _, label in rows])
    if name == "stsb":
        assert task.kind.scale == pytest.approx(2.3)  # of 5 and 0.4
    else:
        assert task.kind == kind
    assert task.splits["train"].batch(np.arange(1)).labels.dtype == (torch.float32 if name == "stsb" else torch.int64)


def load(tmp_path, encoder, name, files, **options):
    reading = reading_in(tmp_path, encoder, **options)
    write(tmp_path / "data", files)
    return load_tasks([name], reading)[0], reading.tokenizer


def test_lines_and_rows_that_are_left_out_are_counted(tmp_path, tiny_bert):
    counted = {name: load(tmp_path, tiny_bert, name, CASES[name][1])[0].notes["counted"] for name in CASES}
    assert {name: counts for name, counts in counted.items() if counts} == {
        "qqp": {"train": {"broken lines": 2}},
        "mnli": {"dev": {"without label": 1}},
        "snli": {"train": {"without label": 1}},
    }


def test_equal_rows_of_two_files_stay_and_know_their_part(tmp_path, tiny_bert):
    task, _ = load(tmp_path, tiny_bert, "mnli", CASES["mnli"][1])
    assert task.splits["dev"].side["part"].tolist() == [0, 1, 1]
    row_stats = {"predicted": torch.tensor([1, 0, 2]), "label": task.splits["dev"].labels()}
    assert task.kind.metrics(row_stats, task.splits["dev"]) == {"accuracy_matched": 1.0, "accuracy_mismatched": 0.5}


def test_copa_asks_for_cause_or_effect(tmp_path, tiny_bert):
    row = {"premise": "the cat ran.", "choice1": "it sat", "choice2": "the dog flew", "idx": 0}
    files = {
        "superglue/COPA/train.jsonl": jsonl({**row, "question": "cause", "label": 1}),
        "superglue/COPA/val.jsonl": jsonl({**row, "question": "effect", "label": 0}),
    }
    task, tokenizer = load(tmp_path, tiny_bert, "copa", files)
    first = squeezed("the cat ran. what was the cause?")
    assert halves(task.splits["train"], tokenizer) == [[(first, "itsat"), (first, "thedogflew")]]
    assert halves(task.splits["dev"], tokenizer)[0][0][0] == squeezed("the cat ran. what happened as a result?")
    assert [task.splits[split].labels().tolist() for split in ("train", "dev")] == [[1], [0]]
    assert task.kind == MultipleChoice(2)
    files["superglue/COPA/val.jsonl"] = jsonl({**row, "question": "why", "label": 0})
    with assert_refuses("val.jsonl, line 1: expected cause, effect in column 'question'. Found 'why'."):
        load(tmp_path, tiny_bert, "copa", files)


def test_multirc_rows_are_answers_of_questions(tmp_path, tiny_bert):
    questions = [
        {"question": "who sat?", "answers": [{"text": "cat", "label": 1}, {"text": "dog", "label": 0}]},
        {"question": "where?", "answers": [{"text": "", "label": 0}]},
    ]
    content = jsonl({"idx": 0, "passage": {"text": "the cat sat", "questions": questions}})
    files = {"superglue/MultiRC/train.jsonl": content, "superglue/MultiRC/val.jsonl": content}
    task, tokenizer = load(tmp_path, tiny_bert, "multirc", files)
    rows = task.splits["dev"]
    assert halves(rows, tokenizer) == [("thecatsat", asked) for asked in ("whosat?cat", "whosat?dog", "where?")]
    assert rows.labels().tolist() == [1, 0, 0]
    assert rows.side["group"].tolist() == [0, 0, 1]
    assert task.notes["counted"] == {split: {"empty answers": 1} for split in ("train", "dev")}
    assert isinstance(task.kind, GroupedAnswers)
    row_stats = {"predicted": torch.tensor([1, 0, 1]), "label": rows.labels()}
    assert task.kind.metrics(row_stats, rows) == pytest.approx({"exact_match": 1 / 2, "f1": 2 / 3})


def test_record_rows_are_entities_in_the_gap(tmp_path, tiny_bert):
    entities = [{"start": 0, "end": 2}, {"start": 12, "end": 14}]
    query = {"query": "@placeholder ran", "answers": [{"start": 12, "end": 14, "text": "dog"}], "idx": 0}
    content = jsonl({"idx": 0, "passage": {"text": "cat sat and dog ran", "entities": entities}, "qas": [query]})
    files = {"superglue/ReCoRD/train.jsonl": content, "superglue/ReCoRD/val.jsonl": content}
    task, tokenizer = load(tmp_path, tiny_bert, "record", files)
    rows = task.splits["dev"]
    assert halves(rows, tokenizer) == [("catsatanddogran", "catran"), ("catsatanddogran", "dogran")]
    assert rows.labels().tolist() == [0, 1]
    assert isinstance(task.kind, Cloze)
    chosen = task.kind.row_stats(torch.tensor([[0.0, 1.0], [0.0, 2.0]]), rows.labels())
    assert task.kind.metrics(chosen, rows) == {"exact_match": 1.0, "f1": 1.0}


WIC = {"word": "cat", "sentence1": "the cat sat", "sentence2": "a dog and a cat.", "idx": 0, "version": 1.1}
WIC |= {"start1": 4, "end1": 7, "start2": 12, "end2": 15}
WSC = {"span1_index": 1, "span1_text": "old cat", "span2_index": 5, "span2_text": "it"}
PLACES = {
    "wic": ("WiC", {**WIC, "label": True}, ["cat", "cat"]),
    "wsc": ("WSC", {"text": "the old cat sat because it ran.", "target": WSC, "label": True}, ["oldcat", "it"]),
}


@pytest.mark.parametrize("name", PLACES)
def test_places_are_found_at_their_tokens(tmp_path, tiny_bert, name):
    folder, line, places = PLACES[name]
    content = jsonl(line, {**line, "label": False})
    files = {f"superglue/{folder}/train.jsonl": content, f"superglue/{folder}/val.jsonl": content}
    task, tokenizer = load(tmp_path, tiny_bert, name, files)
    rows = task.splits["train"]
    spans = whole_batch(rows).inputs["spans"]
    assert [tokens_between(rows, tokenizer, 0, *span) for span in spans[0].tolist()] == places
    assert rows.labels().tolist() == [1, 0]
    assert isinstance(task.kind, SpanClassification)
    assert task.kind.spans == 2


def test_every_published_task_is_tested_here_or_with_the_reading_sets():
    others = {"copa", "multirc", "record", *PLACES, *SUITES["mrqa"].tasks, "wnut2017"}
    published = {task.name for suite in SUITES.values() for task in suite.named}
    assert published == {*CASES, *others}
    assert len(published) == 26
    assert all(named_task(name).name == name for name in published)
    assert named_task("left") is None


def test_twins_unknown_names_and_order(tmp_path, tiny_bert):
    reading = reading_in(tmp_path, tiny_bert)
    write(tmp_path / "data", CASES["rte"][1] | CASES["cola"][1] | CASES["superglue-rte"][1])
    for names in (["superglue-rte", "rte"], ["superglue", "glue"]):
        with assert_refuses("Found 'superglue-rte' beside 'rte', which has the same rows. Leave one of them out."):
            load_tasks(names, reading)
    with assert_refuses("Unknown task 'colla'. Did you mean 'cola'?"):
        load_tasks(["colla"], reading)
    found = load_tasks(["rte", "cola", "rte"], reading)
    assert [task.name for task in found] == ["rte", "cola"]
    check_tasks(found)
    assert "superglue-rte" not in SUITES["camtl"].tasks
