"""How difficult a set of labelled texts is before training: EDM (Collins et al. 2018), which Pilault et al. (2021)
compare with the order in which tasks are sampled."""

from __future__ import annotations

import math
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from numbers import Integral
from typing import NamedTuple

from rota.errors import RotaError

TOP = 10  # most frequent words of a class that the last term looks at
NOT_IN_WORDS = str.maketrans("", "", string.punctuation)
STOP_WORDS = """
a an the this that these those who whom whose which what
i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers herself
it its itself they them their theirs themselves
am is are was were be been being do does did doing have has had having
can could will would shall should may might must
and or but nor if because as until while than then so though although
of at by for with about against between into through during before after above below to from up down in out on off
over under upon
again further once here there when where why how now just only too very
all any both each few more most other some such no not own same
"""
"""Words that say little about what a text is about; all others may characterise a class."""

IGNORED = frozenset(STOP_WORDS.split())


class Difficulty(NamedTuple):
    """The five terms of EDM; all grow with the difficulty.

    Args:
        distinct: Different words / words.
        imbalance: Σ_c |1/C - n_c/n|: how far the classes are from equal sizes.
        diversity: -Σ_c p_c ln p_c: the entropy of the classes.
        overlap: 1 - the smallest Hellinger distance between the words of two classes.
        information: The mean of a matrix over the most frequent words of the classes: entropies on its diagonal, what
            two classes share elsewhere.

    >>> Difficulty(distinct=0.1, imbalance=0.2, diversity=0.7, overlap=0.5, information=0.3).total
    1.8
    """

    distinct: float
    imbalance: float
    diversity: float
    overlap: float
    information: float

    @property
    def total(self) -> float:
        """Their sum. The sets that the authors looked at have a mean of 3.26 and a standard deviation of 0.80."""
        return sum(self)


def difficulty(texts: Sequence[str], labels: Sequence[int], symmetric: bool = True) -> Difficulty:
    """Measure texts in classes by their single words: ASCII only, without punctuation, in lower case.

    Where this differs from the authors' package: its Hellinger distance sums over the words of whichever class comes
    first, and of equally frequent words it keeps those that come first. Here the order of the rows makes no
    difference, unless `symmetric` is False. Its list of stop words is another one.

    Args:
        texts: One for each row; of a task on pairs, both texts in one.
        labels: The class of each row, as a whole number. There must be two classes with words. (For a regression the
            measure is not defined.)
        symmetric: Whether distances are over the words of both classes; False for those of the first one, as the
            package has it.

    >>> measured = difficulty(["A good film!", "A bad film!"], [1, 0])
    >>> [round(term, 4) for term in measured], round(measured.total, 4)
    ([0.6667, 0.0, 0.6931, 0.4226, 0.5199], 2.3023)
    """
    _check(texts, labels)
    rows, words = Counter(labels), dict[int, Counter[str]]()
    for text, label in zip(texts, labels, strict=True):
        words.setdefault(label, Counter()).update(_words(text))
    spoken = {label: own for label, own in words.items() if own}
    if len(spoken) < 2:
        raise RotaError(f"Expected texts with words in at least two classes. Found words in {len(spoken)}.")
    every = sum(spoken.values(), Counter[str]())
    shares = [n / rows.total() for n in rows.values()]
    distances = [_hellinger(one, other, symmetric) for one, other in combinations(spoken.values(), 2)]
    return Difficulty(
        distinct=len(every) / every.total(),
        imbalance=sum(abs(1 / len(shares) - share) for share in shares),
        diversity=-sum(share * math.log(share) for share in shares),
        overlap=1 - min(distances),
        information=_information([_most_frequent(own, symmetric) for own in spoken.values()]),
    )


def _words(text: str) -> list[str]:
    return text.encode("ascii", "ignore").decode().translate(NOT_IN_WORDS).lower().split()


def _hellinger(one: Counter[str], other: Counter[str], symmetric: bool) -> float:
    """1/√2 · √Σ_w (√p_w - √q_w)², between 0 (the same) and 1 (no word in common)."""
    n, m = one.total(), other.total()
    over = one.keys() | other.keys() if symmetric else one.keys()
    return math.sqrt(math.fsum((math.sqrt(one[w] / n) - math.sqrt(other[w] / m)) ** 2 for w in over) / 2)


def _most_frequent(words: Counter[str], symmetric: bool) -> dict[str, int]:
    """Without stop words; of equally frequent words, the first in the alphabet or else in the texts."""
    kept = [(word, n) for word, n in words.items() if word not in IGNORED]
    return dict(sorted(kept, key=lambda item: (-item[1], item[0] if symmetric else ""))[:TOP])


def _information(frequent: Sequence[Mapping[str, int]]) -> float:
    """The mean over C × C: the entropy of each class's own words, and for two classes
    Σ_w p₁₂ (ln p₁₂ - ln p₁ - ln p₂) over the words of both, with p₁₂ from their counts together."""
    totals = [sum(own.values()) for own in frequent]
    diagonal = [
        -n / total * math.log(n / total) for own, total in zip(frequent, totals, strict=True) for n in own.values()
    ]
    beside = []
    for (one, n), (other, m) in combinations(zip(frequent, totals, strict=True), 2):
        for word in sorted(one.keys() & other.keys()):
            p1, p2, p12 = one[word] / n, other[word] / m, (one[word] + other[word]) / (n + m)
            beside.append(p12 * (math.log(p12) - math.log(p1) - math.log(p2)))
    return (math.fsum(diagonal) + 2 * math.fsum(beside)) / len(frequent) ** 2


def _check(texts: Sequence[str], labels: Sequence[int]) -> None:
    if len(texts) != len(labels):
        raise RotaError(f"Expected one label for each text. Found {len(texts)} texts and {len(labels)} labels.")
    for label in labels:
        if not isinstance(label, Integral):
            raise RotaError(
                f"Expected classes as whole numbers. Found {label!r}. The difficulty of a regression is not defined: "
                f"leave it out, or put its scores into a few bins first."
            )
