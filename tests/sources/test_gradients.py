"""Gradients that are measured between updates: unbiased, charged, and without a trace in the training."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from fit_tools import NAMES, crash_at, make_model, make_tasks, train
from run_tools import assert_same_run

from rota.errors import RotaError
from rota.feedback import Feedback
from rota.methods import METHODS, RunContext
from rota.policies import DGA, PiKE, uniform
from rota.settings import Settings
from rota.sources import Gradients, Moment, source_from, sources_for, usual_sources
from rota.testing import access_to

SETTINGS = Settings(steps=20, batch_size=8, eval_every=20, checkpoint_every=5, lr=0.01, threads=1)


@pytest.fixture(autouse=True)
def one_thread():
    """Many small passes: threads would only wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def opened(source, tasks, model):
    return source.open(access_to(model, tasks))


def true_gradients(model, tasks):
    """Of each task's mean loss over all of its rows, and of each row: by a loop over the rows."""
    model.eval()
    found = {}
    for task in tasks:
        rows = []
        for k in range(task.size()):
            batch = task.splits["train"].batch(np.array([k]))
            model.zero_grad(set_to_none=True)
            task.kind.losses(model(task.name, batch.inputs), batch.labels).mean().backward()
            rows.append(
                torch.cat(
                    [(torch.zeros_like(p) if p.grad is None else p.grad).flatten().double() for p in model.parameters()]
                )
            )
        found[task.name] = torch.stack(rows)
    model.zero_grad(set_to_none=True)
    return found


def test_the_estimates_of_two_small_batches_are_unbiased():
    tasks = make_tasks()
    model = make_model(tasks)
    rows = true_gradients(model, tasks)
    feed = opened(Gradients(every=1, rows=2), tasks, model)
    told = [feed.at_step_end(Moment(step)).line["tasks"] for step in range(60)]
    for task in tasks:
        mean = rows[task.name].mean(0)
        norm, variance = float(mean @ mean), float(((rows[task.name] - mean) ** 2).sum(1).mean())
        values = np.array([[own[task.name]["value"], own[task.name]["variance"]] for own in told])
        errors = values.std(0) / np.sqrt(len(values))
        assert abs(values[:, 0].mean() - norm) < 5 * errors[0]
        assert abs(values[:, 1].mean() - variance) < 5 * errors[1] + 0.02 * variance


def test_batches_of_all_rows_have_the_gradient_itself():
    tasks = make_tasks()
    model = make_model(tasks)
    rows = true_gradients(model, tasks)
    size = tasks[0].size()
    said = opened(Gradients(every=1, rows=size), tasks[:1], model).at_step_end(Moment(1))
    mean = rows[tasks[0].name].mean(0)
    assert said.line["tasks"][tasks[0].name]["value"] == pytest.approx(float(mean @ mean), rel=1e-4)
    assert said.line["tasks"][tasks[0].name]["variance"] < 1e-6


def test_with_a_target_it_says_the_products_with_its_gradient_on_dev_rows():
    tasks = make_tasks()
    model = make_model(tasks)
    rows = true_gradients(model, tasks)
    target = tasks[0]
    wanted = []
    for k in range(target.size("dev")):
        batch = target.splits["dev"].batch(np.array([k]))
        loss = target.kind.losses(model(target.name, batch.inputs), batch.labels).mean()
        parts = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)
        named = zip(model.parameters(), parts, strict=True)
        wanted.append(torch.cat([(torch.zeros_like(p) if g is None else g).flatten().double() for p, g in named]))
    feed = opened(Gradients(every=1, rows=50, target=target.name), tasks, model)
    told = [feed.at_step_end(Moment(step)).line["tasks"] for step in range(15)]
    for task in tasks:
        product = float(rows[task.name].mean(0) @ torch.stack(wanted).mean(0))
        values = np.array([own[task.name]["value"] for own in told])
        assert abs(values.mean() - product) < 5 * values.std() / np.sqrt(len(values)) + 0.05 * abs(product)
        assert "variance" not in told[0][task.name]


def test_a_policy_hears_both_numbers_and_a_measurement_leaves_no_trace(tmp_path):
    tasks = make_tasks()
    model = make_model(tasks)
    run = access_to(model, tasks)
    feed = Gradients(every=5, rows=4).open(run)
    before, generator = [p.detach().clone() for p in model.parameters()], torch.get_rng_state()
    assert feed.at_step_end(Moment(4)) is None
    assert feed.at_step_end(Moment(5, last=True)) is None
    said = feed.at_step_end(Moment(5))
    assert [(own.task, own.about) for own in said.feedback] == [
        (task.name, word) for task in tasks for word in ("gradient", "gradient variance")
    ]
    assert all(own.probability is None for own in said.feedback)
    assert run.engine.learner.ledger.scored == 3 * 2 * 4 * len(tasks)  # a backward pass costs two forward passes
    assert torch.equal(torch.get_rng_state(), generator)
    assert model.training
    assert all(torch.equal(a, b) and b.grad is None for a, b in zip(before, model.parameters(), strict=True))


