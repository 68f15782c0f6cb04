"""αVIL: the gradient of α, its optimum, its weights."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from rota.errors import RotaError
from rota.trials import LEAST, AlphaSettings, AlphaVIL, Deltas, alpha_vil, tune

TASKS = ["target", "helper", "noise"]


class Point(nn.Module):
    """Parameters and nothing else: a place on a hill."""

    def __init__(self, *start):
        super().__init__()
        self.at = nn.Parameter(torch.tensor(start, dtype=torch.float64))


def branched(model, ways):
    """Deltas that go these ways."""
    deltas = Deltas(model, list(ways))
    deltas.open()
    start = [p.detach().clone() for p in model.parameters()]
    for task, way in ways.items():
        for parameter, begin, own in zip(model.parameters(), start, way, strict=True):
            parameter.data.copy_(begin + own)
        deltas.collect(task)
    return deltas


def small_network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)).double()


@pytest.mark.parametrize("storage", ["full", "cpu"])
def test_the_slopes_of_alpha_are_those_of_finite_differences(storage):
    model, x = small_network(), torch.randn(5, 3, dtype=torch.float64)
    ways = {task: [0.1 * torch.randn_like(p) for p in model.parameters()] for task in TASKS}
    deltas = Deltas(model, TASKS, storage)
    deltas.open()
    start = [p.detach().clone() for p in model.parameters()]
    for task in TASKS:
        for parameter, begin, own in zip(model.parameters(), start, ways[task], strict=True):
            parameter.data.copy_(begin + own)
        deltas.collect(task)
    alpha = torch.tensor([1.2, 0.7, -0.1], dtype=torch.float64)

    def loss(at):
        deltas.mix(at)
        return model(x).square().mean()

    value = loss(alpha)
    model.zero_grad()
    value.backward()
    slopes, small = deltas.slopes(), 1e-6
    for k in range(len(TASKS)):
        step = small * torch.eye(len(TASKS), dtype=torch.float64)[k]
        expected = (loss(alpha + step) - loss(alpha - step)).item() / (2 * small)
        assert slopes[k].item() == pytest.approx(expected, abs=1e-6)


def test_a_quadratic_problem_reaches_its_closed_form():
    torch.manual_seed(1)
    model = Point(0.0, 0.0, 0.0, 0.0)
    ways = {task: [torch.randn(4, dtype=torch.float64)] for task in TASKS}
    goal = torch.randn(4, dtype=torch.float64)
    deltas = branched(model, ways)

    def gradient():
        model.at.grad = model.at.detach() - goal
        return 0.5 * (model.at.detach() - goal).square().sum().item()

    alpha, losses = tune(deltas, gradient, AlphaSettings(steps=5000, lr=0.05))
    matrix = torch.stack([ways[task][0] for task in TASKS], dim=1)
    assert alpha.tolist() == pytest.approx(torch.linalg.lstsq(matrix, goal).solution.tolist(), abs=1e-6)
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adamax"])
def test_a_delta_against_the_target_shrinks_and_one_along_it_grows(optimizer):
    model = Point(0.0)
    one = torch.ones(1, dtype=torch.float64)
    deltas = branched(model, {"target": [one], "against": [-0.5 * one], "along": [0.1 * one]})

    def gradient():  # the goal is at 5
        model.at.grad = model.at.detach() - 5
        return 0.0

    alpha, _ = tune(deltas, gradient, AlphaSettings(optimizer=optimizer))
    assert alpha[0] > 1
    assert alpha[1] < 1
    assert alpha[2] > 1


def test_alpha_has_a_floor_where_one_is_asked_for():
    model = Point(0.0)
    deltas = branched(model, {"target": [torch.ones(1, dtype=torch.float64)]})

    def gradient():
        model.at.grad = torch.full((1,), 100.0, dtype=torch.float64)
        return 1.0

    assert tune(deltas, gradient, AlphaSettings(least=0.25))[0].item() == 0.25
    assert tune(deltas, gradient, AlphaSettings())[0].item() < 0


def test_tuning_ends_where_the_loss_is_no_number():
    model = Point(0.0)
    deltas = branched(model, {"target": [torch.ones(1, dtype=torch.float64)]})
    losses = iter([1.0, 0.5, math.nan, 0.1])

    def gradient():
        model.at.grad = -torch.ones(1, dtype=torch.float64)
        return next(losses)

    alpha, heard = tune(deltas, gradient, AlphaSettings(momentum=0.0, lr=0.5))
    assert heard == [1.0, 0.5]
    assert alpha.item() == 1.5


def test_bfloat16_keeps_deltas_to_its_own_precision_and_the_start_exactly():
    model = nn.Linear(300, 300)
    start = model.weight.detach().clone()
    deltas = Deltas(model, ["a", "b"], "bfloat16")
    deltas.open()
    with torch.no_grad():
        model.weight += 0.01 * torch.randn_like(start)
    moved = model.weight.detach().clone()
    deltas.collect("a")
    deltas.mix(torch.tensor([1.0, 1.0]))
    assert (model.weight - moved).abs().max() < 0.01 * 2**-6
    deltas.mix(torch.tensor([0.0, 0.0]))
    assert model.weight.equal(start)
    assert deltas.tensors()["deltas"].dtype == torch.bfloat16


def test_named_parameters_are_mixed_and_the_others_added_up():
    model = nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1)).double()
    deltas = Deltas(model, ["a", "b"], only=["1.*"])
    deltas.open()
    start = [p.detach().clone() for p in model.parameters()]
    for task, way in (("a", 1.0), ("b", 10.0)):
        deltas.go_back()
        for parameter in model.parameters():
            parameter.data += way
        deltas.collect(task)
    deltas.mix(torch.tensor([2.0, 0.0], dtype=torch.float64))
    moved = [(p.detach() - begin).item() for p, begin in zip(model.parameters(), start, strict=True)]
    assert moved == pytest.approx([11.0, 11.0, 2.0, 2.0])
    with pytest.raises(RotaError, match=r"Found heads\.\*, which no trainable parameter has"):
        Deltas(model, ["a"], only=["heads.*"])


def test_cosines_and_norms_are_those_of_the_deltas():
    model = Point(0.0, 0.0)
    ways = {"target": [torch.tensor([3.0, 4.0]).double()], "other": [torch.tensor([-4.0, 3.0]).double()]}
    deltas = branched(model, ways)
    assert deltas.cosines("target") == pytest.approx({"target": 1.0, "other": 0.0})
    model.at.data.copy_(torch.tensor([0.0, 2.0]))
    assert deltas.collect("other") == pytest.approx(2.0)
    assert deltas.cosines("target")["other"] == pytest.approx(0.8)


def hills(model, optimizer, goals, steps=5):
    """Branches that walk towards the goal of their task, and the gradient of the target's loss."""

    def walk(goal, weight):
        for _ in range(steps):
            optimizer.zero_grad()
            (weight * 0.5 * (model.at - goal).square().sum()).backward()
            optimizer.step()

    def gradient():
        optimizer.zero_grad()
        loss = 0.5 * (model.at - goals["target"]).square().sum()
        loss.backward()
        return loss.item()

    branches = {task: lambda weight, goal=goal: walk(goal, weight) for task, goal in goals.items()}
    return branches, gradient


