"""Losses, likelihoods, uncertainties, answers and descriptions of every kind, against formulas by hand."""

from __future__ import annotations

import inspect
import json
import math

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.special import log_softmax, softmax
from sklearn.metrics import accuracy_score, log_loss

from rota.errors import RotaError
from rota.tasks import (
    IGNORED,
    KINDS,
    MASKED,
    Answer,
    Causal,
    Classification,
    Cloze,
    GroupedAnswers,
    Kind,
    MultipleChoice,
    Regression,
    Span,
    SpanClassification,
    Tagging,
    TensorRows,
    kind_from,
)

exactly = {"rel": 0, "abs": 1e-12}
EVERY = [
    Classification(3),
    Classification(2, measured=("f1", "accuracy"), names=("no", "yes"), parts=("matched", "mismatched")),
    SpanClassification(2, spans=1),
    MultipleChoice(4),
    Regression(scale=1.5),
    Tagging(3),
    Tagging(3, names=("O", "B-x", "I-x")),
    Span(),
    Answer(best=5, longest=7),
    GroupedAnswers(),
    Cloze(),
    Causal(7, ("likelihood", "token_accuracy")),
]
OF_CLASSES = [Classification, SpanClassification, MultipleChoice]


def logits(*shape, seed=0):
    return 3 * torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def integers(below, *shape, seed=0):
    return torch.randint(below, shape, generator=torch.Generator().manual_seed(seed))


def entropy(p):
    return stats.entropy(p, axis=-1)


# Losses and likelihoods


@pytest.mark.parametrize("make", OF_CLASSES)
@pytest.mark.parametrize("classes", [2, 5])
def test_classification_agrees_with_scikit_learn(make, classes):
    kind, outputs, labels = make(classes), logits(200, classes), integers(classes, 200)
    expected = log_loss(labels.numpy(), softmax(outputs.numpy(), -1), labels=range(classes))
    assert kind.losses(outputs, labels).mean().item() == pytest.approx(expected, **exactly)
    metrics = kind.metrics(kind.row_stats(outputs, labels))
    assert metrics == {"accuracy": pytest.approx(accuracy_score(labels, outputs.argmax(-1)))}
    assert kind.score(metrics) == metrics["accuracy"]


@pytest.mark.parametrize("kind", [Classification(4), MultipleChoice(4), SpanClassification(4)], ids=repr)
def test_the_loss_of_a_class_is_minus_its_log_probability(kind):
    outputs, labels = logits(9, 4), integers(4, 9)
    expected = -log_softmax(outputs.numpy(), -1)[range(9), labels]
    assert kind.losses(outputs, labels).tolist() == pytest.approx(expected, **exactly)
    assert kind.nll(outputs, labels).equal(kind.losses(outputs, labels))


@pytest.mark.parametrize("kind", [GroupedAnswers(), Cloze()], ids=repr)
def test_rows_of_a_group_are_judged_one_by_one(kind):
    outputs, labels = logits(9, 2), integers(2, 9)
    margin = outputs[:, 1] - outputs[:, 0]
    expected = torch.log1p(torch.exp(torch.where(labels == 1, -margin, margin)))
    assert kind.losses(outputs, labels).tolist() == pytest.approx(expected.tolist(), **exactly)


@pytest.mark.parametrize("ties", [False, True])
def test_regression_agrees_with_scipy(ties):
    outputs, labels = logits(100, 1), logits(100, seed=1)
    if ties:
        outputs, labels = outputs.round(), labels.round()
    kind = Regression()
    assert kind.losses(outputs, labels).mean().item() == pytest.approx(((outputs[:, 0] - labels) ** 2).mean().item())
    row_stats = {"predicted": outputs[:, 0], "label": labels}
    metrics = kind.metrics(row_stats)
    assert metrics["pearson"] == pytest.approx(stats.pearsonr(outputs[:, 0], labels)[0], abs=1e-9)
    assert metrics["spearman"] == pytest.approx(stats.spearmanr(outputs[:, 0], labels)[0], abs=1e-9)
    assert kind.score(metrics) == pytest.approx((metrics["pearson"] + metrics["spearman"]) / 2)


