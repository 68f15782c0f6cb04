"""Passages are read in windows that cover them, answers stand at their tokens, sentences keep their tags."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from text_tools import jsonl, reading_in, squeezed, tokens_between, tsv, whole_batch, write

from rota.data import SUITES, load_tasks
from rota.data._reading_sets import MRQA_SETS
from rota.tasks import IGNORED, Answer, Tagging

PLACES = ["house", "tree", "mat", "water"]
PASSAGE = " ".join(f"the old {name} was {colour}" for colour in ("red", "blue", "good", "bad") for name in PLACES) + "."
START = PASSAGE.index("tree was good")


def mrqa(context=PASSAGE, start=START, text="tree was good"):
    spans = {"char_spans": [[start, start + len(text) - 1]], "token_spans": [[0, 0]], "text": text}
    asked = {"qid": "1", "question": "what was good?", "answers": ["Tree was good"], "detected_answers": [spans]}
    header = {"header": {"dataset": "x", "split": "dev"}}
    return jsonl(header, {"id": "", "context": context, "context_tokens": [], "qas": [asked, asked]})


def squad(context=PASSAGE, start=START, text="tree was good"):
    asked = {"id": "1", "question": "what was good?", "answers": [{"text": text, "answer_start": start}]}
    paragraphs = [{"context": context, "qas": [asked, {**asked, "id": "2"}]}]
    return json.dumps({"version": "1.1", "data": [{"title": "t", "paragraphs": paragraphs}]})


LAYOUTS = {
    **{
        name: (name, {f"mrqa/{split}/{published}.jsonl.gz": mrqa() for split in ("train", "dev")})
        for name, published in MRQA_SETS.items()
    },
    "unpacked": ("newsqa", {"mrqa/train/NewsQA.jsonl": mrqa(), "mrqa/dev/NewsQA.jsonl": mrqa()}),
    "squad 1.1": ("squad", {"squad/train-v1.1.json": squad(), "squad/dev-v1.1.json": squad()}),
    "squad, a part": ("squad", {"squad/train-part-v1.1.json": squad(), "squad/dev-xquad-en.json": squad()}),
}


def load(folder, encoder, name, files, **options):
    reading = reading_in(folder, encoder, **options)
    write(folder / "data", files)
    return load_tasks([name], reading)[0], reading.tokenizer


def check_windows(rows, tokenizer, answer):
    """Windows of each question cover the passage one after the other; labels point at the answer where it is whole."""
    passages = rows.side["passages"]
    batch, questions = whole_batch(rows), np.array(passages.questions())
    for question in range(questions.max() + 1):
        reached, found = 0, 0
        for row in np.flatnonzero(questions == question):
            inside = [place for place in range(40) if passages.excerpt(row, place, place) is not None]
            window = passages.excerpt(row, inside[0], inside[-1])
            assert squeezed(window) == tokens_between(rows, tokenizer, row, inside[0], inside[-1])
            begin = PASSAGE.index(window)  # a window is long enough to stand there only once
            assert begin <= reached
            reached = begin + len(window)
            places = batch.labels[row].tolist()
            assert (places != [0, 0]) == (answer in window)
            if answer in window:
                assert passages.excerpt(row, *places) == answer
                assert tokens_between(rows, tokenizer, row, *places) == squeezed(answer)
                found += 1
        assert reached == len(PASSAGE)
        assert found > 0


@pytest.mark.parametrize("layout", LAYOUTS)
def test_windows_cover_the_passage_and_point_at_the_answer(tmp_path, tiny_bert, layout):
    name, files = LAYOUTS[layout]
    task, tokenizer = load(tmp_path, tiny_bert, name, files, longest=40)
    assert task.kind == Answer()
    for split in ("train", "dev"):
        rows = task.splits[split]
        assert len(rows) > 4
        check_windows(rows, tokenizer, "tree was good")
        assert task.notes["counted"][split] == {"read in several windows": 2}
        others = ["Tree was good"] if "mrqa/" in next(iter(files)) else []
        assert rows.side["passages"].references(1) == ["tree was good", *others]


def test_every_set_is_tested():
    assert {name for name, _ in LAYOUTS.values()} == set(SUITES["mrqa"].tasks)


@pytest.mark.parametrize("encoder", ["tiny_bert", "tiny_roberta"])
@pytest.mark.parametrize("longest", [8, 9, 13, 16, 20, 24, 31, 64])
def test_windows_of_any_length(tmp_path, request, encoder, longest):
    passage = "the red cat, the blue dog and naïve birds"
    files = LAYOUTS["squad 1.1"][1] | {"squad/train-v1.1.json": squad(passage, 4, "red")}
    task, _ = load(tmp_path, request.getfixturevalue(encoder), "squad", files, longest=longest)
    rows = task.splits["train"]
    assert rows.lengths().max() <= longest
    labels = whole_batch(rows).labels.tolist()
    found = {rows.side["passages"].excerpt(row, *places) for row, places in enumerate(labels)} - {None}
    room = (encoder, longest) != ("tiny_roberta", 8)  # where only two letters of the passage are in a window
    assert found == ({"red"} if room else set())
    assert task.notes["counted"].get("train", {}).get("answer in no window", 0) == (0 if room else 2)


def test_the_right_tokens_score_one(tmp_path, tiny_bert):
    task, _ = load(tmp_path, tiny_bert, "squad", LAYOUTS["squad 1.1"][1], longest=40)
    rows = task.splits["dev"]
    labels = whole_batch(rows).labels
    outputs = torch.zeros(len(rows), 40, 2)
    for row, places in enumerate(labels.tolist()):
        for side, place in enumerate(places):
            outputs[row, place, side] = 10.0
    assert task.kind.metrics(task.kind.row_stats(outputs, labels), rows) == {"exact_match": 1.0, "f1": 1.0}


def test_wnut_words_and_tags(tmp_path, tiny_bert):
    content = "Paris\tB-location\nwas\tO\nred\tO\n\n@cat\tB-person\nran\tI-person\n"
    names = ("wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated")
    task, tokenizer = load(tmp_path, tiny_bert, "wnut2017", {f"wnut2017/{name}": content for name in names})
    assert isinstance(task.kind, Tagging)
    assert task.kind.names[:3] == ("O", "B-corporation", "I-corporation")
    assert len(task.kind.names) == 13
    for split in ("train", "dev", "test"):
        batch = whole_batch(task.splits[split])
        words = [task.kind.names[tag] for tag in batch.labels[0].tolist() if tag != IGNORED]
        assert words == ["B-location", "O", "O"]
        marked = [
            tokenizer.fast.convert_ids_to_tokens(int(token))
            for token, tag in zip(batch.inputs["tokens"][0], batch.labels[0], strict=True)
            if tag != IGNORED
        ]
        assert marked == ["p", "was", "red"]  # the first piece of each word
        assert task.splits[split].side["words"].tolist() == [3, 2]


OTHER_LAYOUTS = {
    "snli": {
        "snli/train-18k.tsv": tsv([1, 1, "a cat", "it sat"], [3, 3, "a dog", "it ran"], [2, 2, "a dog", "it sat"]),
        "snli/dev.jsonl": jsonl({"premise": "a cat", "hypothesis": "it sat", "label": "neutral"}),
        "snli/test-2k.tsv": tsv([2, 2, "a cat", "it ran"]),
    },
    "scitail": {
        "scitail/scitail_1.0_train.tsv": tsv(["a cat", "it sat", "neutral"], ["a cat", "a pet", "entails"]),
        "scitail/dev.jsonl": jsonl({"premise": "a cat", "hypothesis": "it sat", "label": "not_entailment", "tag": ""}),
        "scitail/test.jsonl": jsonl({"premise": "a cat", "hypothesis": "it sat", "label": "entailment", "tag": ""}),
    },
}


@pytest.mark.parametrize(("name", "labels"), [("snli", [[1, 0, 2], [1], [2]]), ("scitail", [[1, 0], [1], [0]])])
def test_other_layouts_that_go_around(tmp_path, tiny_bert, name, labels):
    task, _ = load(tmp_path, tiny_bert, name, OTHER_LAYOUTS[name])
    assert [task.splits[split].labels().tolist() for split in ("train", "dev", "test")] == labels


def test_the_published_file_is_preferred_to_another(tmp_path, tiny_bert):
    line = {"sentence1": "a dog", "sentence2": "it sat", "gold_label": "entailment"}
    task, _ = load(tmp_path, tiny_bert, "snli", OTHER_LAYOUTS["snli"] | {"snli/snli_1.0_dev.jsonl": jsonl(line)})
    assert task.splits["dev"].labels().tolist() == [0]
