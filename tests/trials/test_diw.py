"""DIW: weights by what each task does for the target."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from rota.trials import DIW, LEAST, Segment, diw
from rota.trials._branch_training import Asked


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
    assert line["steps"] == {"good": 1, "bad": 1, "joint": 1}
    assert line["weights"] == pytest.approx({"good": 1 + 0.3 - 0.1, "bad": 1 - 0.1 - 0.1})
    assert world.score() == pytest.approx(0.1)


def test_a_score_of_zero_is_a_score():
    world = Score({"good": 0.5, "bad": 0.0})
    line = diw(world.model, world.optimizer, world.train, ["good", "bad"], "good", world.score, lr=1.0)
    assert line["weights"] == pytest.approx({"good": 1 + 0.5 - 0.25, "bad": 1 - 0.25})


def test_a_shared_memory_is_that_of_the_try_that_was_kept():
    world = Score({"good": 1.0, "bad": 0.0})
    world.optimizer = torch.optim.SGD(world.model.parameters(), lr=0.0, momentum=0.9)
    world.model.weight.grad = torch.ones(1, 1)
    world.optimizer.step()
    momentum = world.optimizer.state[world.model.weight]["momentum_buffer"]
    scores = iter([0.3, 0.1, 0.2, 0.4, 0.3])  # two branches, three tries
    trial, asked = trial_of(world, memory="shared", before=0.9, patience=3), Asked(lambda: 0.0, lambda: next(scores))
    for turn in range(5):
        trial.next(100)
        assert momentum.item() == 0.0  # nobody knows anything yet
        momentum.fill_(turn + 1.0)
        line = trial.finish(asked, 100)
    assert line["kept"] == 1
    trial.next(100)
    assert momentum.item() == 4.0


def test_with_memories_of_their_own_branches_and_tries_go_on_from_their_last():
    world = Score({"good": 1.0, "bad": 0.0})
    world.optimizer = torch.optim.SGD(world.model.parameters(), lr=0.0, momentum=0.9)
    world.model.weight.grad = torch.ones(1, 1)
    world.optimizer.step()
    momentum = world.optimizer.state[world.model.weight]["momentum_buffer"]
    trial, asked, begun = trial_of(world, memory="own"), Asked(lambda: 0.0, iter([0.1, 0.2, 0.3] * 2).__next__), []
    for turn in range(6):  # two rounds of two branches and a try, of which the first one was good enough
        trial.next(100)
        begun.append(momentum.item())
        momentum.fill_(turn + 1.0)
        trial.finish(asked, 100)
    assert begun == [0, 0, 0, 1, 2, 3]


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
    scores = iter([0.1, 0.1, 0.2, 0.4, 0.3])
    line = diw(
        *(world.model, world.optimizer, world.train, ["good", "bad"], "good", lambda: next(scores)),
        **{"before": 0.9, "patience": 3},
    )
    assert line["tries"] == [0.2, 0.4, 0.3]  # better than the one before it is not better than the round before
    assert line["kept"] == 1


def test_the_parameters_of_the_best_try_come_back():
    world = Score({"good": 1.0, "bad": 0.0})
    places, scores = [], iter([0.3, 0.1, 0.2, 0.4, 0.3])

    def score():
        places.append(world.model.weight.item())
        return next(scores)

    diw(
        *(world.model, world.optimizer, world.train, ["good", "bad"], "good", score),
        **{"before": 0.9, "patience": 3, "lr": 0.5},
    )
    assert len(set(places)) == 5  # no try is like another
    assert world.model.weight.item() == places[3]


def trial_of(world, **options):
    return DIW(world.model, world.optimizer, {"good": 4, "bad": 2}, "good", **options)


def test_a_round_needs_its_branches_and_one_try():
    """Branches of 4 and 2 updates, and joint steps with four batches of one task and two of the other."""
    trial = trial_of(Score({}))
    assert trial.state_dict() == {
        **{"weights": {"good": 1.0, "bad": 1.0}, "round": 0},
        **{"scores": None, "tries": [], "before": None},
    }
    assert trial.next(9) is None
    assert trial.at_border
    assert trial.next(10) == Segment({"good": 1.0}, 4, again=True)
    assert not trial.at_border


def test_a_round_ends_where_no_further_try_fits_in():
    world = Score({})
    scores = iter([0.5, 0.5, 0.1, 0.2])
    trial, asked = trial_of(world, before=0.9), Asked(lambda: 0.0, lambda: next(scores))
    for left, after in ((16, 12), (12, 10), (10, 6)):
        trial.next(left)
        assert trial.finish(asked, after) is None
    weights = pytest.approx({"good": 0.5, "bad": 0.5})
    assert trial.next(6) == Segment(weights, 4, {"good": 4, "bad": 2}, again=True)
    line = trial.finish(asked, 2)
    assert (line["tries"], line["kept"], line["round"], trial.round) == ([0.1, 0.2], 1, 0, 1)
    assert line["steps"] == {"good": 4, "bad": 2, "joint": 4}
    assert list(trial.kept) == [3]  # of two branches and two tries, the second try
    assert trial.state_dict()["before"] == 0.2  # what the next round has to beat


def test_a_round_in_which_all_tries_break_leaves_what_there_was():
    world = Score({"good": 0.3, "bad": 0.1})
    trial, asked = trial_of(world, before=0.25, patience=2), Asked(lambda: 0.0, world.score)
    line, broken = None, iter([False, False, True, True])
    while line is None:
        world.train(trial.next(100).weights)
        line = trial.finish(asked, 100, broken=next(broken))
    assert (line["tries"], line["kept"], line["diverged"]) == ([None, None], None, ["good", "bad"])
    assert line["weights"] == {"good": 1.0, "bad": 1.0}
    assert world.score() == 0.0
    assert trial.state_dict()["before"] == 0.25


def test_a_task_whose_branch_breaks_is_in_no_try():
    world = Score({"good": 0.3, "bad": -0.1})
    trial, asked = trial_of(world), Asked(lambda: 0.0, world.score)
    for broken in (False, True):
        world.train(trial.next(100).weights)
        assert trial.finish(asked, 100, broken) is None
    assert trial.next(100) == Segment({"good": 0.5}, 4, {"good": 4}, again=True)
    world.train({"good": 0.5})
    line = trial.finish(asked, 100)
    assert line["scores"] == {"good": pytest.approx(0.3), "bad": None}
    assert line["diverged"] == ["bad"]
    assert line["weights"] == pytest.approx({"good": 1 + 0.1 * (0.3 - 0.15), "bad": 1.0})  # by a tenth, unless told


def test_a_round_in_which_all_branches_break_has_no_tries():
    world = Score({"good": 0.3, "bad": -0.1})
    trial, asked = trial_of(world), Asked(lambda: 0.0, world.score)
    world.train(trial.next(100).weights)
    assert trial.finish(asked, 100, broken=True) is None
    world.train(trial.next(100).weights)
    line = trial.finish(asked, 100, broken=True)
    assert (line["tries"], line["kept"], line["diverged"]) == ([], None, ["good", "bad"])
    assert world.score() == 0.0
    assert trial.at_border


def test_weights_have_a_floor():
    world = Score({"good": 1.0, "bad": -5.0})
    line = diw(world.model, world.optimizer, world.train, ["good", "bad"], "good", world.score, lr=10.0)
    assert line["weights"]["bad"] == LEAST
