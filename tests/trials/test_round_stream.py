"""Whole runs in rounds: equal to ordinary training where they should be, resumable anywhere, honest about breakage."""

from __future__ import annotations

import dataclasses
import functools
import json
import math

import numpy as np
import pytest
import torch
from run_tools import assert_same_run, final_weights, interrupted_at
from torch import nn

from rota.callbacks import Callback
from rota.engine import Learner
from rota.errors import RotaError
from rota.models import MultiTaskModel, SmallConv, able_to_go_back, evaluating
from rota.policies import Exp3S, Union, uniform
from rota.runlog import LOG, Run
from rota.settings import Settings
from rota.streams import TaskStream
from rota.tasks import Classification, Task, TensorRows
from rota.testing import access_to
from rota.training import fit
from rota.trials import DIW, AlphaSettings, AlphaVIL, RoundStream
from rota.trials._target_rows import TargetRows

SIZES = {"a": 50, "b": 30, "c": 21}
SGD = Settings(
    steps=60, batch_size=8, eval_every=10, checkpoint_every=4, lr=0.05, optimizer="sgd", on_nan="stop", threads=1
)


def make_tasks(names=("a", "b", "c"), broken=()):
    generator = torch.Generator().manual_seed(0)
    tasks = []
    for name in names:
        splits = {}
        for split, count in (("train", SIZES[name]), ("dev", 20), ("test", 10)):
            images, labels = torch.rand(count, 1, 4, 4, generator=generator), torch.arange(count) % 2
            images[:, 0, :2] += labels[:, None, None]
            if split == "train" and name in broken:
                images[:] = math.nan
            splits[split] = TensorRows({"image": images}, labels)
        tasks.append(Task(name, Classification(2), splits, auxiliary=name != "a"))
    return tasks