def test_squared_error_and_its_likelihood_by_hand():
    outputs, labels = torch.tensor([[1.0], [5.0]]), torch.tensor([3.0, 4.0])
    assert Regression(scale=2.0).losses(outputs, labels).tolist() == [4.0, 1.0]
    assert Regression(scale=2.0).nll(outputs, labels).tolist() == [4 / 8, 1 / 8]


@pytest.mark.parametrize("scale", [0.1, 1.0, 20.0])
def test_the_likelihood_of_a_number_is_gaussian_up_to_a_constant(scale):
    outputs, labels = logits(20, 1), logits(20, seed=1)
    gaussian = -stats.norm.logpdf(labels, outputs[:, 0], scale) + stats.norm.logpdf(0, 0, scale)
    assert Regression(scale).nll(outputs, labels).tolist() == pytest.approx(gaussian, rel=1e-9)


def test_the_likelihood_of_a_number_does_not_depend_on_its_unit():
    outputs, labels = logits(20, 1), logits(20, seed=1)
    metres, tenths = Regression(1.5).nll(outputs, labels), Regression(15.0).nll(10 * outputs, 10 * labels)
    assert tenths.tolist() == pytest.approx(metres.tolist(), rel=1e-12)


def test_a_constant_prediction_has_correlation_zero_not_nan():
    kind = Regression()
    assert kind.metrics(kind.row_stats(torch.ones(5, 1), torch.arange(5.0))) == {"pearson": 0.0, "spearman": 0.0}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_predictions_that_are_no_numbers_score_nothing(value):
    kind = Regression()
    for outputs in (torch.full((5, 1), value), torch.tensor([[0.0], [1.0], [2.0], [3.0], [value]])):
        assert kind.score(kind.metrics(kind.row_stats(outputs, torch.arange(5.0)))) == 0.0


def test_tags_count_only_where_there_is_a_label():
    kind = Tagging(3)
    outputs = torch.tensor([[[9.0, 0, 0], [0, 9, 0], [0, 0, 9]], [[9, 0, 0], [9, 0, 0], [9, 0, 0]]])
    labels = torch.tensor([[0, 1, IGNORED], [1, IGNORED, IGNORED]])
    losses = kind.losses(outputs, labels)
    right, wrong = np.log(1 + 2 * np.exp(-9)), np.log(2 + np.exp(9))
    assert losses.tolist() == pytest.approx([right, wrong], rel=1e-3)
    assert kind.metrics(kind.row_stats(outputs, labels)) == {"tag_accuracy": pytest.approx(2 / 3)}
    assert kind.losses(outputs[:1], torch.full((1, 3), IGNORED)).tolist() == [0.0]


def test_the_loss_of_tags_is_the_mean_over_a_rows_words():
    kind, outputs, labels = Tagging(3), logits(6, 8, 3), integers(3, 6, 8)
    labels[integers(2, 6, 8, seed=2) == 0] = IGNORED
    each = -log_softmax(outputs.numpy(), -1)
    expected = [
        np.mean([each[row, word, tag] for word, tag in enumerate(tags) if tag != IGNORED])
        for row, tags in enumerate(labels.tolist())
    ]
    assert kind.losses(outputs, labels).tolist() == pytest.approx(expected, **exactly)
    assert kind.nll(outputs, labels).equal(kind.losses(outputs, labels))


def test_pieces_without_a_label_change_nothing():
    kind, labels = Tagging(3, names=("O", "B-x", "I-x")), torch.tensor([[1, IGNORED, 2, 0, IGNORED]])
    one, two = logits(1, 5, 3), logits(1, 5, 3, seed=1)
    two[labels != IGNORED] = one[labels != IGNORED]
    assert kind.losses(one, labels).equal(kind.losses(two, labels))
    assert kind.uncertainty(one[None], labels).equal(kind.uncertainty(two[None], labels))
    assert kind.row_stats(one, labels)["predicted"].equal(kind.row_stats(two, labels)["predicted"])


def test_no_tags_at_all_are_no_tags_right():
    kind, labels = Tagging(3), torch.full((1, 4), IGNORED)
    assert kind.metrics(kind.row_stats(logits(1, 4, 3), labels)) == {"tag_accuracy": 0.0}


