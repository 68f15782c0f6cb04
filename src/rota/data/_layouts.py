"""Published layouts that are not plain tables: sentences in columns, passages with questions inside."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rota.data._files import Read, Record, Tally, json_file, lines, read_jsonl
from rota.errors import RotaError
from rota.tasks import exact_match, overlap_f1

ODD = (KeyError, TypeError, AttributeError)
"""What goes wrong inside JSON of another layout."""


def renamed(read: Read, names: Mapping[str, str]) -> Read:
    """Another reader, with new names for some of its columns."""

    def read_renamed(path: Path, tally: Tally) -> Iterator[Record]:
        for record in read(path, tally):
            yield Record({names.get(name, name): value for name, value in record.fields.items()}, record.where)

    return read_renamed


def read_conll(path: Path, tally: Tally) -> Iterator[Record]:
    """Sentences with one word per line, the word first and its tag last, empty lines between them."""
    words: list[str] = []
    tags: list[str] = []
    start = 1
    for number, line in itertools.chain(lines(path), [(0, "")]):
        cells = line.split("\t") if "\t" in line else line.split()
        if not line.strip():
            if words:
                yield Record({"words": words, "tags": tags}, f"{path}, line {start}")
            words, tags = [], []
        elif len(cells) < 2 or not cells[0].strip():
            raise RotaError(f"{path}, line {number}: expected a word and its tag. Found '{line[:60]}'.")
        elif cells[0] != "-DOCSTART-":
            start = start if words else number
            words.append(cells[0])
            tags.append(cells[-1].strip())


def read_squad(path: Path, tally: Tally) -> Iterator[Record]:
    """The JSON of SQuAD 1.1: articles, paragraphs, questions, answers."""
    content = json_file(path)
    where = str(path)
    try:
        for number, article in enumerate(content["data"], start=1):
            where = f"{path}, article {number}"
            for paragraph in article["paragraphs"]:
                for question in paragraph["qas"]:
                    where = f"{path}, article {number}, question {question.get('id', question['question'])!r}"
                    answers = [{"text": a["text"], "start": a["answer_start"]} for a in question.get("answers", [])]
                    yield Record(
                        {"context": paragraph["context"], "question": question["question"], "answers": answers}, where
                    )
    except ODD as error:
        raise _another(where, "articles as in SQuAD 1.1", error) from error


def read_mrqa(path: Path, tally: Tally) -> Iterator[Record]:
    """The JSON lines of MRQA: a header, then passages with questions and the answers that were detected in them."""
    for record in read_jsonl(path, tally):
        if "header" in record.fields:
            continue
        context, questions = record.text("context"), record.get("qas")
        try:
            asked = [
                (
                    question["question"],
                    [(a, b) for detected in question["detected_answers"] for a, b in detected["char_spans"]],
                    question.get("answers", []),
                )
                for question in questions
            ]
        except (*ODD, ValueError) as error:
            raise _another(record.where, "questions as in MRQA", error) from error
        for question, spans, answers in asked:
            yield _detected(context, question, spans, answers, record.where)


def mrqa_from_hub(record: Record, number: int) -> Iterator[Record]:
    """A row of MRQA as the hub has it."""
    spans = [
        span
        for found in record.get("detected_answers")["char_spans"]
        for span in zip(found["start"], found["end"], strict=True)
    ]
    yield _detected(record.text("context"), record.text("question"), spans, record.get("answers"), record.where)


def _detected(
    context: str, question: str, spans: Iterable[tuple[int, int]], answers: Iterable[str], where: str
) -> Record:
    placed = [{"text": _excerpt(context, begin, end, where), "start": begin} for begin, end in spans]
    others = [{"text": text, "start": None} for text in answers]
    return Record({"context": context, "question": question, "answers": [*placed, *others]}, where)


def read_multirc(path: Path, tally: Tally) -> Iterator[Record]:
    """MultiRC: passages with questions, questions with answers; each answer is a row."""
    group = 0
    for record in read_jsonl(path, tally):
        passage = record.get("passage")
        try:
            for question in passage["questions"]:
                for answer in question["answers"]:
                    yield Record(
                        {
                            "paragraph": passage["text"],
                            "question": question["question"],
                            "answer": answer["text"],
                            "label": answer.get("label"),
                            "group": group,
                        },
                        record.where,
                    )
                group += 1
        except ODD as error:
            raise _another(record.where, "questions as in MultiRC", error) from error


def multirc_from_hub(record: Record, number: int) -> Iterator[Record]:
    """A row of MultiRC as the hub has it: already one answer."""
    index = record.get("idx")
    group = index["paragraph"] * 10_000 + index["question"]
    yield Record({**record.fields, "group": group}, record.where)


def read_record(path: Path, tally: Tally) -> Iterator[Record]:
    """ReCoRD: a passage with its entities, and queries with a gap; each entity in the gap is a row."""
    group = 0
    for record in read_jsonl(path, tally):
        passage = record.get("passage")
        try:
            text = passage["text"]
            entities = [_excerpt(text, entity["start"], entity["end"], record.where) for entity in passage["entities"]]
            for question in record.get("qas"):
                answers = [answer["text"] for answer in question.get("answers", [])]
                yield from _gaps(text, question["query"], entities, answers, group, record.where)
                group += 1
        except ODD as error:
            raise _another(record.where, "queries as in ReCoRD", error) from error


def record_from_hub(record: Record, number: int) -> Iterator[Record]:
    """A row of ReCoRD as the hub has it: one query."""
    passage, query = record.text("passage"), record.text("query")
    yield from _gaps(passage, query, record.get("entities"), record.get("answers"), number, record.where)


def _gaps(
    passage: str, query: str, entities: list[str], answers: list[str], group: int, where: str
) -> Iterator[Record]:
    if "@placeholder" not in query:
        raise RotaError(f"{where}: expected a query with @placeholder. Found '{query[:60]}'.")
    if not entities:
        raise RotaError(f"{where}: expected entities that may fill the gap. Found none.")
    for entity in dict.fromkeys(entities):
        exact = exact_match(entity, answers)
        fields = {
            "passage": passage,
            "query": query.replace("@placeholder", entity),
            "label": int(exact),
            "group": group,
            "exact": exact,
            "f1": overlap_f1(entity, answers),
        }
        yield Record(fields, where)


def read_wsc(path: Path, tally: Tally) -> Iterator[Record]:
    """WSC: a text, a noun phrase and a pronoun in it by the number of their first word."""
    for record in read_jsonl(path, tally):
        target = record.get("target")
        if not isinstance(target, dict):
            raise RotaError(f"{record.where}: expected two spans in column 'target'. Found {target!r}.")
        yield from wsc_places(Record({**record.fields, **target}, record.where), 0)


def wsc_places(record: Record, number: int) -> Iterator[Record]:
    """The same record with characters instead of word numbers.

    A phrase is looked for around its word: some words bring a quote or a full stop along, and in the published files
    one number is wrong and one phrase breaks its line elsewhere.
    """
    text = record.text("text")
    words = list(re.finditer(r"\S+", text))
    places: dict[str, Any] = {}
    for name in ("span1", "span2"):
        index, phrase = record.get(f"{name}_index"), record.text(f"{name}_text")
        count = len(phrase.split())
        if not isinstance(index, int) or not 0 <= index <= len(words) - count:
            raise RotaError(f"{record.where}: expected '{phrase}' in a text of {len(words)} words. Found word {index}.")
        first, last = words[index].start(), words[index + count - 1].end()
        pattern = r"\s+".join(map(re.escape, phrase.split()))
        found = [match.span() for match in re.finditer(rf"(?<!\w){pattern}(?!\w)", text, re.IGNORECASE)]
        start, end = min(found, key=lambda span: abs(span[0] - first), default=(first, last))
        places |= {f"{name}_start": start, f"{name}_end": end}
    yield Record({**record.fields, **places}, record.where)


def _excerpt(text: str, begin: int, end: int, where: str) -> str:
    """The characters from one to another, both inside."""
    if not (isinstance(begin, int) and isinstance(end, int) and 0 <= begin <= end < len(text)):
        raise RotaError(f"{where}: expected a span inside its text of {len(text)} characters. Found {begin} to {end}.")
    return text[begin : end + 1]


def _another(where: str, expected: str, error: Exception) -> RotaError:
    """The sentence for JSON of another layout."""
    found = f"one without {error}" if isinstance(error, KeyError) else f"another layout ({error})"
    return RotaError(f"{where}: expected {expected}. Found {found}.")
