"""Metrics agree with scikit-learn, SciPy, seqeval, the published SQuAD scorer and brute force."""

from __future__ import annotations

import itertools
import re
import string
import warnings
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from seqeval.metrics import f1_score as seqeval_f1
from seqeval.metrics.sequence_labeling import get_entities
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

from rota.tasks import (
    IGNORED,
    Answer,
    Classification,
    Cloze,
    GroupedAnswers,
    Regression,
    Tagging,
    TensorRows,
    exact_match,
    overlap_f1,
    rouge_l,
)
from rota.tasks._metrics import METRICS, accuracy, correlation, entities, f1, f1_of, macro_f1, matthews, ranks

exactly = {"rel": 0, "abs": 1e-12}
few = settings(max_examples=40)  # scikit-learn is slow


def rows(count, **side):
    return TensorRows({}, torch.zeros(count, dtype=torch.long), side=side)


def logits_of(predicted, classes):
    return torch.nn.functional.one_hot(torch.as_tensor(predicted), classes).double()


# Classes


def sklearn_matthews(label, predicted):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a single class on both sides
        return matthews_corrcoef(label, predicted)


ORACLES = {
    "accuracy": accuracy_score,
    "f1": lambda label, predicted: f1_score(label, predicted, zero_division=0),
    "macro_f1": lambda label, predicted: f1_score(label, predicted, average="macro", zero_division=0),
    "matthews": sklearn_matthews,
}
MULTICLASS = ["accuracy", "macro_f1", "matthews"]
CASES = [("f1", 2), *((name, classes) for name in MULTICLASS for classes in (2, 3, 7))]


def label_pairs(classes):
    """Two lists of labels of equal length."""
    label = st.integers(0, classes - 1)
    return st.lists(st.tuples(label, label), min_size=1, max_size=40).map(lambda pairs: list(zip(*pairs, strict=True)))


def check_metric(name, predicted, label):
    ours = METRICS[name](torch.tensor(predicted), torch.tensor(label))
    assert ours == pytest.approx(ORACLES[name](label, predicted), **exactly)


def test_every_metric_has_an_oracle():
    assert METRICS.keys() == ORACLES.keys() == {name for name, _ in CASES}


@pytest.mark.parametrize(("name", "classes"), CASES)
@few
@given(data=st.data())
def test_metrics_of_few_rows_agree_with_scikit_learn(name, classes, data):
    check_metric(name, *data.draw(label_pairs(classes)))


@pytest.mark.parametrize(("name", "classes"), CASES)
@pytest.mark.parametrize("skill", [0.0, 0.5, 0.99])
def test_metrics_of_many_rows_agree_with_scikit_learn(name, classes, skill):
    rng = np.random.default_rng(classes)
    label = rng.integers(classes, size=20_000)
    predicted = np.where(rng.random(20_000) < skill, label, rng.integers(classes, size=20_000))
    check_metric(name, predicted.tolist(), label.tolist())


@pytest.mark.parametrize("name", MULTICLASS)
@pytest.mark.parametrize(
    ("predicted", "label"),
    [
        ([0, 0, 0], [0, 1, 0]),
        ([0, 1, 0], [1, 1, 1]),
        ([1, 1, 1], [1, 1, 1]),
        ([0, 0, 0], [1, 1, 1]),
        ([1, 0, 1, 0], [0, 1, 0, 1]),
        ([2, 2, 2, 2], [0, 1, 2, 3]),
        ([5, 9, 5], [9, 5, 7]),  # classes with gaps
        ([3], [3]),
    ],
)
def test_constant_sides_and_missing_classes_agree_with_scikit_learn(name, predicted, label):
    check_metric(name, predicted, label)


@pytest.mark.parametrize(
    ("predicted", "label"), [([0, 0], [0, 0]), ([1, 1], [0, 0]), ([0, 0], [1, 1]), ([1, 1], [1, 1])]
)
def test_binary_f1_of_constant_sides_agrees_with_scikit_learn(predicted, label):
    check_metric("f1", predicted, label)