def test_a_span_is_right_when_both_ends_are():
    kind = Span()
    outputs = torch.zeros(2, 4, 2)
    outputs[0, 1, 0] = outputs[0, 2, 1] = outputs[1, 0, 0] = outputs[1, 3, 1] = 5.0
    labels = torch.tensor([[1, 2], [0, 2]])
    assert kind.metrics(kind.row_stats(outputs, labels)) == {"exact_match": 0.5}
    certain, lost = np.log(1 + 3 * np.exp(-5)), np.log(3 + np.exp(5))
    assert kind.losses(outputs, labels).tolist() == pytest.approx([certain, (certain + lost) / 2], rel=1e-3)


@pytest.mark.parametrize("kind", [Span(), Answer()], ids=["Span", "Answer"])
def test_the_loss_of_a_span_is_the_mean_of_both_ends(kind):
    outputs, labels = logits(6, 7, 2), integers(7, 6, 2)
    each = -log_softmax(outputs.numpy(), 1)
    expected = [(each[row, a, 0] + each[row, b, 1]) / 2 for row, (a, b) in enumerate(labels.tolist())]
    assert kind.losses(outputs, labels).tolist() == pytest.approx(expected, **exactly)
    assert kind.nll(outputs, labels).equal(kind.losses(outputs, labels))


# Uncertainty: what K passes say, [K, N, ...]


def shape_of_outputs(kind, N, L=5):
    per_row = {"row": (kind.width,), "spans": (kind.width,), "tokens": (L, kind.width), "next": (L, kind.width)}
    return (N, kind.choices) if isinstance(kind, MultipleChoice) else (N, *per_row[kind.sees])


def some_labels(kind, N, L=5):
    if isinstance(kind, Span):
        return torch.sort(integers(L, N, 2))[0]
    if isinstance(kind, Regression):
        return logits(N)
    return integers(kind.width, N, L) if isinstance(kind, Tagging | Causal) else integers(2, N)


WITH_CLASSES = [kind for kind in EVERY if not isinstance(kind, Regression)]


@pytest.mark.parametrize("kind", WITH_CLASSES, ids=repr)
@pytest.mark.parametrize("passes", [1, 3])
def test_equal_logits_are_clueless_and_far_ones_sure(kind, passes):
    outputs, labels = torch.zeros(passes, *shape_of_outputs(kind, 4), dtype=torch.float64), some_labels(kind, 4)
    assert kind.uncertainty(outputs, labels).tolist() == pytest.approx([1.0] * 4, abs=1e-6)
    (outputs[:, :, 0] if isinstance(kind, Span) else outputs[..., 0]).fill_(1e4)
    assert kind.uncertainty(outputs, labels).tolist() == pytest.approx([0.0] * 4, **exactly)


@pytest.mark.parametrize("make", [*OF_CLASSES, Tagging])
@pytest.mark.parametrize("classes", [2, 3, 10, 1000])
def test_a_guess_has_uncertainty_one_whatever_the_number_of_classes(make, classes):
    shape = (1, 2, 3, classes) if make is Tagging else (1, 2, classes)
    labels = torch.zeros(shape[1:-1], dtype=torch.long)
    found = make(classes).uncertainty(torch.full(shape, 0.3, dtype=torch.float64), labels)
    assert found.tolist() == pytest.approx([1.0, 1.0], **exactly)


@pytest.mark.parametrize("kind", [kind for kind in EVERY if kind.width > 1 or kind.sees == "choices"], ids=repr)
def test_uncertainty_lies_between_sure_and_clueless_and_does_not_ask_what_is_right(kind):
    outputs = torch.stack([logits(*shape_of_outputs(kind, 50), seed=seed) for seed in range(3)])
    found = kind.uncertainty(outputs, some_labels(kind, 50))
    assert found.shape == (50,)
    assert ((found > 0) & (found < 1)).all()
    assert kind.uncertainty(outputs, torch.zeros_like(some_labels(kind, 50))).equal(found)


@pytest.mark.parametrize("make", OF_CLASSES)
def test_passes_that_disagree_are_unsure_though_each_is_sure(make):
    outputs = torch.tensor([[[50.0, 0.0]], [[0.0, 50.0]]], dtype=torch.float64)
    assert make(2).uncertainty(outputs, torch.zeros(1, dtype=torch.long)).tolist() == pytest.approx([1.0], **exactly)