class Normed(SmallConv):
    """An encoder with buffers."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.layers.append(nn.BatchNorm1d(self.width))


def train(folder, trial=None, settings=SGD, tasks=None, resume=False, normed=False, **options):
    tasks = tasks or make_tasks()
    torch.manual_seed(0)
    model = MultiTaskModel((Normed if normed else SmallConv)(4, width=8, dropout=0.2), tasks)
    policy = uniform([task.name for task in tasks])
    stream = functools.partial(RoundStream, trial=trial) if trial else TaskStream
    return fit(model, tasks, policy, folder, settings, stream=stream, resume=resume, progress=False, **options)


def lines(folder, kind):
    return [line for line in map(json.loads, (folder / LOG).read_text().splitlines()) if line["kind"] == kind]


CASES = {
    "alphavil": (functools.partial(AlphaVIL, alpha=AlphaSettings(lr=0.5)), {"checkpoint_every": 5}),
    "own memories": (functools.partial(AlphaVIL, memory="own", fraction=0.5), {}),
    "shared memory": (
        functools.partial(AlphaVIL, memory="shared", lengths="equal"),
        {"optimizer": "adamw", "lr": 0.01},
    ),
    "both, few dev rows": (functools.partial(AlphaVIL, merge="both", target_batches=1), {"eval_batch_size": 8}),
    "joint, bfloat16": (functools.partial(AlphaVIL, merge="joint", storage="bfloat16"), {}),
    "some parameters": (functools.partial(AlphaVIL, only=["heads.*"], fraction=0.3, weighting="alignment"), {}),
    "diw": (functools.partial(DIW, fraction=0.5, patience=2), {}),
    "diw, shared memory": (functools.partial(DIW, fraction=0.3, patience=3, memory="shared"), {"num_workers": 1}),
}


@pytest.mark.parametrize("case", CASES)
def test_stopped_anywhere_and_resumed_is_never_stopped(tmp_path, case):
    trial, changes = CASES[case]
    settings = SGD.model_copy(update=changes)
    normed = case in ("alphavil", "diw")
    whole = train(tmp_path / "whole", trial, settings, normed=normed)
    resume = False
    for step in (2, 9, 17, 37):  # inside of branches, and behind a checkpoint at the border of a round
        with interrupted_at(step):
            train(tmp_path / "cut", trial, settings, resume=resume, normed=normed)
        resume = True
    cut = train(tmp_path / "cut", trial, settings, resume=True, normed=normed)
    assert_same_run(tmp_path / "whole", tmp_path / "cut")
    times = {"seconds": 0, "listening": 0}
    assert {**cut.summary, **times} == {**whole.summary, **times}
    assert lines(tmp_path / "whole", "round")


@pytest.mark.parametrize("changes", [{}, {"optimizer": "adamw"}], ids=["sgd", "adamw"])
def test_one_task_without_tuning_and_with_a_memory_is_ordinary_training(tmp_path, changes):
    tasks = make_tasks(("a",))
    settings = SGD.model_copy(update={"warmup": 0.0, "steps": 21, "eval_every": 21, **changes})
    schedule = pytest.MonkeyPatch()
    schedule.setattr(Learner, "rate_at", lambda self, plan: self.settings.highest_rate)
    with schedule.context():
        trial = functools.partial(AlphaVIL, memory="own", alpha=AlphaSettings(steps=0))
        train(tmp_path / "rounds", trial, settings, tasks)
        train(tmp_path / "plain", None, settings, tasks)
    schedule.undo()
    assert final_weights(tmp_path / "rounds") == final_weights(tmp_path / "plain")
    assert [line["weights"] for line in lines(tmp_path / "rounds", "round")] == 3 * [{"a": 1.0}]


def test_rounds_share_the_steps_out_and_evaluate_between_them(tmp_path):
    run = train(tmp_path / "r", functools.partial(AlphaVIL))
    rounds = lines(tmp_path / "r", "round")
    # A pass has 7 + 4 + 3 batches; 60 steps are four rounds of 15.
    assert [line["step"] for line in rounds] == [15, 30, 45, 60]
    assert all(line["steps"] == {"a": 8, "b": 4, "c": 3} for line in rounds)
    assert [line["step"] for line in lines(tmp_path / "r", "eval")] == [0, 15, 30, 45, 60]
    assert run.summary["updates"] == {"a": 32, "b": 16, "c": 12}
    assert run.summary["cost"]["dev_trained"] == 4 * 10 * 20
    assert run.summary["cost"]["scored"] == 4 * 20  # the loss after tuning
    assert run.info["picking"]["trial"]["target"] == "a"
    shares = lines(tmp_path / "r", "eval")[-1]["mixture"]
    weights = rounds[-1]["weights"]
    assert shares == pytest.approx({task: weight / sum(weights.values()) for task, weight in weights.items()})


@pytest.mark.parametrize(("batches", "rows"), [(None, 20), (1, 8), (2, 16)])
def test_the_targets_dev_rows_are_asked_for_loss_and_gradient(batches, rows):
    tasks = make_tasks()
    torch.manual_seed(0)
    model = MultiTaskModel(SmallConv(4, width=8, dropout=0.2), tasks)
    access = access_to(model, tasks, eval_batch_size=8)
    target, ledger = TargetRows(access, tasks[0], batches), access.engine.learner.ledger
    found = target.gradient()
    gradient = [own.grad for own in model.parameters()]
    assert (ledger.dev_trained, ledger.scored) == (rows, 0)
    every = tasks[0].splits["dev"].batch(np.arange(20))
    model.zero_grad()
    with evaluating(model):
        loss = nn.functional.cross_entropy(model("a", every.inputs), every.labels)
    loss.backward()
    assert target.loss() == pytest.approx(loss.item())
    assert (ledger.dev_trained, ledger.scored) == (rows, 20)
    with evaluating(model), torch.no_grad():
        right = (model("a", every.inputs).argmax(-1) == every.labels).double().mean().item()
    assert target.score() == pytest.approx(right)
    if batches is None:
        assert found == pytest.approx(loss.item())
        for own, parameter in zip(gradient, model.parameters(), strict=True):
            torch.testing.assert_close(own, parameter.grad)
    assert model.training
    target.forget()
    assert all(parameter.grad is None for parameter in model.parameters())
    again = TargetRows(access, tasks[0], batches)
    again.load_state_dict(target.state_dict())
    assert again.gradient() == target.gradient()


def test_what_a_trial_has_to_say_is_said_at_the_beginning_of_a_run(tmp_path):
    class Hears(Callback):
        heard = ()

        def on_notice(self, sentence):
            self.heard = (*self.heard, sentence)

    hears = Hears()
    settings = SGD.model_copy(update={"steps": 15, "optimizer": "adamw"})
    train(tmp_path / "r", AlphaVIL, settings, callbacks=[hears])
    assert any("the weights of the tasks are inert" in sentence for sentence in hears.heard)


def test_a_run_ends_where_no_further_round_fits_in(tmp_path):
    """Branches of 7, 4 and 3 updates and a try of 7: the second round needs at least 21."""
    run = train(tmp_path / "r", DIW, SGD.model_copy(update={"steps": 41}))
    assert [line["step"] for line in lines(tmp_path / "r", "round")] == [21]
    assert run.summary["steps"] == 21


def test_recurrent_layers_are_differentiated_without_cudnn():
    with able_to_go_back(nn.Sequential(nn.Linear(2, 2), nn.LSTM(2, 2))):
        assert not torch.backends.cudnn.enabled
    with able_to_go_back(nn.Linear(2, 2)):
        assert torch.backends.cudnn.enabled


def test_the_learning_rate_is_that_of_the_beginning_of_a_round(tmp_path):
    seen, real = [], Learner.rate_at
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Learner, "rate_at", lambda self, plan: seen.append(plan.scheduled) or real(self, plan))
        train(tmp_path / "r", functools.partial(AlphaVIL))
    assert seen == [step for step in (0, 15, 30, 45) for _ in range(15)]


@pytest.mark.parametrize("trial", [AlphaVIL, DIW])
def test_a_task_that_breaks_costs_its_branch_alone(tmp_path, trial):
    run = train(tmp_path / "r", functools.partial(trial, fraction=0.5), tasks=make_tasks(broken=("c",)))
    assert run.finished
    rounds = lines(tmp_path / "r", "round")
    assert len(rounds) > 1
    assert all(line["diverged"] == ["c"] for line in rounds)
    assert all(line["weights"]["c"] == 1.0 for line in rounds)
    assert run.summary["updates"].keys() == {"a", "b"}


def test_when_everything_breaks_nothing_that_was_trained_is_lost(tmp_path):
    tasks = make_tasks()
    real = Learner.losses
    calls = [0]

    def later_broken(self, model, task, batch):
        calls[0] += 1
        return real(self, model, task, batch) * (math.nan if calls[0] > 30 else 1.0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Learner, "losses", later_broken)
        with pytest.raises(RotaError, match="Found a branch of every task broken"):
            train(tmp_path / "r", AlphaVIL, tasks=tasks)
    assert lines(tmp_path / "r", "round")[-1]["step"] == 45
    run = train(tmp_path / "r", AlphaVIL, tasks=tasks, resume=True)  # the cause is gone
    assert run.finished
    assert run.summary["steps"] == 60


def test_what_cannot_be_trained_in_rounds_gets_a_sentence(tmp_path):
    several = [dataclasses.replace(task, auxiliary=False) for task in make_tasks()]
    with pytest.raises(RotaError, match=r"one target.*Found a, b, c\. Choose it with Plan\(target=…\)"):
        train(tmp_path / "several", AlphaVIL, tasks=several)
    blind = [dataclasses.replace(task, splits={"train": task.splits["train"]}) for task in make_tasks()]
    with pytest.raises(RotaError, match="Task 'a' expects at least one dev row"):
        train(tmp_path / "blind", AlphaVIL, tasks=blind)
    with pytest.raises(RotaError, match=r"expects Settings\(delay=0\)\. Found 3"):
        train(tmp_path / "delayed", AlphaVIL, SGD.model_copy(update={"delay": 3}))
    with pytest.raises(RotaError, match="Expected enough steps for a round of 14 updates"):
        train(tmp_path / "short", DIW, SGD.model_copy(update={"steps": 14}))


def test_a_policy_that_would_not_be_asked_is_refused(tmp_path):
    stream = functools.partial(RoundStream, trial=AlphaVIL)
    model, tasks = MultiTaskModel(SmallConv(4, width=8), make_tasks()), make_tasks()
    for policy in (Exp3S(list(SIZES)), Union(dict.fromkeys(SIZES, 2))):
        with pytest.raises(RotaError, match=f"expects a policy that hears nothing.*Found {type(policy).__name__}"):
            fit(model, tasks, policy, tmp_path / "r", SGD, stream=stream, progress=False)
    assert not (tmp_path / "r").exists()


def test_another_trial_is_another_run(tmp_path):
    settings = SGD.model_copy(update={"steps": 15})
    train(tmp_path / "r", AlphaVIL, settings)
    with pytest.raises(RotaError, match="trial"):
        train(tmp_path / "r", functools.partial(AlphaVIL, memory="own"), settings, resume=True)


def test_each_task_keeps_its_own_best_model(tmp_path):
    tasks = [dataclasses.replace(task, auxiliary=False) for task in make_tasks()]
    settings = SGD.model_copy(update={"best": "each", "eval_every": 3, "lr": 0.02})
    run = train(tmp_path / "r", None, settings, tasks)
    scores = {task: [line["tasks"][task]["score"] for line in lines(tmp_path / "r", "eval")[1:]] for task in SIZES}
    each = run.summary["best"]["each"]
    assert {task: own["dev"]["score"] for task, own in each.items()} == {task: max(s) for task, s in scores.items()}
    assert {task: own["step"] for task, own in each.items()} == {
        task: 3 * (1 + s.index(max(s))) for task, s in scores.items()
    }
    kept = {int(path.name.removeprefix("step-")) for path in (tmp_path / "r" / "best").iterdir()}
    assert kept == {run.summary["best"]["step"], *(own["step"] for own in each.values())}
    assert all(own["test"]["n"] == 10 for own in each.values())
    assert Run(tmp_path / "r").summary["best"]["rule"] == "each"