@few
@given(label_pairs(4))
def test_f1_is_that_of_class_one_against_the_rest(pair):
    predicted, label = (np.array(side) for side in pair)
    expected = f1_score(label == 1, predicted == 1, zero_division=0)
    assert f1(torch.from_numpy(predicted), torch.from_numpy(label)) == pytest.approx(expected, **exactly)


@given(label_pairs(4))
def test_metrics_are_symmetric_and_do_not_depend_on_the_names_of_classes(pair):
    predicted, label = (torch.tensor(side) for side in pair)
    renamed = torch.tensor([7, 2, 5, 0])
    for metric in (accuracy, macro_f1, matthews):
        value = metric(predicted, label)
        assert metric(label, predicted) == pytest.approx(value, **exactly)
        assert metric(renamed[predicted], renamed[label]) == pytest.approx(value, **exactly)


@pytest.mark.parametrize(("right", "predicted", "labelled"), [(0, 0, 0), (0, 3, 2), (1, 3, 2), (2, 2, 2), (3, 7, 4)])
def test_f1_is_the_harmonic_mean_of_precision_and_recall(right, predicted, labelled):
    expected = stats.hmean([right / predicted, right / labelled]) if right else 0.0
    assert f1_of(right, predicted, labelled) == pytest.approx(expected, **exactly)


@few
@given(label_pairs(3))
def test_a_classification_measures_what_it_is_told_and_scores_their_mean(pair):
    predicted, label = pair
    kind = Classification(3, measured=("macro_f1", "matthews"))
    found = kind.metrics(kind.row_stats(logits_of(predicted, 3), torch.tensor(label)))
    assert found == {name: pytest.approx(ORACLES[name](label, predicted), **exactly) for name in kind.measured}
    assert kind.score(found) == pytest.approx((found["macro_f1"] + found["matthews"]) / 2, **exactly)


@few
@given(pair=label_pairs(3), seed=st.integers(0, 1000))
def test_parts_are_measured_one_by_one_and_count_the_same(pair, seed):
    predicted, label = (np.array(side) for side in pair)
    part = np.random.default_rng(seed).integers(3, size=len(label))  # the third part has no name
    kind = Classification(3, measured=("accuracy", "matthews"), parts=("matched", "mismatched"))
    found = kind.metrics(kind.row_stats(logits_of(predicted, 3), torch.from_numpy(label)), rows(len(label), part=part))
    expected = {
        f"{name}_{own}": pytest.approx(ORACLES[name](label[part == k], predicted[part == k]), **exactly)
        for k, own in enumerate(kind.parts)
        for name in kind.measured
        if (part == k).any()
    }
    if expected:
        assert found == expected
    else:  # nobody is in a named part: all rows together
        assert set(found) == set(kind.measured)
    assert kind.score(found) == pytest.approx(np.mean(list(found.values())), **exactly)


def test_parts_of_different_sizes_weigh_the_same():
    kind = Classification(2, parts=("m", "mm"))
    found = kind.metrics(
        kind.row_stats(logits_of([0, 0, 0, 1], 2), torch.tensor([0, 0, 0, 0])), rows(4, part=np.array([0, 0, 0, 1]))
    )
    assert found == {"accuracy_m": 1.0, "accuracy_mm": 0.0}
    assert kind.score(found) == 0.5


def test_without_rows_there_are_no_parts():
    kind = Classification(2, parts=("m", "mm"))
    assert kind.metrics(kind.row_stats(logits_of([0, 1], 2), torch.tensor([0, 0]))) == {"accuracy": 0.5}


# Numbers


def numbers(rng, size, shape):
    x = rng.normal(size=size)
    y = 0.5 * x + rng.normal(size=size)
    return {"smooth": (x, y), "ties": (x.round(), y.round()), "far": (1e6 + x, 1e3 * y), "flipped": (x, -x)}[shape]