def test_the_mean_probability_of_two_passes_by_hand():
    outputs = torch.tensor([[[1.0, 3.0]], [[1.0, 1.0]]], dtype=torch.float64).log()  # 1/4, 3/4 and 1/2, 1/2
    expected = -(3 / 8 * math.log2(3 / 8) + 5 / 8 * math.log2(5 / 8))
    labels = torch.zeros(1, dtype=torch.long)
    for kind in (Classification(2), MultipleChoice(2), GroupedAnswers(), Cloze()):
        assert kind.uncertainty(outputs, labels).tolist() == pytest.approx([expected], **exactly)


@pytest.mark.parametrize("passes", [1, 2, 5])
@pytest.mark.parametrize("make", OF_CLASSES)
def test_uncertainty_is_the_share_of_entropy_of_the_mean_prediction(make, passes):
    outputs = logits(passes, 20, 6)
    expected = entropy(softmax(outputs.numpy(), -1).mean(0)) / math.log(6)
    assert make(6).uncertainty(outputs, integers(6, 20)).tolist() == pytest.approx(expected, **exactly)


@pytest.mark.parametrize("passes", [1, 4])
def test_uncertainty_of_tags_is_the_mean_over_the_words(passes):
    outputs, labels = logits(passes, 6, 8, 3), integers(3, 6, 8)
    labels[integers(2, 6, 8, seed=2) == 0] = IGNORED
    labels[5] = IGNORED
    share = entropy(softmax(outputs.numpy(), -1).mean(0)) / math.log(3)
    expected = [np.mean(share[row, labels[row] != IGNORED]) for row in range(5)]
    assert Tagging(3).uncertainty(outputs, labels).tolist() == pytest.approx([*expected, 0.0], **exactly)


@pytest.mark.parametrize("passes", [1, 4])
def test_uncertainty_of_a_span_is_that_of_both_ends_among_the_real_places(passes):
    outputs, places = logits(passes, 4, 9, 2), [9, 5, 2, 1]
    for row, real in enumerate(places):
        outputs[:, row, real:] = MASKED
    expected = [
        np.mean([entropy(softmax(outputs[:, row, :real, end].numpy(), -1).mean(0)) / math.log(real) for end in (0, 1)])
        for row, real in enumerate(places[:3])
    ]
    found = Span().uncertainty(outputs, torch.zeros(4, 2, dtype=torch.long)).tolist()
    assert found == pytest.approx([*expected, 0.0], abs=1e-6)  # one place leaves no doubt
    outputs[outputs != MASKED] = 0.0
    found = Span().uncertainty(outputs, torch.zeros(4, 2, dtype=torch.long)).tolist()
    assert found == pytest.approx([1.0, 1.0, 1.0, 0.0], abs=1e-6)


def test_uncertainty_of_numbers_by_hand():
    outputs = torch.tensor([[[1.0], [2.0]], [[5.0], [2.0]]])  # variances 4 and 0
    assert Regression(scale=2.0).uncertainty(outputs, torch.zeros(2)).tolist() == [1 / 2, 0.0]
    assert Regression(scale=1.0).uncertainty(outputs, torch.zeros(2)).tolist() == pytest.approx([4 / 5, 0.0])


def test_uncertainty_of_numbers_does_not_depend_on_their_unit():
    outputs, labels = logits(5, 20, 1), logits(20)
    metres, tenths = Regression(1.5).uncertainty(outputs, labels), Regression(15.0).uncertainty(10 * outputs, labels)
    assert tenths.tolist() == pytest.approx(metres.tolist(), **exactly)
    v = np.var(outputs[..., 0].numpy(), axis=0) / 1.5**2
    assert metres.tolist() == pytest.approx(v / (1 + v), **exactly)


def test_one_pass_says_nothing_of_the_uncertainty_of_numbers():
    assert Regression().uncertainty(logits(1, 5, 1), logits(5)).tolist() == [0.0] * 5


# Facts and answers


