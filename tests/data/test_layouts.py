"""Published layouts that are no tables: what they become, and what is refused."""

from __future__ import annotations

import json

import pytest
from text_tools import assert_refuses, jsonl, write

from rota.data._files import Record, Tally
from rota.data._forms import TwoPlaces
from rota.data._forms_inside import Answered
from rota.data._labels import Labels
from rota.data._layouts import (
    mrqa_from_hub,
    multirc_from_hub,
    read_conll,
    read_mrqa,
    read_multirc,
    read_record,
    read_squad,
    read_wsc,
    record_from_hub,
)


def read(folder, reader, content, name="file"):
    path = write(folder, {name: content}) / name
    return list(reader(path, Tally()))


def fields(*args):
    return [dict(record.fields) for record in read(*args)]


# Sentences in columns


def test_conll_sentences(tmp_path):
    content = "the\tO\ncat\tB-pet\n\n\n \nold\tO\ndog\tI-pet \n"
    assert fields(tmp_path, read_conll, content) == [
        {"words": ["the", "cat"], "tags": ["O", "B-pet"]},
        {"words": ["old", "dog"], "tags": ["O", "I-pet"]},
    ]
    assert [record.where[-6:] for record in read(tmp_path, read_conll, content)] == ["line 1", "line 6"]


def test_conll_with_four_columns_spaces_and_documents(tmp_path):
    content = "-DOCSTART- -X- O O\r\n\r\nEU NNP I-NP B-ORG\r\nrejects VBZ I-VP O\r\n"
    assert fields(tmp_path, read_conll, content) == [{"words": ["EU", "rejects"], "tags": ["B-ORG", "O"]}]


def test_conll_words_may_hold_odd_spaces(tmp_path):
    assert fields(tmp_path, read_conll, "a\u2028b c\tO\n\xa0x\tO\n")[0]["words"] == ["a\u2028b c", "\xa0x"]


@pytest.mark.parametrize("line", ["word", "\tO", " \tO"])
def test_conll_lines_without_word_or_tag(tmp_path, line):
    with assert_refuses(tmp_path / "file", f"line 2: expected a word and its tag. Found '{line}'."):
        read(tmp_path, read_conll, f"the\tO\n{line}\n")


# Answers in passages


def squad(*questions, context="the cat sat"):
    return json.dumps({"data": [{"title": "t", "paragraphs": [{"context": context, "qas": list(questions)}]}]})


def asked(start=4, text="cat", **more):
    return {"id": "q1", "question": "who sat?", "answers": [{"text": text, "answer_start": start}], **more}


def test_squad_questions(tmp_path):
    (found,) = read(tmp_path, read_squad, squad(asked()))
    assert found.fields == {
        "context": "the cat sat",
        "question": "who sat?",
        "answers": [{"text": "cat", "start": 4}],
    }
    assert found.where == f"{tmp_path / 'file'}, article 1, question 'q1'"


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("[1]", ["file: expected articles as in SQuAD 1.1. Found another layout (list indices"]),
        ('{"version": "1.1"}', ["file: expected articles as in SQuAD 1.1. Found one without 'data'."]),
        ('{"data": [{}]}', ["article 1: expected articles as in SQuAD 1.1. Found one without 'paragraphs'."]),
        ('{"data": [{"paragraphs": [{"qas": ["x"]}]}]}', ["article 1: expected articles as in SQuAD 1.1"]),
        (squad({"question": "who?", "answers": [{"text": "cat"}]}), ["question 'who?'", "without 'answer_start'"]),
        (squad(asked())[:-5], ["file: expected JSON. Found a damaged or truncated file"]),
    ],
)
def test_squad_of_another_layout(tmp_path, content, parts):
    with assert_refuses(tmp_path / "file", *parts):
        read(tmp_path, read_squad, content)


def answered(folder, content, **options):
    return [Answered(**options).example(record, Tally()) for record in read(folder, read_squad, content)]


@pytest.mark.parametrize(
    ("start", "text", "found"),
    [(5, "cat", "at "), (-7, "cat", "the"), (99, "cat", ""), (4, "", ""), (3, " ", " "), (8, "sat!", "sat")],
)
def test_answers_that_do_not_stand_where_they_should(tmp_path, start, text, found):
    wish = f"expected the answer '{text}' at character {start} of its passage. Found '{found}'."
    with assert_refuses(tmp_path / "file", "question 'q1'", wish):
        answered(tmp_path, squad(asked(start, text)))


def test_spaces_around_an_answer_are_no_part_of_it(tmp_path):
    (found,) = answered(tmp_path, squad(asked(3, " cat ")))
    assert found.answer == (4, 7)