@pytest.mark.parametrize("shape", ["smooth", "ties", "far", "flipped"])
@pytest.mark.parametrize("size", [4, 10, 1000])
@pytest.mark.parametrize("seed", range(3))
def test_correlations_agree_with_scipy(shape, size, seed):
    x, y = numbers(np.random.default_rng(seed), size, shape)
    ours = correlation(torch.from_numpy(x), torch.from_numpy(y))
    assert ours == pytest.approx(stats.pearsonr(x, y)[0], abs=1e-9)
    ours = correlation(ranks(torch.from_numpy(x)), ranks(torch.from_numpy(y)))
    assert ours == pytest.approx(stats.spearmanr(x, y)[0], **exactly)


@given(st.lists(st.integers(-3, 3) | st.floats(-9, 9, width=32), min_size=1, max_size=30))
def test_ranks_agree_with_scipy(values):
    values = torch.tensor(values, dtype=torch.float64)
    assert ranks(values).tolist() == stats.rankdata(values.numpy()).tolist()


@pytest.mark.parametrize("value", [0.0, 0.1, -1 / 3, 1e6])
@pytest.mark.parametrize("size", [1, 2, 7, 100])
def test_a_constant_correlates_with_nothing(value, size):
    constant = torch.full((size,), value, dtype=torch.float64)
    other = torch.arange(size, dtype=torch.float64)
    for x, y in [(constant, other), (other, constant), (constant, constant)]:
        if x is not y:
            assert correlation(x, y) == pytest.approx(0, **exactly)
        assert correlation(ranks(x), ranks(y)) == 0.0
    row_stats = {"predicted": constant.float(), "label": other.float()}
    assert Regression().metrics(row_stats) == {"pearson": 0.0, "spearman": 0.0}


@pytest.mark.parametrize("shape", ["smooth", "ties"])
def test_a_regression_scores_both_correlations(shape):
    x, y = (side.astype(np.float32) for side in numbers(np.random.default_rng(5), 300, shape))
    kind = Regression()
    found = kind.metrics(kind.row_stats(torch.from_numpy(x)[:, None], torch.from_numpy(y)))
    x, y = x.astype(float), y.astype(float)
    expected = {"pearson": stats.pearsonr(x, y)[0], "spearman": stats.spearmanr(x, y)[0]}
    assert found == pytest.approx(expected, **exactly)
    assert kind.score(found) == pytest.approx(sum(expected.values()) / 2, **exactly)


# Named entities

NAMES = ("O", "B-x", "I-x", "B-y", "I-y", "B-x-y", "I-x-y")
tags = st.lists(st.sampled_from(NAMES), max_size=12)
tagged_words = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=12)


def tagging_facts(predicted, label, names=NAMES, pieces=1):
    """Facts of sentences as lists of tags; each word has `pieces` pieces, only the first of which has a label."""
    kind, length = Tagging(len(names), names), pieces * max(1, *map(len, label))
    labels, outputs = torch.full((len(label), length), IGNORED), torch.randn(len(label), length, len(names)).double()
    for row, (mine, true) in enumerate(zip(predicted, label, strict=True)):
        for word, (said, tag) in enumerate(zip(mine, true, strict=True)):
            labels[row, pieces * word] = names.index(tag)
            outputs[row, pieces * word, names.index(said)] = 99.0
    return kind, kind.row_stats(outputs, labels)


def check_tagging(predicted, label, **options):
    kind, row_stats = tagging_facts(predicted, label, **options)
    assert kind.metrics(row_stats) == {"f1": pytest.approx(seqeval_f1(label, predicted, zero_division=0), **exactly)}


@given(tags)
def test_entities_agree_with_seqeval(sentence):
    found = get_entities(sentence)
    assert entities(sentence) == set(found)
    assert len(entities(sentence)) == len(found)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("", set()),
        ("O O", set()),
        ("O I-x", {("x", 1, 1)}),
        ("I-x I-x", {("x", 0, 1)}),
        ("B-x I-y", {("x", 0, 0), ("y", 1, 1)}),
        ("B-x B-x", {("x", 0, 0), ("x", 1, 1)}),
        ("I-x B-x I-x", {("x", 0, 0), ("x", 1, 2)}),
        ("B-x O I-x", {("x", 0, 0), ("x", 2, 2)}),
        ("I-x I-y I-x", {("x", 0, 0), ("y", 1, 1), ("x", 2, 2)}),
    ],
)
def test_illegal_transitions_begin_an_entity(sentence, expected):
    assert entities(sentence.split()) == expected == set(get_entities(sentence.split()))