@pytest.mark.parametrize("kind", [kind for kind in EVERY if not kind.describe().get("parts")], ids=repr)
def test_facts_of_batches_can_be_joined(kind):
    outputs, labels, side = logits(*shape_of_outputs(kind, 9)), some_labels(kind, 9), some_rows(kind, 9)
    whole, one, two = (
        kind.row_stats(outputs, labels),
        kind.row_stats(outputs[:4], labels[:4]),
        kind.row_stats(outputs[4:], labels[4:]),
    )
    joined = {name: torch.cat([one[name], two[name]]) for name in one}
    assert all(len(tensor) == 9 for tensor in whole.values())
    assert kind.metrics(joined, side) == kind.metrics(whole, side)
    assert kind.answers(joined, side) == kind.answers(whole, side)


class Letters:
    """One window a question; the text of a token is its letter."""

    def __init__(self, count):
        self.count = count

    def questions(self):
        return list(range(self.count))

    def excerpt(self, row, start, end):
        return "abcde"[start : end + 1]

    def references(self, question):
        return ["abc"]


def some_rows(kind, count):
    groups = np.arange(count) // 3
    side = {"group": groups, "exact": groups % 2, "f1": groups / 9, "part": groups % 2}
    return TensorRows({}, some_labels(kind, count), side={**side, "passages": Letters(count)})


LOOKS = {
    "Classification": {"label", "probabilities"},
    "SpanClassification": {"label", "probabilities"},
    "GroupedAnswers": {"label", "probabilities"},
    "MultipleChoice": {"choice", "probabilities"},
    "Regression": {"value"},
    "Tagging": {"tags"},
    "Span": {"start", "end"},
    "Answer": {"answer", "candidates"},
    "Cloze": {"chosen", "probability"},
    "Causal": {"log_probability", "tokens"},
}


@pytest.mark.parametrize("kind", EVERY, ids=repr)
def test_answers_are_plain_json_one_for_each_row(kind):
    outputs, side = logits(*shape_of_outputs(kind, 6)).float(), some_rows(kind, 6)
    told = kind.answers(kind.row_stats(outputs, side.labels()), side)
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert [set(answer) for answer in told] == [LOOKS[type(kind).__name__]] * 6


@pytest.mark.parametrize("kind", EVERY, ids=repr)
def test_metrics_are_plain_numbers_whose_mean_is_the_score(kind):
    outputs, side = logits(*shape_of_outputs(kind, 6)).float(), some_rows(kind, 6)
    found = kind.metrics(kind.row_stats(outputs, side.labels()), side)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert all(type(value) is float and -1 <= value <= 1 for value in found.values())
    assert kind.score(found) == pytest.approx(np.mean(list(found.values())))


def answer_of(kind, outputs, labels=None):
    outputs = torch.tensor(outputs)
    labels = torch.zeros(len(outputs), dtype=torch.long) if labels is None else torch.tensor(labels)
    return kind.answers(kind.row_stats(outputs, labels), TensorRows({}, labels))


def test_answers_by_hand():
    three = [[math.log(2), math.log(5), math.log(3)]]
    shares = [0.2, 0.5, 0.3]
    assert answer_of(Classification(3), three) == [
        {"label": "1", "probabilities": dict(zip("012", shares, strict=True))}
    ]
    assert answer_of(Classification(3, names=("a", "b", "c")), three) == [
        {"label": "b", "probabilities": dict(zip("abc", shares, strict=True))}
    ]
    assert answer_of(MultipleChoice(3), three) == [{"choice": 1, "probabilities": shares}]
    assert answer_of(Regression(), [[1.25], [-3.0]], [0.0, 0.0]) == [{"value": 1.25}, {"value": -3.0}]


