"""αVIL: the gradient of α, its optimum, its weights."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from rota.errors import RotaError
from rota.trials import LEAST, AlphaSettings, AlphaVIL, Deltas, Segment, alpha_vil, tune
from rota.trials._branch_training import JOINT, Asked
from rota.trials._states import BranchStates

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


def test_tuning_ends_where_one_slope_is_no_number():
    model = Point(0.0)
    ways = {"far": [torch.full((1,), 1e10).double()], "near": [torch.ones(1).double()]}
    deltas = branched(model, ways)

    def gradient():
        model.at.grad = torch.full((1,), 1e305, dtype=torch.float64)
        return 1.0

    alpha, heard = tune(deltas, gradient, AlphaSettings())
    assert (alpha.tolist(), heard) == ([1.0, 1.0], [])


def test_moves_as_they_are_by_default_and_by_hand():
    """A slope of 1, ten times: with a momentum of ½ the steps are 1, 1.5, 1.75, … times 0.005."""
    model = Point(0.0)
    deltas = branched(model, {"target": [torch.ones(1, dtype=torch.float64)]})

    def gradient():
        model.at.grad = torch.ones(1, dtype=torch.float64)
        return 1.0

    alpha, heard = tune(deltas, gradient, AlphaSettings())
    assert alpha.item() == pytest.approx(1 - 0.005 * sum(2 - 0.5**k for k in range(10)))
    assert heard == [1.0] * 10


def test_buffers_are_those_of_the_target_after_a_round():
    model = Point(0.0)
    model.register_buffer("mean", torch.zeros(1))
    optimizer, found = torch.optim.SGD(model.parameters(), lr=0.1), []

    def branch(way, mean):
        def train(weight):
            found.append(model.mean.item())
            model.at.data += way
            model.mean.fill_(mean)

        return train

    branches = {"first": branch(1.0, 7.0), "target": branch(1.0, 8.0), "last": branch(1.0, 9.0)}
    alpha_vil(model, optimizer, branches, "target", lambda: 0.0, alpha=AlphaSettings(steps=0))
    assert found == [0.0, 0.0, 0.0]  # every branch begins with those of the fork
    assert model.mean.item() == 8.0
    branches["target"] = branch(math.nan, 10.0)
    alpha_vil(model, optimizer, branches, "target", lambda: 0.0, alpha=AlphaSettings(steps=0))
    assert model.mean.item() == 9.0  # a target that broke has none to give


@pytest.mark.parametrize(
    ("merge", "left", "expected"),
    [
        ("deltas", 10, {"a": 6, "b": 3, "c": 1}),
        ("both", 16, {"a": 6, "b": 3, "c": 1, JOINT: 6}),  # as many as the longest branch, which is in all of them
        ("joint", 33, {"a": 6, "b": 3, "c": 1, JOINT: 6}),  # two rounds, the second with the update that is left
        ("both", None, {"a": 6, "b": 3, "c": 1, JOINT: 6}),  # nobody counts updates
        ("deltas", 14, {"a": 8, "b": 5, "c": 1}),  # nearer to one round than to two
        ("deltas", 16, {"a": 5, "b": 2, "c": 1}),
        ("deltas", 4, {"a": 2, "b": 1, "c": 1}),  # everybody has one at least
        ("both", 4, {"a": 1, "b": 1, "c": 1, JOINT: 1}),
        ("both", 3, {}),
        ("deltas", 2, {}),
    ],
)
def test_the_updates_of_a_round(merge, left, expected):
    model = Point(0.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    trial = AlphaVIL(model, optimizer, {"a": 12, "b": 6, "c": 1}, "b", fraction=0.5, merge=merge)
    assert trial.lengths == {"a": 6, "b": 3, "c": 1}  # half of one batch is one batch
    assert dict(trial._planned(left)) == expected


@pytest.mark.parametrize(("memory", "begun"), [("reset", [0, 0, 0, 0, 0, 0]), ("own", [0, 0, 0, 1, 2, 3])])
def test_joint_steps_have_a_memory_like_a_branch(memory, begun):
    model = Point(0.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0, momentum=0.9)
    model.at.grad = torch.ones(1, dtype=torch.float64)
    optimizer.step()
    momentum, found, lines = optimizer.state[model.at]["momentum_buffer"], [], []
    options = {"memory": memory, "merge": "both", "alpha": AlphaSettings(steps=0)}
    trial = AlphaVIL(model, optimizer, {"a": 2, "b": 2}, "b", **options)
    for turn in range(6):  # two rounds of two branches and joint steps
        segment = trial.next(60)
        batches = {"a": 2, "b": 2} if turn % 3 == 2 else None
        assert segment == Segment([{"a": 0.5}, {"b": 0.5}, {"a": 0.5, "b": 0.5}][turn % 3], 2, batches)
        found.append(momentum.item())
        momentum.fill_(turn + 1.0)
        lines.append(trial.finish(Asked(lambda: 0.0, lambda: 0.0), 60))
    assert found == begun
    assert [line is not None for line in lines] == [False, True, False] * 2
    assert trial.round == 2


@pytest.mark.parametrize(("merge", "place", "mean"), [("deltas", 8.0, 3.0), ("both", 8.0, 3.0), ("joint", 1.0, 0.0)])
def test_joint_steps_begin_at_the_mixture_or_where_the_round_began(merge, place, mean):
    model = Point(1.0)
    model.register_buffer("mean", torch.zeros(1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses, seen = iter([3.0, 2.0, 1.0, 0.5]), []

    def gradient():
        seen.append(model.at.item())
        model.at.grad = torch.zeros(1, dtype=torch.float64)
        return next(losses)

    trial = AlphaVIL(model, optimizer, {"a": 1, "b": 1}, "b", merge=merge, alpha=AlphaSettings(steps=3))
    line = None
    for way in (5.0, 2.0):
        trial.next(60)
        assert model.at.item() == 1.0  # a branch begins at the fork
        model.at.data += way
        model.mean += way + 1
        line = trial.finish(Asked(gradient, lambda: 0.0), 60)
    assert line["loss"] == {"before": 3.0, "after": 0.5}
    assert seen == [8.0] * 4  # the loss afterwards is that of the mixture, too
    assert (model.at.item(), model.mean.item()) == (place, mean)
    assert line["norm"] == {"a": 5.0, "b": 2.0}
    assert trial.at_border == (merge == "deltas")


def test_nothing_is_remembered_before_the_first_round():
    model = Point(0.0)
    trial = AlphaVIL(model, torch.optim.SGD(model.parameters(), lr=0.1), {"a": 12, "b": 6}, "b")
    assert trial.state_dict() == {"weights": {"a": 1.0, "b": 1.0}, "round": 0, "plan": [], "place": 0, "norms": {}}
    assert trial.tensors() == {}


def test_branches_of_equal_length_are_as_long_as_that_of_the_target():
    model = Point(0.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    assert AlphaVIL(model, optimizer, {"a": 12, "b": 6}, "b", lengths="equal").lengths == {"a": 6, "b": 6}


@pytest.mark.parametrize(
    ("memory", "expected"),
    [
        ("reset", [0, 0, 0, 0, 0, 0]),
        ("own", [0, 0, 1, 2, 3, 4]),  # what it had itself at the end of its last branch
        ("shared", [0, 0, 1, 1, 3, 3]),  # what the heir had at the end of the last round
    ],
)
def test_what_the_optimizer_of_a_branch_remembers(memory, expected):
    parameter = nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([parameter], lr=0.1, momentum=0.9)
    parameter.grad = torch.ones(1)
    optimizer.step()
    states, found, marks = BranchStates(optimizer, memory, heir="target"), [], iter(range(1, 9))
    for _ in range(3):
        for branch in ("target", "other"):
            states.enter(branch)
            found.append(optimizer.state[parameter]["momentum_buffer"].item())
            optimizer.state[parameter]["momentum_buffer"].fill_(next(marks))
            saved = BranchStates(optimizer, memory, heir="target")
            states.leave(branch)
            saved.load_tensors(states.tensors())  # a checkpoint in the middle of a round
            states = saved
        states.round_over()
    assert found == expected


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
    goals = {"target": [1.0, 0.0], "far": [8.0, 8.0], "against": [-0.5, 0.0], "aside": [0.0, 2.0]}
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
