"""`toytext`: generated sentences with one small task of each kind, for tests that need text and no download."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from rota.data._suite import made
from rota.seeds import generator
from rota.tasks import (
    IGNORED,
    Classification,
    Kind,
    MultipleChoice,
    Regression,
    Span,
    Tagging,
    Task,
    TensorRows,
    Tokens,
)

SEED = 0  # of the data, not of a run
ROWS = {"train": 600, "dev": 200, "test": 200}

PAD, SEP = "<pad>", "<sep>"
NAMES = ["ada", "bruno", "clara", "dmitri", "elif", "farid", "greta", "hugo"]
SURNAMES = ["stone", "field", "marsh"]
VERBS = ["paints", "mends", "sells", "finds", "carries", "hides"]
THINGS = ["boat", "lamp", "basket", "clock", "ladder", "drum"]
PLACES = ["harbour", "garden", "market", "attic", "tower"]
GOOD = ["lovely", "bright", "sturdy", "charming"]
BAD = ["ugly", "broken", "rotten", "dull"]
NUMBERS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
WORDS = [PAD, SEP, *NAMES, *SURNAMES, *VERBS, *THINGS, *PLACES, *GOOD, *BAD, *NUMBERS]
WORDS += ["the", "in", "is", "and", "who", "where"]
NUMBER = {word: k for k, word in enumerate(WORDS)}
LONGEST = 20

Row = tuple[list[str] | list[list[str]], float | list[int]]
"""Words of a row (one list per choice where there are choices), and its label."""


def _name(rng: np.random.Generator) -> list[str]:
    return [rng.choice(NAMES), *([rng.choice(SURNAMES)] if rng.random() < 0.5 else [])]


def _mood(rng: np.random.Generator) -> Row:
    """Classification: is the thing spoken of well?"""
    good = int(rng.integers(2))
    words = [*_name(rng), rng.choice(VERBS), "the", rng.choice(GOOD if good else BAD), rng.choice(THINGS)]
    return words, good


def _follows(rng: np.random.Generator) -> Row:
    """Pair classification: does the second sentence follow from the first?"""
    place, true = rng.choice(PLACES), int(rng.integers(2))
    other = place if true else rng.choice([word for word in PLACES if word != place])
    name = rng.choice(NAMES)
    first = [name, rng.choice(VERBS), "the", rng.choice(THINGS), "in", "the", place]
    return [*first, SEP, name, "is", "in", "the", other], true


def _howmany(rng: np.random.Generator) -> Row:
    """Regression: how many things in all? In tens, so that targets are about one."""
    one, two = rng.integers(1, 10, size=2)
    words = [rng.choice(NAMES), rng.choice(VERBS), NUMBERS[one - 1], rng.choice(THINGS), "and"]
    return [*words, NUMBERS[two - 1], rng.choice(THINGS)], float(one + two) / 10


def _where(rng: np.random.Generator) -> Row:
    """Multiple choice: which of three places fits the sentence?"""
    places = rng.permutation(PLACES)[:3].tolist()
    right = int(rng.integers(3))
    sentence = [rng.choice(NAMES), rng.choice(VERBS), "the", rng.choice(THINGS), "in", "the", places[right]]
    return [["where", SEP, *sentence, SEP, "in", "the", place] for place in places], right


def _roles(rng: np.random.Generator) -> Row:
    """Tagging: who (1), what (2), where (3), or none of these (0)?"""
    name = _name(rng)
    words = [
        *name,
        rng.choice(VERBS),
        "the",
        rng.choice(GOOD + BAD),
        rng.choice(THINGS),
        "in",
        "the",
        rng.choice(PLACES),
    ]
    return words, [1] * len(name) + [0, 0, 0, 2, 0, 0, 3]


def _who(rng: np.random.Generator) -> Row:
    """Answer span: who does this?"""
    verbs, asked = rng.permutation(VERBS)[:2], int(rng.integers(2))
    names = [_name(rng), _name(rng)]
    words, span = ["who", verbs[asked], SEP], [0, 0]
    for k in range(2):
        if k == asked:
            span = [len(words), len(words) + len(names[k]) - 1]
        words += [*names[k], verbs[k], "the", rng.choice(THINGS), *(["and"] if k == 0 else [])]
    return words, span


MAKERS: dict[str, tuple[Kind, Callable[[np.random.Generator], Row]]] = {
    "mood": (Classification(2), _mood),
    "follows": (Classification(2), _follows),
    "howmany": (Regression(), _howmany),
    "where": (MultipleChoice(3), _where),
    "roles": (Tagging(4), _roles),
    "who": (Span(), _who),
}


def load_toytext() -> Sequence[Task]:
    """Six tasks, one of each kind: single and pair classification, regression, multiple choice, tagging, span."""
    return [
        Task(
            name,
            kind,
            {split: _rows(name, split, count, make) for split, count in ROWS.items()},
            Tokens(len(WORDS), LONGEST),
        )
        for name, (kind, make) in MAKERS.items()
    ]


def _rows(task: str, split: str, count: int, make: Callable[[np.random.Generator], Row]) -> TensorRows:
    rng = generator(SEED, "toytext", task, split)
    rows = [make(rng) for _ in range(count)]
    tokens = torch.stack([_numbers(words) for words, _ in rows])
    labels = [label for _, label in rows]
    used = (tokens != 0).sum(-1)
    lengths = used.amax(-1) if used.dim() > 1 else used
    if task == "roles":
        padded = [label + [IGNORED] * (LONGEST - len(label)) for label in labels if isinstance(label, list)]
        return TensorRows({"tokens": tokens}, torch.tensor(padded), lengths)
    return TensorRows({"tokens": tokens}, torch.tensor(labels), lengths)


def _numbers(words: list[str] | list[list[str]]) -> torch.Tensor:
    if isinstance(words[0], list):
        return torch.stack([_numbers(choice) for choice in words if isinstance(choice, list)])
    numbers = [NUMBER[str(word)] for word in words]
    return torch.tensor(numbers + [0] * (LONGEST - len(numbers)))


TOYTEXT = made("toytext", "generated sentences, one small task of each kind, for tests", tuple(MAKERS), load_toytext)