def test_a_round_writes_the_mixture_back_and_moves_the_weights():
    model = Point(0.0, 0.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    goals = {"target": torch.tensor([1.0, 0.0]).double(), "against": torch.tensor([-1.0, 0.5]).double()}
    branches, gradient = hills(model, optimizer, goals)
    weights, round_ = None, {}
    for _ in range(30):
        round_ = alpha_vil(model, optimizer, branches, "target", gradient, weights, alpha=AlphaSettings(lr=0.5))
        weights = round_["weights"]
    assert round_["loss"]["after"] <= round_["loss"]["before"]
    assert weights["target"] > 1 > weights["against"]
    assert (model.at - goals["target"]).norm() < 0.2


def test_the_first_round_is_the_sum_of_the_branches_computed_by_hand():
    model = Point(0.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    goals = {"target": torch.tensor([1.0]).double(), "other": torch.tensor([-2.0]).double()}
    branches, gradient = hills(model, optimizer, goals, steps=1)
    settings = AlphaSettings(steps=1, lr=0.5, momentum=0.0)
    round_ = alpha_vil(model, optimizer, branches, "target", gradient, alpha=settings)
    # δ = 0.1 · ½ · (1, −2) = (0.05, −0.1); θ_mix = −0.05; ∇L = −1.05; slopes (−0.0525, 0.105); α = (1.02625, 0.9475)
    assert round_["alpha"] == pytest.approx({"target": 1.02625, "other": 0.9475})
    assert round_["weights"] == pytest.approx({"target": 1.02625, "other": 0.9475})
    assert model.at.item() == pytest.approx(1.02625 * 0.05 - 0.9475 * 0.1)
    assert round_["norm"] == pytest.approx({"target": 0.05, "other": 0.1})
    assert round_["cosine"] == pytest.approx({"target": 1.0, "other": -1.0})
    assert round_["loss"] == pytest.approx({"before": 0.5 * 1.05**2, "after": 0.5 * (1 - model.at.item()) ** 2})


@pytest.mark.parametrize("storage", ["full", "bfloat16"])
def test_alignment_is_the_cosine_with_the_way_down_whatever_the_length(storage):
    model = Point(0.0, 0.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.125)
    goals = {"target": [1.0, 0.0], "far": [8.0, 8.0], "aside": [0.0, 2.0], "against": [-0.5, 0.0]}
    goals = {task: torch.tensor(goal).double() for task, goal in goals.items()}
    branches, gradient = hills(model, optimizer, goals, steps=1)
    options = {"weighting": "alignment", "storage": storage, "alpha": AlphaSettings(steps=0)}
    round_ = alpha_vil(model, optimizer, branches, "target", gradient, **options)
    assert round_["alignment"] == pytest.approx({"target": 1.0, "far": 0.5**0.5, "aside": 0.0, "against": -1.0})
    expected = {"target": 2.0, "far": 1 + 0.5**0.5, "aside": 1.0, "against": LEAST}
    assert round_["weights"] == pytest.approx(expected)
    assert model.at.tolist() == pytest.approx([0.125 * 8.5 / 4, 0.125 * 10 / 4])  # all α are 1


def test_a_single_branch_is_kept_whatever_the_weights_follow():
    for options in ({}, {"weighting": "alignment"}):
        model = Point(0.0)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        branches, gradient = hills(model, optimizer, {"target": torch.tensor([1.0]).double()}, steps=1)
        alpha_vil(model, optimizer, branches, "target", gradient, alpha=AlphaSettings(steps=0), **options)
        assert model.at.item() == pytest.approx(0.1)


def test_weights_never_fall_below_their_floor():
    model = Point(0.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    goals = {"target": torch.tensor([1.0]).double(), "against": torch.tensor([-9.0]).double()}
    branches, _ = hills(model, optimizer, goals)

    def downhill():  # for ever
        model.at.grad = -torch.ones(1, dtype=torch.float64)
        return -model.at.item()

    weights, settings = None, AlphaSettings(lr=0.5)
    for _ in range(5):
        weights = alpha_vil(model, optimizer, branches, "target", downhill, weights, alpha=settings)["weights"]
        assert all(weight >= LEAST for weight in weights.values())
    assert weights["against"] == LEAST


def test_scaling_the_deltas_makes_the_weights_count_with_adam():
    def ways(scaling):
        model = Point(0.0)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        goals = {"target": torch.tensor([1.0]).double(), "other": torch.tensor([1.0]).double()}
        branches, gradient = hills(model, optimizer, goals, steps=1)
        weights = {"target": 3.0, "other": 1.0}
        options = {"alpha": AlphaSettings(steps=0), "scaling": scaling}
        return alpha_vil(model, optimizer, branches, "target", gradient, weights, **options)["norm"]

    assert ways("delta") == pytest.approx({"target": 0.075, "other": 0.025}, rel=1e-4)
    with pytest.warns(UserWarning, match="inert"):
        assert ways("loss") == pytest.approx({"target": 0.1, "other": 0.1}, rel=1e-4)


def test_a_branch_that_breaks_is_left_out_of_its_round():
    model = Point(0.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    goals = {"target": torch.tensor([1.0]).double(), "broken": torch.tensor([math.nan]).double()}
    branches, gradient = hills(model, optimizer, goals)
    round_ = alpha_vil(model, optimizer, branches, "target", gradient)
    assert round_["diverged"] == ["broken"]
    assert round_["norm"]["broken"] is None
    assert round_["cosine"]["broken"] is None
    assert round_["alpha"]["broken"] == round_["weights"]["broken"] == 1.0
    assert 0 < model.at.item() < 1


def test_an_unknown_target_is_refused():
    model = Point(0.0)
    with pytest.raises(RotaError, match="targte"):
        AlphaVIL(model, torch.optim.SGD(model.parameters()), {"target": 3, "other": 3}, "targte")