@pytest.mark.parametrize("answers", ["cat", ["cat"], [{"start": 4}], [{"text": "cat", "start": "4"}], [{"text": 1}]])
def test_answers_of_another_shape(answers):
    record = Record({"question": "who?", "context": "the cat", "answers": answers}, "here")
    with assert_refuses("here: expected a list of answers, each with text and start, in column 'answers'. Found "):
        Answered().example(record, Tally())


def test_answers_as_datasets_has_them():
    answers = {"text": ["cat", "the cat"], "answer_start": [4, 0]}
    found = Answered().example(Record({"question": "who?", "context": "the cat", "answers": answers}, ""), Tally())
    assert found.answer == (4, 7)
    assert found.references == ("cat", "the cat")


def test_questions_without_answers_are_refused_or_counted():
    record = Record({"question": "who?", "context": "the cat", "answers": []}, "here")
    with assert_refuses("here: expected at least one answer. Found none."):
        Answered().example(record, Tally())
    tally = Tally()
    assert Answered(unlabelled=True).example(record, tally) is None
    assert tally.counts == {"without label": 1}


def mrqa(*spans, answers=("cat",)):
    detected = [{"text": "cat", "char_spans": [list(span) for span in spans], "token_spans": [[1, 1]]}]
    question = {"question": "who sat?", "qid": "q", "answers": list(answers), "detected_answers": detected}
    header = {"header": {"dataset": "SQuAD", "split": "train"}}
    return jsonl(header, {"context": "the cat sat", "qas": [question]})


def test_both_ends_of_an_mrqa_span_are_inside_it(tmp_path):
    assert fields(tmp_path, read_mrqa, mrqa((4, 6), (0, 10), answers=["cat", "a cat"]), "a.jsonl.gz") == [
        {
            "context": "the cat sat",
            "question": "who sat?",
            "answers": [
                {"text": "cat", "start": 4},
                {"text": "the cat sat", "start": 0},
                {"text": "cat", "start": None},
                {"text": "a cat", "start": None},
            ],
        }
    ]


@pytest.mark.parametrize("span", [(4, 11), (-1, 3), (7, 6), (99, 100), (4, None), ("4", "6")])
def test_mrqa_spans_outside_their_text(tmp_path, span):
    with assert_refuses(
        tmp_path / "file", "line 2: expected a span inside its text of 11 characters", f"Found {span[0]} to"
    ):
        read(tmp_path, read_mrqa, mrqa(span))


@pytest.mark.parametrize("damage", ['"char_spans"', '"detected_answers"', '"question"'])
def test_mrqa_of_another_layout(tmp_path, damage):
    content = mrqa((4, 6)).replace(damage, '"other"')
    with assert_refuses(
        tmp_path / "file", f"line 2: expected questions as in MRQA. Found one without '{damage[1:-1]}'."
    ):
        read(tmp_path, read_mrqa, content)
    with assert_refuses("line 2: expected questions as in MRQA. Found another layout"):
        read(tmp_path, read_mrqa, mrqa((4, 5, 6)))


def test_mrqa_of_the_hub_has_its_spans_in_columns():
    detected = {
        "text": ["cat"],
        "char_spans": [{"start": [4], "end": [6]}],
        "token_spans": [{"start": [1], "end": [1]}],
    }
    row = {"context": "the cat sat", "question": "who?", "detected_answers": detected, "answers": ["cat"]}
    (found,) = mrqa_from_hub(Record(row, "here"), 1)
    assert found.fields["answers"] == [{"text": "cat", "start": 4}, {"text": "cat", "start": None}]


# Several answers to one question


def test_multirc_answers_are_rows_grouped_by_question(tmp_path):
    questions = [
        {"question": "who?", "answers": [{"text": "cat", "label": 1}, {"text": "dog", "label": 0}]},
        {"question": "where?", "answers": [{"text": "mat"}]},
    ]
    line = {"idx": 0, "passage": {"text": "the cat sat", "questions": questions}}
    found = fields(tmp_path, read_multirc, jsonl(line, line))
    assert [row["group"] for row in found] == [0, 0, 1, 2, 2, 3]
    assert found[1] == {"paragraph": "the cat sat", "question": "who?", "answer": "dog", "label": 0, "group": 0}
    assert found[2]["label"] is None


@pytest.mark.parametrize(
    ("reader", "line", "part"),
    [
        (read_multirc, {"passage": {"text": "x"}}, "expected questions as in MultiRC. Found one without 'questions'"),
        (read_multirc, {"passage": "x"}, "expected questions as in MultiRC. Found another layout"),
        (read_multirc, {"text": "x"}, "expected a column 'passage'. Found text."),
        (read_record, {"passage": {"text": "x"}, "qas": []}, "queries as in ReCoRD. Found one without 'entities'"),
        (read_wsc, {"text": "x", "target": 3}, "expected two spans in column 'target'. Found 3."),
        (read_wsc, {"text": "x", "target": {}}, "expected a column 'span1_index'. Found text, target."),
    ],
)
def test_nested_lines_of_another_layout(tmp_path, reader, line, part):
    with assert_refuses(tmp_path / "file", "line 1", part):
        read(tmp_path, reader, jsonl(line))


