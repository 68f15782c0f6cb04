"""Runs in one pass have the numbers of runs alone."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
import safetensors.torch
import torch

from rota.data import load_tasks
from rota.engine._stack_step import clip_members
from rota.models import LeNet, MultiTaskModel, SmallConv, stacked
from rota.plans import make_plan
from rota.policies import uniform
from rota.runlog import LOG
from rota.runs import run_plan, take_turns
from rota.settings import Settings
from rota.streams import JointStream
from rota.training import fit
from rota.turns import give_way

MEMBERS = [("uniform", 0), ("exp3s", 1), ("auto", 2), ("proportional", 3), ("uniform", 4)]


def plan(method, seed, engine="stack", steps=60, **fields):
    fields = {"tasks": ["digits"], "steps": steps, "method": method, "seed": seed, "device": "cpu", **fields}
    return make_plan({**fields, "engine": engine, "eval_every": 20})


def train_together(folder, members, **fields):
    def work(member):
        return run_plan(plan(*member, **fields), folder / f"{member[0]}-{member[1]}", progress=False)

    return [event[2] for event in take_turns(work).work_through(members, len(members)) if event[0] == "done"]


def log(folder):
    return (folder / LOG).read_bytes()


def weights(folder):
    latest = sorted((folder / "checkpoints").iterdir())[-1]
    return safetensors.torch.load_file(latest / "model.safetensors")


def test_company_changes_no_bit(tmp_path):
    train_together(tmp_path / "five", MEMBERS)
    train_together(tmp_path / "two", MEMBERS[1:3])
    run_plan(plan(*MEMBERS[1]), tmp_path / "alone" / "exp3s-1", progress=False)
    for other in ("two", "alone"):
        one, same = tmp_path / "five" / "exp3s-1", tmp_path / other / "exp3s-1"
        assert log(one) == log(same)
        assert all(torch.equal(own, weights(same)[name]) for name, own in weights(one).items())
    assert log(tmp_path / "five" / "auto-2") == log(tmp_path / "two" / "auto-2")


def test_the_norm_of_a_gradient_does_not_depend_on_the_company():
    learner = SimpleNamespace(settings=SimpleNamespace(clip=1.0))
    for seed in range(20):
        torch.manual_seed(seed)
        stacked = [torch.randn(6, size) for size in (16, 72, 320, 16, 640, 10)]
        heads = torch.randn(6, 30)

        def clipped(members, stacked=stacked, heads=heads):
            own = [tensor[:members].clone() for tensor in stacked]
            gradients = [[*(tensor[k] for tensor in own), heads[k].clone()] for k in range(members)]
            clip_members([learner] * members, own, gradients, torch.zeros(members))
            return gradients[0]

        alone = clipped(1)
        for members in range(2, 7):
            assert all(torch.equal(one, other) for one, other in zip(alone, clipped(members), strict=True))


@pytest.mark.parametrize(("steps", "tolerance"), [(20, 1e-5), (100, 1e-4)])
def test_members_equal_runs_that_train_eagerly(tmp_path, steps, tolerance):
    fields = {"steps": steps, "dropout": 0.0}
    train_together(tmp_path / "stack", MEMBERS, **fields)
    for member in MEMBERS:
        name = f"{member[0]}-{member[1]}"
        run_plan(plan(*member, engine="eager", **fields), tmp_path / "eager" / name, progress=False)
        one, other = (
            [json.loads(line) for line in log(tmp_path / how / name).splitlines()] for how in ("stack", "eager")
        )
        for line, same in zip(one, other, strict=True):
            if line["kind"] == "step":
                assert (line["task"], line["rows"]) == (same["task"], same["rows"])
        found, expected = weights(tmp_path / "stack" / name), weights(tmp_path / "eager" / name)
        assert max((own - expected[key]).abs().max() for key, own in found.items()) < tolerance


def test_dropout_draws_the_masks_that_a_run_by_itself_draws(tmp_path):
    run_plan(plan("uniform", 0), tmp_path / "stack", progress=False)
    run_plan(plan("uniform", 0, engine="eager"), tmp_path / "eager", progress=False)
    found, expected = weights(tmp_path / "stack"), weights(tmp_path / "eager")
    assert max((own - expected[key]).abs().max() for key, own in found.items()) < 1e-4


def test_stopped_and_resumed_in_other_company_is_never_stopped(tmp_path):
    fields = {"checkpoint_every": 20, "steps": 60}
    train_together(tmp_path / "whole", MEMBERS[:3], **fields)
    train_together(tmp_path / "half", MEMBERS[:3], **fields)
    for method, seed in MEMBERS[:3]:  # back to the middle
        folder = tmp_path / "half" / f"{method}-{seed}"
        (folder / "summary.json").unlink()

    def work(member):
        folder = tmp_path / "half" / f"{member[0]}-{member[1]}"
        return run_plan(plan(*member, **fields), folder, resume="step-00000040", progress=False)

    list(take_turns(work).work_through(MEMBERS[1:3], 2))
    for method, seed in MEMBERS[1:3]:
        one, other = tmp_path / "whole" / f"{method}-{seed}", tmp_path / "half" / f"{method}-{seed}"
        assert log(one) == log(other)
        assert all(torch.equal(own, weights(other)[name]) for name, own in weights(one).items())


def test_one_that_diverges_does_not_touch_the_others(tmp_path):
    def work(member):
        fields = {"lr": 1e30, "clip": None} if member[1] == 0 else {}
        try:
            return run_plan(plan(*member, **fields), tmp_path / f"{member[0]}-{member[1]}", progress=False)
        except Exception as error:
            return str(error)

    found = [event[2] for event in take_turns(work).work_through(MEMBERS[:3], 3) if event[0] == "done"]
    assert sum("Expected a loss that is a number" in own for own in found if isinstance(own, str)) == 1
    run_plan(plan(*MEMBERS[1]), tmp_path / "alone", progress=False)
    assert log(tmp_path / "exp3s-1") == log(tmp_path / "alone")


@pytest.mark.parametrize(
    "fields", [{"optimizer": "sgd", "lr": 0.05}, {"optimizer": "adam"}, {"head_hidden": None, "clip": None}]
)
def test_other_optimizers_and_no_clipping(tmp_path, fields):
    train_together(tmp_path / "stack", MEMBERS[:2], steps=20, dropout=0.0, **fields)
    run_plan(plan("exp3s", 1, engine="eager", steps=20, dropout=0.0, **fields), tmp_path / "eager", progress=False)
    found, expected = weights(tmp_path / "stack" / "exp3s-1"), weights(tmp_path / "eager")
    assert max((own - expected[key]).abs().max() for key, own in found.items()) < 1e-5


def test_steps_with_several_tasks_are_the_members_own(tmp_path):
    tasks = load_tasks(["digits"])[:2]
    names = [task.name for task in tasks]
    for engine in ("stack", "eager"):
        torch.manual_seed(0)
        model = MultiTaskModel(SmallConv(tasks[0].inputs.side), tasks)
        settings = Settings(steps=5, engine=engine, device="cpu")
        fit(model, tasks, uniform(names), tmp_path / engine, settings, stream=JointStream, progress=False)
    one, other = weights(tmp_path / "stack"), weights(tmp_path / "eager")
    assert max((own - other[key]).abs().max() for key, own in one.items()) < 1e-4


def test_models_that_cannot_be_stacked_are_trained_eagerly(tmp_path):
    plan = make_plan({"tasks": ["toytext"], "steps": 2, "engine": "stack", "device": "cpu", "method": "uniform"})
    run = run_plan(plan, tmp_path / "run", progress=False)
    assert run.plan["engine"] == "eager"


def test_the_forward_pass_of_a_stack_and_its_gradients():
    torch.manual_seed(0)
    encoders = [SmallConv(side=8, dropout=0.0).double() for _ in range(3)]
    names = [name for name, _ in encoders[0].named_parameters()]
    stack = {
        name: torch.stack([own.get_parameter(name).detach() for own in encoders]).requires_grad_() for name in names
    }
    pictures = torch.rand(3, 5, 1, 8, 8, dtype=torch.double)
    forward = stacked(encoders[0])
    found = forward(stack, {"image": pictures}, lambda values, share: values).rows
    gradients = torch.autograd.grad((found**2).sum(), list(stack.values()))
    for k, encoder in enumerate(encoders):
        expected = encoder({"image": pictures[k]}).rows
        own = torch.autograd.grad((expected**2).sum(), list(encoder.parameters()))
        torch.testing.assert_close(found[k], expected, rtol=1e-10, atol=1e-12)
        for gradient, reference in zip(gradients, own, strict=True):
            torch.testing.assert_close(gradient[k], reference, rtol=1e-10, atol=1e-12)


def test_reasons_are_sentences():
    assert stacked(LeNet()) == "there is no stack of LeNet"


def test_generators_of_members_do_not_mix():
    def work(seed):
        torch.manual_seed(seed)
        first = torch.rand(2)
        give_way()
        return torch.cat([first, torch.rand(2)]).tolist()

    found = [event[2] for event in take_turns(work).work_through([1, 2], 2) if event[0] == "done"]
    for seed, own in zip([1, 2], found, strict=True):
        assert own == torch.rand(4, generator=torch.Generator().manual_seed(seed)).tolist()
