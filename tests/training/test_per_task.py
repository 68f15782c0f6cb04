"""What one task may have for itself: a batch size, a loss weight, an end, no training rows at all."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from fit_tools import NAMES, QUICK, crash_at, make_model, make_tasks, train
from run_tools import assert_same_run
from safetensors.torch import load_file

from rota.errors import RotaError
from rota.evaluation import evaluate, evaluation_tasks
from rota.policies import Cycle, Exp3S, WithEnds, uniform
from rota.runlog import Run
from rota.signals import prediction_gain
from rota.streams import JointStream
from rota.tasks import adjust_tasks, check_tasks
from rota.training import fit


def changed(**changes):
    return adjust_tasks(make_tasks(), changes)


def steps(folder):
    return Run(folder).lines("step")


def test_a_task_has_its_own_batch_size(tmp_path):
    train(tmp_path / "r", tasks=changed(b={"batch_size": 3}))
    sizes = {(line["task"], line["n"]) for line in steps(tmp_path / "r")}
    assert {("a", 8), ("b", 3), ("aux", 8)} <= sizes


def test_a_loss_weight_scales_the_gradient_and_leaves_the_logged_loss(tmp_path):
    settings = QUICK.model_copy(update={"steps": 1, "optimizer": "sgd", "momentum": 0.0, "clip": None, "warmup": 0.0})
    moved, losses = [], []
    for weight in (1.0, 3.0):
        tasks = changed(a={"loss_weight": weight})
        model = make_model(tasks, dropout=0.0)
        before = model.heads["a"].linear.weight.detach().clone()
        policy = Cycle({"a": 1, "b": 0, "aux": 0})
        settings = settings.model_copy(update={"weight_decay": 0.0})
        fit(model, tasks, policy, tmp_path / str(weight), settings, progress=False)
        moved.append(model.heads["a"].linear.weight.detach() - before)
        losses.append(steps(tmp_path / str(weight))[0]["loss"])
    assert losses[0] == losses[1]
    torch.testing.assert_close(moved[1], 3 * moved[0])


def test_a_task_stops_after_its_turns_and_the_probabilities_say_so(tmp_path):
    train(tmp_path / "r", WithEnds(uniform(NAMES), {"b": 5}))
    lines = steps(tmp_path / "r")
    turns = [k for k, line in enumerate(lines) if line["task"] == "b"]
    assert len(turns) == 5
    assert {line["probability"] for line in lines[turns[-1] + 1 :]} == {0.5}
    assert {line["probability"] for line in lines[: turns[-1]]} == {1 / 3}


def test_a_task_that_stops_survives_a_crash(tmp_path):
    def policy():
        return WithEnds(Exp3S(NAMES, eta=0.1), {"b": 5, "a": 9})

    train(tmp_path / "one", policy(), listen=prediction_gain)
    crash_at(31, tmp_path / "two", policy(), listen=prediction_gain)
    train(tmp_path / "two", policy(), resume=True, listen=prediction_gain)
    assert_same_run(tmp_path / "one", tmp_path / "two")


def test_the_last_task_with_a_share_may_stop():
    policy, rng = WithEnds(uniform(["a", "b", "c"]), {"a": 1, "b": 1}), np.random.default_rng(0)
    assert [policy.choose(step, rng).task for step in range(40)].count("c") == 38


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: WithEnds(uniform(["a"]), {"a": 3}), "at least one task that does not stop"),
        (lambda: WithEnds(uniform(["a", "b"]), {"c": 3}), "Unknown task 'c'"),
        (lambda: WithEnds(uniform(["a", "b"]), {"a": 0}), "one turn or more before task 'a' stops. Found 0"),
        (lambda: WithEnds(Cycle({"a": 1, "b": 1}), {"a": 3}), "may be mixed. Found Cycle"),
        (lambda: changed(c={"batch_size": 1}), "Unknown task 'c'"),
    ],
)
def test_ends_that_make_no_sense_are_refused(make, sentence):
    with pytest.raises(RotaError, match=sentence):
        make()


def without_training(tasks, name):
    return [
        dataclasses.replace(task, splits={"dev": task.splits["dev"]}) if task.name == name else task for task in tasks
    ]


def test_a_task_without_training_rows_is_only_evaluated(tmp_path):
    tasks = without_training(make_tasks(), "b")
    train(tmp_path / "r", uniform(["a", "aux"]), tasks=tasks)
    run = Run(tmp_path / "r")
    assert set(run.summary["updates"]) == {"a", "aux"}
    evaluation = run.lines("eval")[-1]
    assert set(evaluation["tasks"]) == {"a", "b", "aux"}
    assert evaluation["average"] == evaluation["tasks"]["a"]["score"]
    assert run.info["tasks"]["b"]["rows"] == {"dev": 20}


def test_tasks_none_of_which_can_be_trained_are_refused():
    with pytest.raises(RotaError, match=r"at least one task with training rows\. Found none in a"):
        check_tasks(without_training(make_tasks(), "a")[:1])


def test_an_evaluation_of_some_rows_takes_the_same_ones_each_time():
    tasks = make_tasks()
    some = evaluation_tasks(tasks, 7)
    assert [task.size("dev") for task in some] == [7, 7, 7]
    assert [task.size("train") for task in some] == [50, 30, 21]
    batches = [evaluation_tasks(tasks, 7)[0].splits["dev"].batch(np.arange(7)) for _ in range(2)]
    assert batches[0].inputs["image"].equal(batches[1].inputs["image"])
    assert evaluation_tasks(tasks, None) is tasks
    model = make_model(tasks)
    assert evaluate(model, some)["tasks"]["a"]["n"] == 7


def apart(**changes):
    return QUICK.model_copy(update={"optimizer_per_task": True, **changes})


def test_momenta_of_each_task_are_those_of_an_optimizer_for_each(tmp_path):
    settings = apart(optimizer="adam", steps=9, clip=None, warmup=0.0, weight_decay=0.0)
    tasks = make_tasks()
    model, own = make_model(tasks, dropout=0.0), make_model(tasks, dropout=0.0)
    own.load_state_dict(model.state_dict())
    fit(model, tasks, Cycle({"a": 2, "b": 1, "aux": 0}), tmp_path / "r", settings, progress=False)
    optimizers = {name: torch.optim.Adam(own.parameters()) for name in NAMES}
    by_name = {task.name: task for task in tasks}
    run = Run(tmp_path / "r")
    for line in steps(tmp_path / "r"):
        batch = by_name[line["task"]].splits["train"].batch(np.array(run.row_ids(line["task"], line)))
        optimizer = optimizers[line["task"]]
        optimizer.param_groups[0]["lr"] = settings.highest_rate * (1 - line["step"] / settings.steps)
        optimizer.zero_grad()
        losses = by_name[line["task"]].kind.losses(own(line["task"], batch.inputs), batch.labels)
        losses.mean().backward()
        optimizer.step()
    last = Run(tmp_path / "r").folder / "checkpoints"
    trained = load_file(sorted(last.iterdir())[-1] / "model.safetensors")
    for name, tensor in own.state_dict().items():
        torch.testing.assert_close(trained[name], tensor, rtol=1e-4, atol=1e-6)


def test_momenta_of_each_task_survive_a_crash_and_change_something(tmp_path):
    train(tmp_path / "one", settings=apart())
    crash_at(31, tmp_path / "two", settings=apart())
    train(tmp_path / "two", settings=apart(), resume=True)
    assert_same_run(tmp_path / "one", tmp_path / "two")
    train(tmp_path / "shared")
    assert (tmp_path / "one" / "log.jsonl").read_bytes() != (tmp_path / "shared" / "log.jsonl").read_bytes()


def test_momenta_of_each_task_need_steps_of_one_task(tmp_path):
    with pytest.raises(RotaError, match=r"Settings\(optimizer_per_task=True\) expects steps of one task"):
        train(tmp_path / "r", settings=apart(), stream=JointStream)


def test_the_best_checkpoint_may_be_that_of_a_metric(tmp_path):
    asked = {"steps": 40, "eval_every": 5, "lr": 0.05}
    tasks = changed(a={"metrics": ("auc", "accuracy", "log_loss")}, b={"metrics": ("auc", "accuracy")})
    steps_of = {}
    for rule in ("metric:auc", "metric:log_loss", "metric:accuracy", "score"):
        folder = tmp_path / rule.replace(":", "-")
        train(folder, settings=QUICK.model_copy(update={**asked, "best": rule}), tasks=tasks)
        run = Run(folder)
        lines = {line["step"]: line["tasks"] for line in run.lines("eval")}
        by_rule = {
            "metric:auc": lambda own: (own["a"]["metrics"]["auc"] + own["b"]["metrics"]["auc"]) / 2,
            "metric:log_loss": lambda own: -own["a"]["metrics"]["log_loss"],  # the one task that has it
            "metric:accuracy": lambda own: (own["a"]["metrics"]["accuracy"] + own["b"]["metrics"]["accuracy"]) / 2,
            "score": lambda own: (own["a"]["score"] + own["b"]["score"]) / 2,
        }[rule]
        assert run.summary["best"]["step"] == max(lines, key=lambda step: (by_rule(lines[step]), -step))
        assert run.summary["best"]["rule"] == rule
        steps_of[rule] = run.summary["best"]["step"]
    assert len(set(steps_of.values())) > 1  # the rules do not agree here


def test_a_run_by_a_metric_resumes_exactly(tmp_path):
    settings = QUICK.model_copy(update={"best": "metric:auc", "eval_every": 5})
    tasks = changed(a={"metrics": ("auc", "accuracy")})
    train(tmp_path / "one", settings=settings, tasks=tasks)
    crash_at(17, tmp_path / "two", settings=settings, tasks=tasks)
    train(tmp_path / "two", settings=settings, tasks=tasks, resume=True)
    assert_same_run(tmp_path / "one", tmp_path / "two")


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ("metric:acc", "Unknown metric for the best checkpoint 'acc'.*Known: accuracy, auc"),
        ("metric:pearson", "Unknown metric for the best checkpoint 'pearson'"),
        ("metric:auc", "expects a task that is measured by it. Found none.*per_task a.metrics=auc,accuracy"),
    ],
)
def test_a_rule_by_a_metric_that_no_task_has_is_refused(tmp_path, rule, sentence):
    with pytest.raises(RotaError, match=sentence):
        train(tmp_path / "r", settings=QUICK.model_copy(update={"best": rule}))