@given(st.lists(tagged_words, min_size=2, max_size=5), st.integers(1, 3))
def test_f1_of_entities_agrees_with_seqeval(sentences, pieces):
    predicted = [[said for said, _ in words] for words in sentences]
    label = [[tag for _, tag in words] for words in sentences]
    check_tagging(predicted, label, pieces=pieces)


@pytest.mark.parametrize("seed", range(5))
def test_f1_of_entities_of_many_sentences_agrees_with_seqeval(seed):
    rng = np.random.default_rng(seed)
    label = [rng.choice(NAMES, size=rng.integers(1, 30)).tolist() for _ in range(100)]
    predicted = [[tag if rng.random() < 0.7 else str(rng.choice(NAMES)) for tag in sentence] for sentence in label]
    check_tagging(predicted, label, pieces=2)


@pytest.mark.parametrize(
    ("predicted", "label"),
    [
        ([["O", "O"], ["O"]], [["O", "O"], ["O"]]),
        ([["O", "O"], ["O"]], [["B-x", "I-x"], ["O"]]),
        ([["I-x", "O"], ["B-y"]], [["O", "O"], ["O"]]),
        ([["B-x", "I-x"], ["I-x"]], [["B-x", "I-x"], ["B-x"]]),  # entities end with their sentence
        ([["B-x", "I-y"], ["O"]], [["B-x", "I-x"], ["O"]]),
    ],
)
def test_f1_of_entities_at_the_edges_agrees_with_seqeval(predicted, label):
    check_tagging(predicted, label)


@given(st.lists(tagged_words, min_size=2, max_size=4), st.lists(tags, min_size=2, max_size=4))
def test_entities_in_lost_text_are_missed(sentences, tails):
    pairs = list(zip(sentences, tails, strict=False))
    predicted, label = ([[word[side] for word in words] for words, _ in pairs] for side in (0, 1))
    kind, row_stats = tagging_facts(predicted, label)
    lost = np.array([len(get_entities(tail)) for _, tail in pairs])
    whole = [[*sentence, "O", *tail] for sentence, (_, tail) in zip(label, pairs, strict=True)]
    blind = [[*sentence, "O", *("O" for _ in tail)] for sentence, (_, tail) in zip(predicted, pairs, strict=True)]
    expected = seqeval_f1(whole, blind, zero_division=0)
    assert kind.metrics(row_stats, rows(len(pairs), lost=lost)) == {"f1": pytest.approx(expected, **exactly)}


# Words of answers, as in evaluate-v1.1.py of SQuAD