def test_multirc_of_the_hub_keeps_its_questions_apart():
    rows = [{"idx": {"paragraph": p, "question": q, "answer": 0}} for p, q in [(0, 1), (0, 2), (1, 1), (0, 1)]]
    groups = [next(multirc_from_hub(Record(row, ""), k)).fields["group"] for k, row in enumerate(rows)]
    assert groups[0] == groups[3]
    assert len(set(groups)) == 3


PASSAGE = "Paris is old. Paris likes the New York zoo."


def record_line(entities=((0, 4), (14, 18), (30, 37)), query="@placeholder is old", answers=("Paris",)):
    entities = [{"start": start, "end": end} for start, end in entities]
    found = [{"start": 0, "end": 4, "text": text} for text in answers]
    return {"passage": {"text": PASSAGE, "entities": entities}, "qas": [{"query": query, "answers": found}]}


def test_each_entity_of_record_fills_the_gap_once(tmp_path):
    found = fields(tmp_path, read_record, jsonl(record_line(), record_line(answers=["New York zoo"])))
    assert [row["query"] for row in found] == ["Paris is old", "New York is old"] * 2
    assert [row["group"] for row in found] == [0, 0, 1, 1]
    assert [row["label"] for row in found] == [1, 0, 0, 0]
    assert [row["exact"] for row in found] == [1, 0, 0, 0]
    assert [row["f1"] for row in found] == pytest.approx([1, 0, 0, 4 / 5])  # 2 of 2 and 2 of 3 words


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"query": "it is old"}, "expected a query with @placeholder. Found 'it is old'."),
        ({"entities": []}, "expected entities that may fill the gap. Found none."),
        ({"entities": [(40, 43)]}, "expected a span inside its text of 43 characters. Found 40 to 43."),
    ],
)
def test_record_lines_that_make_no_gap(tmp_path, change, part):
    with assert_refuses(tmp_path / "file", "line 1", part):
        read(tmp_path, read_record, jsonl(record_line(**change)))


def test_record_of_the_hub_makes_the_same_rows(tmp_path):
    row = {"passage": PASSAGE, "query": "@placeholder is old", "entities": ["Paris", "New York"], "answers": ["Paris"]}
    found = [dict(record.fields) for record in record_from_hub(Record(row, "here"), 0)]
    assert found == fields(tmp_path, read_record, jsonl(record_line()))


# Places by the numbers of words


@pytest.mark.parametrize(
    ("text", "index", "phrase", "excerpt"),
    [
        ("the cat sat", 1, "cat", "cat"),
        ("the cat sat.", 2, "sat", "sat"),
        ('"The cat" sat', 0, "the cat", "The cat"),
        ("the  old\tcat sat", 1, "old cat", "old\tcat"),
        ("a old cat\nsat", 1, "old\ncat sat", "old cat\nsat"),
        ("it sat and it ran", 3, "it", "it"),
        ("he sat with it", 2, "it", "it"),  # a wrong number: the nearest one, but no part of a word
        ("the cat sat", 1, "dog", "cat"),
    ],
)
def test_wsc_phrases_are_found_at_their_words(tmp_path, text, index, phrase, excerpt):
    target = {"span1_index": index, "span1_text": phrase, "span2_index": 0, "span2_text": text.split()[0]}
    (found,) = fields(tmp_path, read_wsc, jsonl({"text": text, "target": target, "label": True}))
    start, end = found["span1_start"], found["span1_end"]
    assert text[start:end] == excerpt
    assert start >= (11 if phrase == "it" and "and" in text else 0)


@pytest.mark.parametrize(("index", "phrase"), [(3, "cat"), (-1, "cat"), (2, "sat down"), ("1", "cat")])
def test_wsc_words_outside_their_text(tmp_path, index, phrase):
    target = {"span1_index": index, "span1_text": phrase, "span2_index": 0, "span2_text": "the"}
    with assert_refuses(tmp_path / "file", f"line 1: expected '{phrase}' in a text of 3 words. Found word {index}."):
        read(tmp_path, read_wsc, jsonl({"text": "the cat sat", "target": target, "label": True}))


@pytest.mark.parametrize(("start", "end"), [(0, 12), (-1, 3), (5, 5), (7, 6), ("0", 3), (0.0, 3)])
def test_places_outside_their_text(start, end):
    form = TwoPlaces(("text",), Labels(("false", "true")), ((0, "start", "end"),))
    record = Record({"text": "the cat sat", "label": True, "start": start, "end": end}, "here")
    with assert_refuses(f"here: expected a span inside its text of 11 characters. Found {start} to {end}."):
        form.example(record, Tally())
