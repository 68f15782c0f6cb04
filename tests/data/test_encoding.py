"""Tokens are those of the tokenizer, cut where there is no room, and everything that is cut is counted."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from text_tools import halves, tokens_between, whole_batch

from rota.data._arrays import ArrayWriter
from rota.data._encoding import encode
from rota.data._examples import Example, Question, Sentence
from rota.data._files import Tally
from rota.data._textrows import TextRows
from rota.data._tokenizer import Tokenizer
from rota.tasks import IGNORED, Tagging, sample_rows

NAMES = ("O", "B-pet", "I-pet")


@pytest.fixture(scope="module")
def bert(tiny_bert):
    return Tokenizer(str(tiny_bert))


@pytest.fixture(scope="module")
def roberta(tiny_roberta):
    return Tokenizer(str(tiny_roberta))


@pytest.fixture(params=["bert", "roberta"])
def tokenizer(request):
    return request.getfixturevalue(request.param)


def encoded(examples, tokenizer, longest=64, keep=False):
    writer, tally = ArrayWriter(), Tally()
    encode(examples, tokenizer, longest, writer, tally, keep, NAMES)
    return TextRows(writer.finish({})[0], tokenizer.padding), tally.counts


def single(*texts):
    return [Example(((text, None),), k % 2) for k, text in enumerate(texts)]


def pair(one, two, places=(), label=0):
    return Example(((one, two),), label, tuple(places))


def padded(lists, padding):
    """What a batch of these tokens should be, by brute force."""
    longest = max(map(len, lists))
    tokens = torch.tensor([own + [padding] * (longest - len(own)) for own in lists])
    mask = torch.tensor([[True] * len(own) + [False] * (longest - len(own)) for own in lists])
    return tokens, mask


# Batches

texts = st.text(st.sampled_from("abcdefg ,.üß\x00\u200b"), max_size=90)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=6), st.booleans(), st.integers(8, 64), st.data())
def test_a_batch_is_what_the_tokenizer_says_padded(tokenizer, rows, paired, longest, data):
    examples = [pair(one, two) if paired else Example(((one, None),), 0) for one, two in rows]
    found, _ = encoded(examples, tokenizer, longest)
    ids = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=8))
    seconds = [two for _, two in rows] if paired else None
    expected = tokenizer.fast([one for one, _ in rows], seconds, truncation=True, max_length=longest)["input_ids"]
    tokens, mask = padded([expected[k] for k in ids], tokenizer.padding)
    batch = found.batch(np.array(ids))
    assert batch.inputs["tokens"].equal(tokens)
    assert batch.inputs["mask"].equal(mask)
    assert batch.inputs["tokens"].dtype == batch.inputs["types"].dtype == torch.int64
    assert found.lengths().tolist() == list(map(len, expected))
    assert not paired or bool(batch.inputs["types"].any(1).all())
    assert paired or not batch.inputs["types"].any()
    if tokenizer.padding == 0:  # BERT, which has types
        types = tokenizer.fast([one for one, _ in rows], seconds, truncation=True, max_length=longest)["token_type_ids"]
        assert batch.inputs["types"].equal(padded([types[k] for k in ids], 0)[0])


def test_a_shelf_gives_the_same_rows_in_any_width(bert):
    """Wider ones are filled up, narrower ones cut; of chosen rows, of choices and of tags as well."""
    tagged = [Sentence(("the", "cat", "sat"), (0, 1, 0)), Sentence(("it",), (0,))]
    several = [Example((("a", "cat"), ("a dog", "on")), 0), Example((("he", "ran"), ("she ran", "home")), 1)]
    chosen = sample_rows(encoded(single("a cat", "b", "the dog ran home"), bert)[0], 2)
    for rows in (chosen, encoded(tagged, bert)[0], encoded(several, bert)[0]):
        plain = rows.batch(np.array([1, 0]))
        own = plain.inputs["tokens"].shape[-1]
        device_rows = rows.device_rows().to(torch.device("cpu"))
        wide, narrow = (device_rows.take(torch.tensor([1, 0]), width) for width in (own + 3, own - 1))
        for name, tensor in plain.inputs.items():
            assert wide.inputs[name][..., :own].equal(tensor)
            assert not wide.inputs[name][..., own:].any()  # padding is 0 here
            assert narrow.inputs[name].equal(tensor[..., :-1])
        if plain.labels.dim() > 1:
            assert (wide.labels[:, own:] == IGNORED).all()
            assert wide.labels[:, :own].equal(plain.labels)
        else:
            assert wide.labels.equal(plain.labels)


@pytest.mark.parametrize(("second", "count"), [("ab", 2), ("", 0)])
def test_the_second_text_is_marked_even_where_it_is_empty(bert, roberta, second, count):
    for tokenizer in (bert, roberta):
        rows, _ = encoded([pair("a cat", second)], tokenizer)
        types = whole_batch(rows).inputs["types"][0].tolist()
        assert types == sorted(types)
        assert sum(types) == count + 1  # with the token that ends it
        assert halves(rows, tokenizer) == [("acat", second)]


def test_padding_and_limits_are_those_of_the_encoder(bert, roberta):
    assert (bert.padding, roberta.padding) == (0, 1)
    assert (bert.limit, roberta.limit) == (64, 64)
    rows, counts = encoded(single("a", "a" * 100), roberta, roberta.limit)
    assert rows.lengths().tolist() == [3, 64]
    assert whole_batch(rows).inputs["tokens"][0, 3:].unique().tolist() == [1]
    assert counts == {"truncated": 1}


def test_choices_are_texts_of_their_own(tokenizer):
    examples = [Example((("the cat", "sat"), ("the cat", "ran on"), ("the cat", "x")), k) for k in (2, 0)]
    rows, _ = encoded(examples, tokenizer)
    batch = rows.batch(np.array([1, 0, 1]))
    assert batch.inputs["tokens"].shape[:2] == (3, 3)
    assert batch.labels.tolist() == [0, 2, 0]
    expected = tokenizer.fast(["the cat"] * 3, ["sat", "ran on", "x"])["input_ids"]
    tokens, mask = padded(expected * 3, tokenizer.padding)
    assert batch.inputs["tokens"].equal(tokens.view(3, 3, -1))
    assert batch.inputs["mask"].equal(mask.view(3, 3, -1))
    assert rows.lengths().tolist() == [max(map(len, expected))] * 2


def test_how_many_are_tokenised_at_once_changes_nothing(bert, monkeypatch):
    places = [pair("a cat " * (1 + k), "it ran", places=[(0, 2, 5)], label=k % 2) for k in range(7)]
    sentences = [tagged(["cat", "\x00"] * (1 + k), [1, 2] * (1 + k)) for k in range(7)]
    for examples in (places, sentences, [question("who?", "the cat sat " * (1 + k)) for k in range(7)]):
        rows, counts = encoded(examples, bert, longest=20)
        with monkeypatch.context() as patch:
            patch.setattr("rota.data._encoding.CHUNK", 2)
            others, again = encoded(examples, bert, longest=20)
        assert counts == again
        assert rows._arrays.keys() == others._arrays.keys()
        for name, array in rows._arrays.items():
            assert np.array_equal(array, others._arrays[name]), name


# Texts that are cut


def test_truncated_rows_are_counted_once(bert):
    rows, counts = encoded([pair("a " * 40, "b " * 40), pair("a", "b"), pair("a", "b " * 80)], bert)
    assert counts == {"truncated": 2}
    assert rows.lengths().tolist() == [64, 5, 64]
    choices = [Example((("a " * 80, "b"), ("a " * 80, "c")), 0)]
    assert encoded(choices, bert)[1] == {"truncated": 1}


LONG = pair("a cat " * 20, "it ran", places=[(0, 2, 5), (0, 116, 119)], label=1)  # the second cat is cut off
SHORT = pair("the cat", "a cat", places=[(0, 4, 7), (1, 2, 5)])


def test_rows_that_lose_a_place_are_left_out_of_training_only(bert):
    rows, counts = encoded([LONG, SHORT], bert, longest=20)
    assert counts == {"truncated": 1, "left out: lost a span": 1}
    assert len(rows) == 1
    assert [tokens_between(rows, bert, 0, *span) for span in whole_batch(rows).inputs["spans"][0].tolist()] == [
        "cat"
    ] * 2
    rows, counts = encoded([LONG, SHORT], bert, longest=20, keep=True)
    assert counts == {"truncated": 1, "lost a span": 1}
    assert whole_batch(rows).inputs["spans"].tolist()[0] == [[2, 2], [0, 0]]
    assert rows.labels().tolist() == [1, 0]
    rows, _ = encoded([LONG], bert, longest=20)
    assert len(rows) == len(rows.lengths()) == len(rows.labels()) == 0


def test_places_may_end_in_characters_without_a_token(bert):
    rows, counts = encoded([pair("the cat\u200b sat", None, places=[(0, 4, 8), (0, 3, 7)])], bert)
    assert whole_batch(rows).inputs["spans"].tolist() == [[[2, 2], [2, 2]]]
    assert counts == {}


def test_places_in_bytes(roberta):
    rows, _ = encoded([pair("a naïve cat", "the cat", places=[(0, 2, 7), (1, 4, 7)])], roberta)
    spans = whole_batch(rows).inputs["spans"][0].tolist()
    assert [tokens_between(rows, roberta, 0, *span) for span in spans] == ["naïve", "cat"]


# Words with tags


def tagged(words, tags=None):
    return Sentence(tuple(words), tuple(tags or [0] * len(words)))


def test_the_first_token_of_each_word_has_its_tag(tokenizer):
    rows, counts = encoded([tagged(["Abc", "the", "de"], [1, 2, 0]), tagged(["the"], [1])], tokenizer)
    labels = whole_batch(rows).labels
    assert [[tag for tag in row if tag != IGNORED] for row in labels.tolist()] == [[1, 2, 0], [1]]
    assert rows.labels().tolist() == [1, 2, 0, 1]
    assert rows.side["words"].tolist() == [3, 1]
    assert counts == {}
    of_words = tokenizer.of_words([["Abc", "the", "de"], ["the"]], is_split_into_words=True)
    assert whole_batch(rows).inputs["tokens"].equal(padded(of_words["input_ids"], tokenizer.padding)[0])


def test_words_of_bytes_are_cut_as_after_a_space(roberta):
    rows, _ = encoded([tagged(["the", "cat"])], roberta)
    pieces = roberta.fast.convert_ids_to_tokens(whole_batch(rows).inputs["tokens"][0])
    assert pieces == ["<s>", "Ġthe", "Ġ", "c", "a", "t", "</s>"]


@pytest.mark.parametrize(
    ("words", "vanished"),
    [(["a", "\u200b", "b"], 1), (["a", "b", "\x00"], 1), (["\x00", "\u200b"], 2), (["\x00", "b"], 1)],
)
def test_words_without_a_token_keep_their_place(bert, words, vanished):
    tags = [k % 3 for k in range(len(words))]
    rows, counts = encoded([tagged(["cat"], [1]), tagged(words, tags)], bert)
    assert [tag for tag in whole_batch(rows).labels[1].tolist() if tag != IGNORED] == tags
    assert counts == {"words without a token": vanished}
    assert rows.side["lost"].tolist() == [0, 0]


def test_sentences_that_are_cut_know_the_entities_they_lost(bert):
    words, tags = ["cat"] * 10, [1, 2, 0, 1, 2, 2, 0, 1, 0, 1]
    rows, counts = encoded([tagged(words, tags), tagged(["\x00", *words], [0, *tags])], bert, longest=7)
    assert counts == {"truncated": 2, "words without a token": 1}
    assert rows.side["words"].tolist() == [10, 11]
    assert rows.side["lost"].tolist() == [2, 2]  # of four: the third and the fourth; half a second one is still one
    labels = whole_batch(rows).labels
    perfect = {"predicted": labels, "label": labels}
    assert Tagging(3, NAMES).metrics(perfect, rows)["f1"] == pytest.approx(2 * 4 / (4 + 8))


# Questions


def question(text="who sat?", passage="the cat sat", answer=(4, 7)):
    return Question(text, passage, answer, (passage[slice(*answer)],))


def test_long_questions_leave_half_of_the_room(bert):
    rows, counts = encoded([question("who " * 50), question()], bert, longest=31)
    assert counts == {"question truncated": 1}
    first, second = halves(rows, bert)[0]
    assert first == "who" * 14  # (31 - 3) // 2
    assert second == "thecatsat"
    assert rows.side["passages"].excerpt(0, *whole_batch(rows).labels[0].tolist()) == "cat"


def test_answers_that_fit_in_no_window_are_counted(bert):
    passage = "the cat sat " * 10
    found = [
        question("who?", passage, (0, 110)),
        question("who?", passage, (4, 7)),
        question("who?", passage, (0, 110)),
    ]
    rows, counts = encoded(found, bert, longest=20)
    assert counts == {"read in several windows": 3, "answer in no window": 2}
    owners = rows.side["question"]
    assert whole_batch(rows).labels[owners != 1].sum() == 0
    assert whole_batch(rows).labels[owners == 1].sum() > 0


def test_excerpts_outside_the_passage_are_none(bert):
    rows, _ = encoded([question()], bert)
    passages = rows.side["passages"]
    pieces = [passages.excerpt(0, k, k) for k in range(9)]  # [CLS] who sat ? [SEP] the cat sat [SEP]
    assert pieces == [*[None] * 5, "the", "cat", "sat", None]
    assert passages.excerpt(0, 5, 7) == "the cat sat"
    assert passages.excerpt(0, 5, 8) is passages.excerpt(0, 5, 99) is None


# Parts of the rows


def test_samples_keep_questions_and_groups_whole(bert):
    passages = [question("who?", "the cat sat " * (1 + k % 5)) for k in range(30)]
    rows, _ = encoded(passages, bert, longest=20)
    some = sample_rows(rows, 20)
    assert len(some) < len(rows)
    whole = rows.side["question"]
    for owner in np.unique(some.side["question"]):
        assert (some.side["question"] == owner).sum() == (whole == owner).sum()
    assert sorted(set(some.side["passages"].questions())) == list(range(len(np.unique(some.side["question"]))))
    for row, number in enumerate(some.side["passages"].questions()):
        start, end = some.batch(np.array([row])).labels[0].tolist()
        assert some.side["passages"].references(number) == ["cat"]
        assert some.side["passages"].excerpt(row, start, end) in ("cat", None)

    groups = [Example((("a", "b"),), 0, side={"group": k // 3}) for k in range(30)]
    grouped = sample_rows(encoded(groups, bert)[0], 10)
    assert np.unique(grouped.side["group"], return_counts=True)[1].tolist() == [3, 3, 3]


def test_samples_are_always_the_same_rows_in_order(bert):
    rows, _ = encoded(single(*map(str, range(50))), bert)
    some, again = sample_rows(rows, 10), sample_rows(rows, 10)
    found = [int(first) for first, _ in halves(some, bert)]
    assert found == sorted(set(found))
    assert (len(found), len(sample_rows(rows, 99))) == (10, 50)
    assert found == [int(first) for first, _ in halves(again, bert)]
    assert some.labels().tolist() == [number % 2 for number in found]
    assert some.lengths().tolist() == [2 + len(str(number)) for number in found]
    assert {int(first) for first, _ in halves(sample_rows(some, 4), bert)} <= set(found)


def test_samples_of_sentences_have_the_tags_of_their_own_words(bert):
    rows, _ = encoded([tagged(["cat"] * (1 + k % 3), [k % 3] * (1 + k % 3)) for k in range(30)], bert)
    some = sample_rows(rows, 7)
    labels = whole_batch(some).labels
    assert some.labels().tolist() == labels[labels != IGNORED].tolist()
    assert len(some.labels()) == some.side["words"].sum()