def published_normal(text):
    text = text.lower().translate(str.maketrans("", "", string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def published_exact(text, golds):
    return max(published_normal(text) == published_normal(gold) for gold in golds)


def published_f1(text, golds):
    def one(gold):
        ours, theirs = published_normal(text).split(), published_normal(gold).split()
        same = sum((Counter(ours) & Counter(theirs)).values())
        if same == 0:
            return 0
        precision, recall = same / len(ours), same / len(theirs)
        return 2 * precision * recall / (precision + recall)

    return max(one(gold) for gold in golds)


WORDS = ["the", "The", "a", "an", "cat", "Cat.", "cats", "U.S.", "-", "”", "Ünal", "the-cat", "in a", "\t", "42", "4,2"]
texts = st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join) | st.text(max_size=12)


@given(texts, st.lists(texts, min_size=1, max_size=4))
def test_words_of_answers_score_as_published(answer, references):
    assert exact_match(answer, references) == published_exact(answer, references)
    assert overlap_f1(answer, references) == pytest.approx(published_f1(answer, references), **exactly)


@pytest.mark.parametrize(
    ("answer", "references", "exact", "overlap"),
    [
        ("the Cat!", ["cat"], 1, 1),
        ("a big cat", ["cat", "big dog cat"], 0, 4 / 5),
        ("cat cat", ["cat"], 0, 2 / 3),
        ("cat sat", ["dog", "sat cat"], 0, 1),  # the order of words does not matter
        ("", [""], 1, 0),  # version 1.1: no words in common
        ("", ["cat"], 0, 0),
        ("cat", [""], 0, 0),
        ("the", ["a"], 1, 0),
        ("...", ["cat", "?"], 1, 0),
        ("anthem", ["them"], 0, 0),
    ],
)
def test_hand_counted_words_of_answers(answer, references, exact, overlap):
    assert exact_match(answer, references) == exact == published_exact(answer, references)
    assert overlap_f1(answer, references) == pytest.approx(overlap, **exactly)
    assert published_f1(answer, references) == pytest.approx(overlap, **exactly)


def test_nothing_matches_no_reference():
    assert exact_match("cat", []) == overlap_f1("cat", []) == 0.0


# Groups

group_numbers = st.sampled_from([-4, 3, 7, 1000])  # neither contiguous nor from 0


@few
@given(st.lists(st.tuples(group_numbers, st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=25))
def test_grouped_answers_score_whole_questions_and_all_answers(examples):
    group, predicted, label = map(np.array, zip(*examples, strict=True))
    kind = GroupedAnswers()
    found = kind.metrics(
        kind.row_stats(logits_of(predicted, 2), torch.from_numpy(label)), rows(len(group), group=group)
    )
    questions = {g: [p == t for own, p, t in examples if own == g] for g in set(group.tolist())}
    exact = sum(map(all, questions.values())) / len(questions)
    expected = {"exact_match": exact, "f1": f1_score(label, predicted, zero_division=0)}
    assert found == pytest.approx(expected, **exactly)
    assert kind.score(found) == pytest.approx(sum(expected.values()) / 2, **exactly)


def brute_cloze(group, likely):
    """The first most likely row of each group."""
    chosen = {}
    for row, (own, p) in enumerate(zip(group, likely, strict=True)):
        if own not in chosen or p > likely[chosen[own]]:
            chosen[own] = row
    return sorted(chosen.values())


def cloze_case(group, margins, exact, overlap):
    outputs = torch.stack([torch.zeros(len(margins)), torch.tensor(margins, dtype=torch.float32)], 1)
    row_stats = Cloze().row_stats(outputs, torch.zeros(len(margins), dtype=torch.long))
    return row_stats, rows(len(margins), group=np.array(group), exact=np.array(exact), f1=np.array(overlap))


@given(st.lists(st.tuples(group_numbers, st.integers(-2, 2), st.booleans(), st.floats(0, 1)), min_size=1, max_size=25))
def test_a_gap_is_filled_with_its_first_most_likely_candidate(examples):
    group, margins, exact, overlap = zip(*examples, strict=True)
    row_stats, side = cloze_case(group, [float(margin) for margin in margins], exact, overlap)
    chosen = brute_cloze(group, margins)
    expected = {"exact_match": np.mean([exact[k] for k in chosen]), "f1": np.mean([overlap[k] for k in chosen])}
    assert Cloze().metrics(row_stats, side) == pytest.approx(expected, **exactly)
    assert [row for row, answer in enumerate(Cloze().answers(row_stats, side)) if answer["chosen"]] == chosen


@pytest.mark.parametrize("seed", range(5))
def test_many_gaps_agree_with_brute_force(seed):
    rng = np.random.default_rng(seed)
    group, margins = rng.integers(100, 180, size=500) * 3, rng.normal(size=500).astype(np.float32)
    exact, overlap = rng.integers(2, size=500), rng.random(500)
    row_stats, side = cloze_case(group, margins, exact, overlap)
    chosen = brute_cloze(group.tolist(), margins.tolist())
    expected = {"exact_match": exact[chosen].mean(), "f1": overlap[chosen].mean()}
    assert Cloze().metrics(row_stats, side) == pytest.approx(expected, **exactly)


def test_sure_candidates_are_still_told_apart():
    row_stats, side = cloze_case([0, 0], [18.0, 30.0], [0, 1], [0.0, 1.0])
    assert Cloze().metrics(row_stats, side) == {"exact_match": 1.0, "f1": 1.0}


def test_candidates_that_are_no_numbers_do_not_stop_a_run():
    row_stats, side = cloze_case([0, 0, 1], [float("nan"), 0.0, 1.0], [0, 0, 1], [0.0, 0.0, 1.0])
    assert Cloze().metrics(row_stats, side)["exact_match"] == 0.5


# Answers in passages


class Windows:
    """Rows are windows over the passages of questions: `lead` tokens of a question, then words from `first` on."""

    def __init__(self, passages, windows, references=(), lead=2):
        self._passages, self._windows, self._references, self._lead = passages, windows, references, lead

    def questions(self):
        return [question for question, _ in self._windows]

    def excerpt(self, row, start, end):
        assert start >= 0, "no place in the row"
        question, first = self._windows[row]
        words, begin, stop = self._passages[question], first + start - self._lead, first + end - self._lead
        return " ".join(words[begin : stop + 1]) if first <= begin and stop < len(words) else None

    def references(self, question):
        return self._references[question]


def brute_answers(outputs, windows, longest, best=None):
    """All starts and ends of all windows (or the `best` of each): the texts of each question with their scores."""
    found = [{} for _ in range(max(windows.questions()) + 1)]
    for row, (starts, ends) in enumerate(outputs.transpose(0, 2, 1)):
        tried = [set(np.argsort(-side)[:best].tolist()) for side in (starts, ends)]
        for start in range(len(starts)):
            for end in range(len(ends)):
                text = windows.excerpt(row, start, end)
                if start in tried[0] and end in tried[1] and start <= end <= start + longest - 1 and text is not None:
                    own, score = found[windows.questions()[row]], starts[start] + ends[end]
                    own[text] = max(score, own.get(text, score))
    return [sorted(own.items(), key=lambda item: (-item[1], item[0])) for own in found]


def random_windows(rng, questions=4, words=14, stride=3, length=8):
    passages = [rng.choice(["cat", "the", "sat", "mat", "dog"], size=words).tolist() for _ in range(questions)]
    windows = [(question, first) for question in range(questions) for first in range(0, words, stride)]
    references = [[" ".join(words[a : a + 2]) for a in rng.integers(12, size=2)] for words in passages]
    return Windows(passages, windows, references), (len(windows), length, 2)


def answer_facts(kind, outputs):
    return kind.row_stats(torch.from_numpy(outputs), torch.zeros(len(outputs), 2, dtype=torch.long))


def check_answers(kind, outputs, windows, best=None):
    row_stats, side = answer_facts(kind, outputs), rows(len(outputs), passages=windows)
    expected = brute_answers(outputs, windows, kind.longest, best)
    told = kind.answers(row_stats, side)
    for answer, ordered in zip(told, expected, strict=True):
        texts, scores = [text for text, _ in ordered], np.array([score for _, score in ordered])
        shares = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
        assert answer["answer"] == texts[0]
        assert [each["answer"] for each in answer["candidates"]] == texts[:3]
        assert [each["probability"] for each in answer["candidates"]] == pytest.approx(shares[:3], abs=1e-6)
    pairs = [(ordered[0][0], windows.references(question)) for question, ordered in enumerate(expected)]
    scores = {
        "exact_match": np.mean([published_exact(*pair) for pair in pairs]),
        "f1": np.mean([published_f1(*pair) for pair in pairs]),
    }
    assert kind.metrics(row_stats, side) == pytest.approx(scores, **exactly)


@pytest.mark.parametrize("longest", [1, 2, 4, 30])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("ties", [False, True])
def test_the_best_excerpt_of_all_windows_agrees_with_brute_force(longest, seed, ties):
    rng = np.random.default_rng(seed)
    windows, shape = random_windows(rng)
    outputs = rng.integers(3, size=shape).astype(float) if ties else rng.normal(size=shape)
    check_answers(Answer(best=20, longest=longest), outputs, windows)


@pytest.mark.parametrize("best", [3, 5, 8])
@pytest.mark.parametrize("seed", range(4))
def test_only_the_best_ends_of_each_window_are_tried(best, seed):
    rng = np.random.default_rng(seed)
    windows, shape = random_windows(rng, words=9, stride=2)
    check_answers(Answer(best=best, longest=5), rng.normal(size=shape), windows, best)


def test_windows_of_a_question_need_not_be_neighbours():
    windows = Windows([["a1", "b1"], ["a2", "b2"]], [(0, 0), (1, 0), (1, 1), (0, 1)], lead=0)
    outputs = np.zeros((4, 1, 2))
    outputs[1] = outputs[3] = 5.0
    told = Answer().answers(answer_facts(Answer(), outputs), rows(4, passages=windows))
    assert [answer["answer"] for answer in told] == ["b1", "a2"]


def test_of_equal_scores_the_first_text_in_the_alphabet_wins():
    windows = Windows([["dog", "cat", "bee"]], [(0, 0)], lead=0)
    (told,) = Answer(longest=1).answers(answer_facts(Answer(), np.zeros((1, 3, 2))), rows(1, passages=windows))
    assert told["answer"] == "bee"
    assert [each["probability"] for each in told["candidates"]] == pytest.approx([1 / 3] * 3, abs=1e-6)


def test_a_text_that_occurs_twice_is_one_candidate_with_its_larger_score():
    windows = Windows([["cat", "dog", "cat"]], [(0, 0)], lead=0)
    outputs = np.array([[[0.0, 0.0], [0.5, 0.5], [1.0, 1.0]]])
    (told,) = Answer(longest=1).answers(answer_facts(Answer(), outputs), rows(1, passages=windows))
    assert [each["answer"] for each in told["candidates"]] == ["cat", "dog"]
    assert told["candidates"][0]["probability"] == pytest.approx(1 / (1 + np.exp(-1)), abs=1e-6)


def test_without_a_token_in_the_passage_the_answer_is_empty():
    windows = Windows([["cat"], ["dog"]], [(0, 0), (1, 5)], [["cat"], ["dog"]], lead=0)
    row_stats, side = answer_facts(Answer(), np.zeros((2, 1, 2))), rows(2, passages=windows)
    assert Answer().answers(row_stats, side)[1] == {"answer": "", "candidates": []}
    assert Answer().metrics(row_stats, side) == {"exact_match": 0.5, "f1": 0.5}


def test_places_that_fill_up_joined_batches_are_never_answers():
    windows = Windows([["cat", "dog", "bee"]], [(0, 0)], lead=0)
    row_stats = answer_facts(Answer(), np.array([[[1.0, 0.0], [0.0, 1.0]]]))
    joined = {name: torch.nn.functional.pad(tensor, (0, 3), value=IGNORED) for name, tensor in row_stats.items()}
    assert Answer().answers(joined, rows(1, passages=windows)) == Answer().answers(row_stats, rows(1, passages=windows))


words = st.lists(st.sampled_from("abc"), max_size=7)


@given(words, words)
def test_rouge_l_is_the_f1_of_the_longest_common_subsequence_by_brute_force(one, other):
    def subsequences(of):
        return {part for count in range(len(of) + 1) for part in itertools.combinations(of, count)}

    shared = max(map(len, subsequences(one) & subsequences(other)))
    wanted = 2 * shared / (len(one) + len(other)) if shared else 0.0
    assert rouge_l(" ".join(one), " ".join(other)) == pytest.approx(wanted)


def test_rouge_l_sees_neither_capitals_nor_punctuation():
    assert rouge_l("The Rhine, 1,233 km!", "the rhine 1 233 km") == 1.0
    assert rouge_l("", "the rhine") == 0.0
