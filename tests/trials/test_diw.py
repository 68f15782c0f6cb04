"""DIW: weights by what each task does for the target."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from rota.trials import LEAST, diw


class Score:
    """Training moves a number by the weighted sum of what each task is worth; the score is a function of it."""

    def __init__(self, worth):
        self.model = nn.Linear(1, 1, bias=False)
        self.model.weight.data.zero_()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1.0)
        self.worth, self.trained = worth, []

    def train(self, weights):
        self.trained.append(dict(weights))
        with torch.no_grad():
            self.model.weight += sum(weight * self.worth[task] for task, weight in weights.items())

    def score(self):
        return self.model.weight.item()


def test_the_weights_of_a_round_by_hand():
    world = Score({"good": 0.3, "bad": -0.1})
    line = diw(world.model, world.optimizer, world.train, ["good", "bad"], "good", world.score, lr=1.0)
    # Branches: 0.3 and −0.1. The joint try at weights ½, ½ scores 0.1, and beats nothing that came before.
    assert line["scores"] == pytest.approx({"good": 0.3, "bad": -0.1})
    assert line["tries"] == pytest.approx([0.1])
    assert line["weights"] == pytest.approx({"good": 1 + 0.3 - 0.1, "bad": 1 - 0.1 - 0.1})
    assert world.score() == pytest.approx(0.1)


def test_tries_go_on_until_one_beats_the_round_before():
    world = Score({"good": 0.3, "bad": -0.1})
    line = diw(world.model, world.optimizer, world.train, ["good", "bad"], "good", world.score, lr=1.0, before=0.17)
    assert line["kept"] == len(line["tries"]) - 1 > 0
    assert line["tries"][-1] > 0.17 >= max(line["tries"][:-1])
    assert world.score() == pytest.approx(line["tries"][-1])
    shares = [weights["good"] / sum(weights.values()) for weights in world.trained[2:]]
    assert shares == sorted(shares)


def test_after_so_many_tries_in_vain_the_best_one_is_kept():
    world = Score({"good": 0.0, "bad": 0.0})
    scores = iter([0.1, 0.1, 0.2, 0.4, 0.3, 0.1, 0.3])
    line = diw(
        *(world.model, world.optimizer, world.train, ["good", "bad"], "good", lambda: next(scores)),
        **{"before": 0.9, "patience": 3},
    )
    assert line["tries"] == [0.2, 0.4, 0.3, 0.1, 0.3]
    assert line["kept"] == 1


def test_the_parameters_of_the_best_try_come_back():
    world = Score({"good": 1.0, "bad": 0.0})
    places, scores = [], iter([0.1, 0.1, 0.2, 0.4, 0.3])

    def score():
        places.append(world.model.weight.item())
        return next(scores)

    diw(
        *(world.model, world.optimizer, world.train, ["good", "bad"], "good", score),
        **{"before": 0.9, "patience": 1, "lr": 0.5},
    )
    assert len(set(places)) > 2
    assert world.model.weight.item() == places[3]


def test_weights_have_a_floor():
    world = Score({"good": 1.0, "bad": -5.0})
    line = diw(world.model, world.optimizer, world.train, ["good", "bad"], "good", world.score, lr=10.0)
    assert line["weights"]["bad"] == LEAST