def test_answers_about_tokens_by_hand():
    tags = [[[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]]
    labels = [[0, IGNORED, 0], [0, IGNORED, IGNORED]]
    assert answer_of(Tagging(2), tags, labels) == [{"tags": ["1", "0"]}, {"tags": ["1"]}]
    assert answer_of(Tagging(2, ("O", "B-x")), tags, labels) == [{"tags": ["B-x", "O"]}, {"tags": ["B-x"]}]
    assert answer_of(Span(), tags[:1], [[0, 0]]) == [{"start": 2, "end": 0}]


# Descriptions and refusals


def test_every_kind_is_examined_here():
    def below(kind):
        return {each for child in kind.__subclasses__() for each in {child, *below(child)}}

    whole = {kind for kind in below(Kind) if not inspect.isabstract(kind)}
    shipped = {kind for kind in whole if kind.__module__.startswith("rota.tasks.")}
    assert {type(kind) for kind in EVERY} == set(KINDS.values()) == shipped
    assert {type(kind).__name__ for kind in EVERY} == set(KINDS) == set(LOOKS)


@pytest.mark.parametrize("kind", EVERY, ids=repr)
def test_a_kind_survives_json(kind):
    read = kind_from(json.loads(json.dumps(kind.describe())))
    assert read == kind
    assert type(read) is type(kind)
    assert hash(read) == hash(kind)
    assert repr(read) == repr(kind)
    assert read.describe() == kind.describe()


def test_reading_a_kind_does_not_change_its_description():
    description = Classification(2, names=("no", "yes")).describe()
    kind_from(description)
    assert description == {
        "type": "Classification",
        "classes": 2,
        "measured": ["accuracy"],
        "names": ["no", "yes"],
        "parts": [],
    }


@pytest.mark.parametrize("description", [{}, {"type": None}, {"type": "Clasification", "classes": 2}, {"type": "Kind"}])
def test_unknown_kinds_are_refused(description):
    with pytest.raises(RotaError, match=r"Unknown kind of task .* Known: Answer, Causal, Classification"):
        kind_from(description)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"measured": ("acuracy",)}, r"Unknown metric of classification 'acuracy'\. Did you mean 'accuracy'\?"),
        ({"names": ("no", "yes")}, r"Expected 3 names of classes\. Found 2\."),
    ],
)
@pytest.mark.parametrize("make", [Classification, SpanClassification])
def test_impossible_classifications_are_refused(make, options, sentence):
    with pytest.raises(RotaError, match=sentence):
        make(3, **options)
    with pytest.raises(RotaError, match=sentence):
        kind_from({"type": make.__name__, "classes": 3, **options})


@pytest.mark.parametrize(
    ("kind", "labels", "sentence"),
    [
        (
            Classification(2),
            [1, 1, 1],
            r"'x' expects training rows of two classes or more\. Found only class 1 in 3 rows",
        ),
        (Classification(2), [0, 1, 2], r"labels from 0 to 1. Found \[2\]"),
        (Classification(2), [-1, 0, 1], r"labels from 0 to 1. Found \[-1\]"),
        (SpanClassification(2), [0, 0], "Found only class 0 in 2 rows"),
        (GroupedAnswers(), [0, 0], "Found only class 0 in 2 rows"),
        (Cloze(), [0, 1, 2], r"labels from 0 to 1. Found \[2\]"),
        (Regression(), [1.0, 1.0, 1.0], "'x' expects training rows with different targets. Found only 1 in 3 rows"),
        (Regression(), [1.0, float("nan")], "'x' expects targets that are numbers"),
        (MultipleChoice(2), [0, 0, 0], "right choice differs. Found choice 0 in all 3 rows"),
        (MultipleChoice(2), [0, 1, 5], r"labels from 0 to 1. Found \[5\]"),
        (Tagging(2), [0, 1, 7, IGNORED], r"labels from 0 to 1. Found \[7\]"),
    ],
)
def test_labels_that_teach_nothing_are_refused(kind, labels, sentence):
    with pytest.raises(RotaError, match=sentence):
        kind.check("x", torch.tensor(labels))


@pytest.mark.parametrize("kind", EVERY, ids=repr)
def test_labels_that_teach_something_are_accepted(kind):
    assert kind.check("x", some_labels(kind, 20)) is None


@pytest.mark.parametrize(
    ("kind", "width", "sees", "spans"),
    [
        (Classification(3), 3, "row", 0),
        (SpanClassification(3), 3, "spans", 2),
        (MultipleChoice(3), 1, "choices", 0),
        (Regression(), 1, "row", 0),
        (Tagging(3), 3, "tokens", 0),
        (Span(), 2, "tokens", 0),
        (Answer(), 2, "tokens", 0),
        (GroupedAnswers(), 2, "row", 0),
        (Cloze(), 2, "row", 0),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Kind) else str(value),
)
def test_the_shape_of_the_head(kind, width, sees, spans):
    assert (kind.width, kind.sees, kind.spans) == (width, sees, spans)
