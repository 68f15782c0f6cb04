"""From examples to arrays of tokens."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from rota.data._arrays import ArrayWriter
from rota.data._examples import AnyExample, Example, Question, Sentence
from rota.data._files import Tally
from rota.data._tokenizer import Tokenizer
from rota.tasks import IGNORED, entities

CHUNK = 1000  # examples that are tokenised at once

# Arrays of a split. Flat: one entry per token of all texts after each other; ends: where each text ends in them.
#   tokens, ends, second (the token of each text where its second half begins), labels,
#   spans [rows, S, 2], tags (flat), offsets (flat, [begin, end] in the passage or -1),
#   side_* (what metrics know, one per row), and for questions passages and references (JSON) as bytes with their ends.


def encode(
    examples: Iterable[AnyExample],
    tokenizer: Tokenizer,
    longest: int,
    writer: ArrayWriter,
    tally: Tally,
    keep: bool,
    names: Sequence[str] = (),
) -> None:
    """Tokenise examples and write their arrays.

    Args:
        examples: All of one type.
        tokenizer: Cuts the texts.
        longest: Most tokens in a text; longer ones are cut and counted, passages are read in overlapping windows.
        writer: Takes the arrays.
        tally: Counts what was cut or left out.
        keep: Whether an example stays that has lost what it is about; it is then counted, but neither left out nor
            known to be right. For rows that are evaluated.
        names: Of the tags, where examples are sentences.
    """
    questions = 0
    for chunk in _chunks(examples):
        match chunk[0]:
            case Example():
                _encode_texts(chunk, tokenizer, longest, writer, tally, keep)
            case Sentence():
                _encode_sentences(chunk, tokenizer, longest, writer, tally, names)
            case Question():
                _encode_questions(chunk, tokenizer, longest, writer, tally, questions)
                questions += len(chunk)


def _chunks(examples: Iterable[AnyExample]) -> Iterator[list[Any]]:
    iterator = iter(examples)
    while chunk := list(itertools.islice(iterator, CHUNK)):
        yield chunk


def _encode_texts(
    chunk: list[Example], tokenizer: Tokenizer, longest: int, writer: ArrayWriter, tally: Tally, keep: bool
) -> None:
    firsts = [first for example in chunk for first, _ in example.texts]
    seconds = [second for example in chunk for _, second in example.texts]
    paired = seconds[0] is not None  # then all of them are, even if some are empty
    found = tokenizer.fast(firsts, seconds if paired else None, truncation=True, max_length=longest).encodings
    choices = len(chunk[0].texts)
    kept: list[int] = []
    for row, example in enumerate(chunk):
        own = found[row * choices : (row + 1) * choices]
        tally.add("truncated", int(any(encoding.overflowing for encoding in own)))
        if example.places:
            places = [_tokens_at(own[0], *place) for place in example.places]
            if None in places:
                tally.add("lost a span" if keep else "left out: lost a span")
                if not keep:
                    continue
            spans = [[0, 0] if place is None else list(place) for place in places]
            writer.add("spans", np.array([spans], dtype=np.int32))
        kept.append(row)
    encodings = [encoding for row in kept for encoding in found[row * choices : (row + 1) * choices]]
    _add_tokens(encodings, paired, writer)
    labels = [chunk[row].label for row in kept]
    whole = all(isinstance(label, int) for label in labels)
    writer.add("labels", np.array(labels, dtype=np.int64 if whole else np.float32))
    for name in chunk[0].side:
        writer.add(f"side_{name}", np.array([chunk[row].side[name] for row in kept]))


def _encode_sentences(
    chunk: list[Sentence],
    tokenizer: Tokenizer,
    longest: int,
    writer: ArrayWriter,
    tally: Tally,
    names: Sequence[str],
) -> None:
    words = [list(sentence.words) for sentence in chunk]
    found = _cut_words(words, tokenizer, longest)
    for k, encoding in enumerate(found):  # words that leave no token behind, such as lone control characters
        seen = {word for word in encoding.word_ids if word is not None}
        reached = max(seen) + 1 if encoding.overflowing else len(words[k])
        vanished = {word for word in range(reached) if word not in seen}
        if vanished:
            unknown = tokenizer.fast.unk_token or "?"
            words[k] = [unknown if word in vanished else text for word, text in enumerate(words[k])]
            found[k] = _cut_words([words[k]], tokenizer, longest)[0]
            tally.add("words without a token", len(vanished))
    _add_tokens(found, False, writer)
    lost = []
    for sentence, encoding in zip(chunk, found, strict=True):
        tags = np.full(len(encoding.ids), IGNORED, dtype=np.int16)
        previous = None
        for position, word in enumerate(encoding.word_ids):
            if word is not None and word != previous:
                tags[position] = sentence.tags[word]
            previous = word
        writer.add("tags", tags)
        visible = int((tags != IGNORED).sum())
        tally.add("truncated", int(visible < len(sentence.tags)))
        lost.append(_entities_lost([names[tag] for tag in sentence.tags], visible))
    writer.add("side_words", np.array([len(sentence.tags) for sentence in chunk], dtype=np.int64))
    writer.add("side_lost", np.array(lost, dtype=np.int64))


def _entities_lost(tags: list[str], visible: int) -> int:
    """Named entities that a cut after the visible words takes away."""
    return len(entities(tags)) - len(entities(tags[:visible]))


def _cut_words(words: list[list[str]], tokenizer: Tokenizer, longest: int) -> list[Any]:
    return list(tokenizer.of_words(words, is_split_into_words=True, truncation=True, max_length=longest).encodings)


def _encode_questions(
    chunk: list[Question], tokenizer: Tokenizer, longest: int, writer: ArrayWriter, tally: Tally, before: int
) -> None:
    room = longest - tokenizer.fast.num_special_tokens_to_add(pair=True)
    most = room // 2
    asked = _short_questions([example.question for example in chunk], tokenizer, most, tally)
    found = tokenizer.fast(
        asked,
        [example.passage for example in chunk],
        truncation="only_second",
        max_length=longest,
        stride=max(min(longest // 3, room - most - 2), 0),
        return_overflowing_tokens=True,
    )
    owners = np.array(found["overflow_to_sample_mapping"])
    labels = []
    for owner, encoding in zip(owners, found.encodings, strict=True):
        inside = np.array([sequence == 1 for sequence in encoding.sequence_ids])
        offsets = np.where(inside[:, None], np.array(encoding.offsets, dtype=np.int32), -1).astype(np.int32)
        writer.add("offsets", offsets)
        labels.append(_answer_tokens(chunk[owner].answer, offsets))
    _add_tokens(found.encodings, True, writer)
    writer.add("labels", np.array(labels, dtype=np.int64))
    writer.add("side_question", owners.astype(np.int64) + before)
    windows = np.bincount(owners, minlength=len(chunk))
    tally.add("read in several windows", int((windows > 1).sum()))
    seen = np.bincount(owners, weights=[label != (0, 0) for label in labels], minlength=len(chunk)) > 0
    tally.add("answer in no window", sum(example.answer is not None for example in chunk) - int(seen.sum()))
    for name, texts in (
        ("passage", [example.passage for example in chunk]),
        ("references", [json.dumps(example.references) for example in chunk]),
    ):
        packed = [text.encode() for text in texts]
        writer.add(f"{name}_ends", writer.ends(f"{name}_bytes", np.array([len(text) for text in packed])))
        writer.add(f"{name}_bytes", np.frombuffer(b"".join(packed), dtype=np.uint8))


def _short_questions(questions: list[str], tokenizer: Tokenizer, most: int, tally: Tally) -> list[str]:
    """Questions that leave room for the passage."""
    found = tokenizer.fast(questions, add_special_tokens=False, truncation=True, max_length=most).encodings
    cut = [k for k, encoding in enumerate(found) if encoding.overflowing]
    tally.add("question truncated", len(cut))
    shorter = {k: questions[k][: found[k].offsets[-1][1]] for k in cut}
    return [shorter.get(k, text) for k, text in enumerate(questions)]


def _answer_tokens(answer: tuple[int, int] | None, offsets: Any) -> tuple[int, int]:
    """First and last token of the answer in a window; (0, 0), the token that stands for none, where it is not whole."""
    if answer is None:
        return 0, 0
    start, end = answer
    inside = np.flatnonzero((offsets[:, 0] >= 0) & (offsets[:, 1] > start) & (offsets[:, 0] < end))
    if not len(inside) or offsets[inside[0], 0] > start or offsets[inside[-1], 1] < end:
        return 0, 0
    return int(inside[0]), int(inside[-1])


def _tokens_at(encoding: Any, text: int, start: int, end: int) -> tuple[int, int] | None:
    """First and last token of a place in a text; None where it was cut off."""
    tokens = [encoding.char_to_token(char, text) for char in range(start, end)]
    real = [token for token in tokens if token is not None]
    cut = encoding.overflowing and tokens[-1] is None  # otherwise a character that leaves no token behind
    return None if cut or not real else (real[0], real[-1])


def _add_tokens(encodings: Sequence[Any], paired: bool, writer: ArrayWriter) -> None:
    ids = [encoding.ids for encoding in encodings]
    lengths = np.array([len(own) for own in ids], dtype=np.int64)
    writer.add("ends", writer.ends("tokens", lengths))
    writer.add("tokens", np.fromiter(itertools.chain.from_iterable(ids), dtype=np.int32, count=int(lengths.sum())))
    second = [_second(encoding) if paired else len(encoding.ids) for encoding in encodings]
    writer.add("second", np.array(second, dtype=np.int32))


def _second(encoding: Any) -> int:
    """The token where the second text begins."""
    types = encoding.type_ids
    if 1 in types:
        return int(types.index(1))
    sequences = encoding.sequence_ids
    if 1 in sequences:
        return int(sequences.index(1))
    return len(types) - encoding.special_tokens_mask[-1]  # an empty text: the token that would end it
