"""Metrics as pure functions, tested against independent implementations."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

Metric = Callable[[Tensor, Tensor], float]
Entity = tuple[str, int, int]
"""Type, first and last word of a named entity."""


def accuracy(predicted: Tensor, label: Tensor) -> float:
    """Share of rows that are right."""
    return (predicted == label).double().mean().item()


def f1(predicted: Tensor, label: Tensor) -> float:
    """F1 of class 1; 0 where there is neither such a label nor such a prediction."""
    return f1_of(int(((predicted == 1) & (label == 1)).sum()), int((predicted == 1).sum()), int((label == 1).sum()))


def macro_f1(predicted: Tensor, label: Tensor) -> float:
    """Mean over the classes that occur in labels or predictions of each class's F1."""
    classes = torch.cat([predicted, label]).unique()
    each = [f1((predicted == c).long(), (label == c).long()) for c in classes]
    return sum(each) / len(each)


def matthews(predicted: Tensor, label: Tensor) -> float:
    """Matthews' correlation of any number of classes; 0 where one side is constant."""
    classes = torch.cat([predicted, label]).unique()
    p = (predicted[:, None] == classes).double()
    t = (label[:, None] == classes).double()
    p, t = p - p.mean(0), t - t.mean(0)
    scale = ((p * p).sum() * (t * t).sum()).sqrt().item()
    return (p * t).sum().item() / scale if scale > 0 else 0.0


METRICS: dict[str, Metric] = {"accuracy": accuracy, "f1": f1, "macro_f1": macro_f1, "matthews": matthews}


def f1_of(right: int, predicted: int, labelled: int) -> float:
    """F1 from counts: 2·right / (predicted + labelled)."""
    return 2 * right / (predicted + labelled) if right else 0.0


def correlation(x: Tensor, y: Tensor) -> float:
    """Pearson's correlation; 0 where one side is constant."""
    x, y = x - x.mean(), y - y.mean()
    scale = (x.norm() * y.norm()).item()
    return min(max((x @ y).item() / scale, -1.0), 1.0) if scale > 0 else 0.0


def ranks(values: Tensor) -> Tensor:
    """Ranks, equal values sharing their mean rank."""
    _, inverse, counts = values.unique(return_inverse=True, return_counts=True)
    ends = counts.cumsum(0).double()
    return (ends - (counts.double() - 1) / 2)[inverse].to(torch.float64)


def entities(tags: Sequence[str]) -> set[Entity]:
    """The named entities in a sentence's IOB tags.

    An entity ends where the type changes, a `B-` begins or an `O` stands; an `I-` without a beginning begins one,
    as in the CoNLL scorer.

    >>> sorted(entities(["B-person", "I-person", "O", "I-place", "B-place"]))
    [('person', 0, 1), ('place', 3, 3), ('place', 4, 4)]
    """
    found: set[Entity] = set()
    kind: str | None = None
    start = 0
    for k, tag in enumerate([*tags, "O"]):
        prefix, _, name = tag.partition("-")
        if kind is not None and (prefix != "I" or name != kind):
            found.add((kind, start, k - 1))
            kind = None
        if prefix in ("B", "I") and kind is None:
            kind, start = name, k
    return found


def normalised(answer: str) -> str:
    """An answer as the SQuAD scorer compares it: lower case, no punctuation, no articles, single spaces.

    >>> normalised("The  Eiffel-Tower!")
    'eiffeltower'
    """
    kept = "".join(letter for letter in answer.lower() if letter not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", kept).split())


def exact_match(answer: str, references: Iterable[str]) -> float:
    """1 if the answer equals one of the references after normalisation.

    >>> exact_match("The Rhine.", ["rhine", "river Rhine"])
    1.0
    """
    return float(any(normalised(answer) == normalised(reference) for reference in references))


def overlap_f1(answer: str, references: Iterable[str]) -> float:
    """Largest F1 of the words that the answer shares with a reference.

    >>> round(overlap_f1("the river Rhine", ["Rhine", "Danube"]), 2)
    0.67
    """
    return max((_overlap(normalised(answer).split(), normalised(r).split()) for r in references), default=0.0)


def rouge_l(answer: str, reference: str) -> float:
    """F1 of the longest common subsequence of two texts' words, in lower case and without punctuation (Lin, 2004).

    >>> round(rouge_l("The cat sat on the mat.", "the cat on a mat"), 3)
    0.727
    """
    one, other = (re.findall(r"[a-z0-9]+", text.lower()) for text in (answer, reference))
    shared = [0] * (len(other) + 1)  # of the words so far with each beginning of the reference
    for word in one:
        before = 0
        for place, wanted in enumerate(other, start=1):
            longest = before + 1 if word == wanted else max(shared[place], shared[place - 1])
            before, shared[place] = shared[place], longest
    return f1_of(shared[-1], len(one), len(other))


def _overlap(answer: list[str], reference: list[str]) -> float:
    shared = sum((Counter(answer) & Counter(reference)).values())
    return f1_of(shared, len(answer), len(reference))