@pytest.mark.parametrize("target", [None, NAMES[0]])
def test_crashed_and_resumed_is_never_stopped(tmp_path, target):
    make = PiKE if target is None else DGA
    options = {"settings": SETTINGS, "listen": Gradients(every=3, rows=4, target=target)}
    train(tmp_path / "whole", make(NAMES), **options)
    crash_at(13, tmp_path / "cut", make(NAMES), **options)
    train(tmp_path / "cut", make(NAMES), resume=True, **options)
    assert_same_run(tmp_path / "whole", tmp_path / "cut")


def test_pike_is_told_by_one_usual_source():
    (source,) = usual_sources(PiKE(NAMES))
    assert source == Gradients()
    assert sources_for(PiKE(NAMES), None, Settings(steps=100))[0].every == 5
    assert source_from({"source": "gradients", "rows": 4}).rows == 4
    with pytest.raises(RotaError, match="Found nobody in `listen` who says 'gradient'"):
        sources_for(PiKE(NAMES), "training_loss", Settings(steps=100))
    with pytest.raises(RotaError, match="Found nobody in `listen` who says 'gradient variance'"):
        sources_for(PiKE(NAMES), Gradients(target=NAMES[0]), Settings(steps=100))
    with pytest.raises(RotaError, match="one source for each word"):
        sources_for(PiKE(NAMES), [Gradients(), Gradients(rows=4)], Settings(steps=100))


def test_what_cannot_be_measured_is_refused():
    for options in ({"every": 0}, {"rows": 0}):
        with pytest.raises(RotaError, match="of at least 1"):
            Gradients(**options)
    with pytest.raises(RotaError, match="before the run ends"):
        Gradients(every=100).for_run(uniform(NAMES), Settings(steps=100))
    with pytest.raises(RotaError, match="Unknown target of the gradients 'x'"):
        Gradients(target="x").for_run(uniform(NAMES), Settings(steps=100))


def tell(policy, about, values):
    for task, value in values.items():
        policy.observe(Feedback(task, value, about=about))


def test_pike_by_hand():
    """u = 2 - 8 / (2 · 4) = 1 and 3 - 40 / 8 = -2; scaled to a mean size of .3: .2 and -.4."""
    told = {"gradient": {"a": 2.0, "b": 3.0}, "gradient variance": {"a": 8.0, "b": 40.0}}
    printed, scaled = PiKE(["a", "b"], batch_size=4, step=None), PiKE(["a", "b"], batch_size=4, step=0.3)
    for policy in (printed, scaled):
        tell(policy, "gradient", told["gradient"])
        assert policy.probabilities(0).tolist() == [0.5, 0.5]  # not before both are known
        tell(policy, "gradient variance", told["gradient variance"])
    assert printed.probabilities(0)[0] == pytest.approx(1 / (1 + np.exp(-3)))
    assert scaled.probabilities(0)[0] == pytest.approx(1 / (1 + np.exp(-0.6)))
    tell(scaled, "gradient variance", told["gradient variance"])
    tell(scaled, "gradient", told["gradient"])  # in any order
    assert scaled.probabilities(0)[0] == pytest.approx(1 / (1 + np.exp(-1.2)))


def test_scaled_steps_do_not_depend_on_the_unit_of_the_gradients():
    shares = []
    for unit in (1e-6, 1.0, 1e6):
        policy = PiKE(["a", "b"], prior={"a": 1, "b": 3})
        tell(policy, "gradient", {"a": 2.0 * unit, "b": 1.0 * unit})
        tell(policy, "gradient variance", {"a": 3.0 * unit, "b": 9.0 * unit})
        shares.append(policy.probabilities(0)[0])
    assert shares == pytest.approx([shares[1]] * 3)


def test_dga_by_hand_and_a_task_may_come_back():
    policy = DGA(["a", "b"], step=1.0)
    for _ in range(100):
        tell(policy, "gradient", {"a": 1.0, "b": -3.0})  # exponents ½ and -1½
    assert policy.probabilities(0)[1] == pytest.approx(np.exp(-20), rel=1e-6)
    for _ in range(10):
        tell(policy, "gradient", {"a": -1.0, "b": 1.0})
    assert policy.probabilities(0)[0] == pytest.approx(0.5)
    tell(policy, "gradient", {"a": 0.0, "b": 0.0})
    assert policy.probabilities(0)[0] == pytest.approx(0.5)


def test_methods_of_gradients():
    context = RunContext({"a": 100, "b": 900}, {"a": 4, "b": 29}, steps=100, seed=0, target="b")
    recipe = METHODS["pike"].make({"rows": 5, "prior": "proportional"}, context)
    assert recipe.policy.probabilities(0).tolist() == pytest.approx([0.1, 0.9])
    assert source_from(recipe.listen[0]) == Gradients(rows=5)
    assert recipe.policy.batch_size == pytest.approx(900 / 29)
    assert source_from(METHODS["dga"].make({}, context).listen[0]).target == "b"
    with pytest.raises(RotaError, match="expects a target"):
        METHODS["dga"].make({}, RunContext({"a": 1}, {"a": 1}, steps=10, seed=0))
    for wrong in ({"step": 0}, {"norm": -1}):
        with pytest.raises(RotaError, match=r"PiKE expects (a step|norm)"):
            PiKE(["a"], **wrong)
