"""The loop: resumable to the bit, right under accumulation, honest about what is not a number."""

from __future__ import annotations

import dataclasses
import errno
import gc
import json
import math
import os
import shutil
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from fit_tools import NAMES, QUICK, crash_at, make_model, make_tasks, train
from run_tools import assert_same_run, checkpoints, final_weights
from torch import nn

import rota
from rota.callbacks import Callback
from rota.errors import RotaError
from rota.feedback import Feedback
from rota.policies import Exp3S, Hold, Policy, Thompson, Tracking, Union, uniform
from rota.runlog import LOG, Run
from rota.settings import Settings
from rota.signals import prediction_gain, visit_gain
from rota.sources import RoundSuccess, Survey
from rota.streams import JointStream, TaskStream
from rota.tasks import Classification, Regression, Task, TensorRows
from rota.training import NotANumberError, evaluate, fit
from rota.training._checkpoint import Checkpoints
from rota.training._model_files import HostCopy
from rota.training._tensor_file import write_pieces

CASES = {
    "exp3s": (lambda: Exp3S(NAMES, eta=0.5), {"listen": prediction_gain}, {}),
    "exp3s on visits": (lambda: Exp3S(NAMES, eta=0.5), {"listen": visit_gain}, {"delay": 2}),
    "exp3s, late": (lambda: Exp3S(NAMES, eta=0.5), {"listen": prediction_gain}, {"delay": 3}),
    "union": (lambda: Union({"a": 7, "b": 4, "aux": 3}), {}, {}),
    "held": (lambda: Hold(Exp3S(NAMES, eta=0.5), 3), {"listen": prediction_gain}, {"delay": 5}),
    "joint": (lambda: Exp3S(NAMES, eta=0.5), {"listen": prediction_gain, "stream": JointStream}, {"delay": 1}),
    "sgd, accumulated, workers": (lambda: uniform(NAMES), {}, {"optimizer": "sgd", "accumulate": 2, "num_workers": 2}),
    "thompson": (lambda: Hold(Thompson(NAMES, primary="a"), 3), {"listen": RoundSuccess()}, {"delay": 2}),
    "surveys": (lambda: Tracking(NAMES), {"listen": Survey(every=6, passes=3, capped=True)}, {"delay": 2}),
    "adamax, loss rule": (lambda: uniform(NAMES), {}, {"optimizer": "adamax", "best": "loss", "clip": None}),
}


@pytest.mark.parametrize("case", CASES)
def test_stopped_anywhere_and_resumed_twice_is_never_stopped(tmp_path, case):
    policy, options, changes = CASES[case]
    settings = QUICK.model_copy(update=changes)
    train(tmp_path / "whole", policy(), settings, **options)
    resume = False
    for step in (2, 9, 10, 31):  # before the first checkpoint, twice in a row, and far away
        crash_at(step, tmp_path / "cut", policy(), settings, resume=resume, **options)
        resume = True
    run = train(tmp_path / "cut", policy(), settings, resume=True, **options)
    assert_same_run(tmp_path / "whole", tmp_path / "cut")
    whole = Run(tmp_path / "whole").summary
    times = {"seconds": 0, "listening": 0}
    assert {**run.summary, **times} == {**whole, **times}


def test_the_checkpoint_does_not_grow_with_the_steps(tmp_path):
    sizes = {}
    for steps in (40, 400):
        settings = QUICK.model_copy(update={"steps": steps, "eval_every": 40})
        train(tmp_path / str(steps), Exp3S(NAMES, reservoir=20), settings, listen=prediction_gain)
        last = tmp_path / str(steps) / "checkpoints" / f"step-{steps:08d}"
        sizes[steps] = sum(path.stat().st_size for path in last.iterdir())
    assert sizes[400] < sizes[40] + 200  # a few more digits in the counters


def test_a_finished_run_is_left_alone(tmp_path):
    train(tmp_path / "r")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "r").rglob("*")}
    tasks = make_tasks()
    model = make_model(tasks)
    run = fit(model, tasks, uniform(NAMES), tmp_path / "r", QUICK, resume=True, progress=False)
    assert evaluate(model, tasks)["average"] == run.summary["best"]["dev"]["average"]  # the best weights, here too
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "r").rglob("*")} == before


@pytest.mark.parametrize("settings", [QUICK, QUICK.model_copy(update={"patience": 1, "steps": 400, "lr": 1e-6})])
def test_a_run_that_dies_before_its_summary_only_writes_that(tmp_path, settings):
    whole = train(tmp_path / "whole", settings=settings)
    train(tmp_path / "cut", settings=settings)
    (tmp_path / "cut" / "summary.json").unlink()
    again = train(tmp_path / "cut", settings=settings, resume=True)
    assert_same_run(tmp_path / "whole", tmp_path / "cut")
    assert {**again.summary, "seconds": 0} == {**whole.summary, "seconds": 0}


def test_a_disk_that_is_full_at_the_very_end_spoils_nothing(tmp_path, monkeypatch):
    train(tmp_path / "whole")
    with monkeypatch.context() as patch:
        patch.setattr(
            "rota.training._ending.write_json", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full"))
        )
        with pytest.raises(RotaError, match="Everything up to step 40 is saved"):
            train(tmp_path / "cut")
    train(tmp_path / "cut", resume=True)
    assert_same_run(tmp_path / "whole", tmp_path / "cut")


def test_going_back_to_an_older_checkpoint_forgets_the_newer_ones(tmp_path):
    older, newer = stopped(tmp_path / "cut")
    crash_at(int(older.removeprefix("step-")) + 1, tmp_path / "cut", resume=older)
    assert newer not in checkpoints(tmp_path / "cut")
    train(tmp_path / "cut", resume=True)
    train(tmp_path / "whole")
    assert_same_run(tmp_path / "whole", tmp_path / "cut")


def test_an_existing_folder_is_never_overwritten(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(RotaError, match="which is not empty"):
        train(tmp_path)
    with pytest.raises(RotaError, match="which is a file"):
        train(tmp_path / "thesis.txt")
    (tmp_path / "dead").mkdir()
    for name in ("run.json.123.tmp", "plan.json.123.tmp"):  # died while its folder was made
        (tmp_path / "dead" / name).write_text("{")
    train(tmp_path / "dead")
    train(tmp_path / "r")
    with pytest.raises(RotaError, match="resume=True"):
        train(tmp_path / "r")


def test_a_resumed_run_keeps_its_settings(tmp_path):
    crash_at(20, tmp_path / "r")
    with pytest.raises(RotaError, match=r"lr \(was 0.01, now 0.5\)"):
        train(tmp_path / "r", settings=QUICK.model_copy(update={"lr": 0.5}), resume=True)
    others = {
        r"policy \(was 'Fixed', now 'Exp3S'\)": {"policy": Exp3S(NAMES)},
        r"mixture\.aux \(was 0\.3+, now 0\.5\)": {"policy": rota.Fixed({"a": 1, "b": 1, "aux": 2})},
        r"stream \(was 'TaskStream', now 'JointStream'\)": {"stream": JointStream},
        r"listen \(was \[\], now .*'prediction_gain'": {"listen": prediction_gain},
        r"tasks\.aux\.auxiliary \(was True, now False\)": {
            "tasks": [dataclasses.replace(task, auxiliary=False) for task in make_tasks()]
        },
    }
    for sentence, change in others.items():
        with pytest.raises(RotaError, match=sentence):
            train(tmp_path / "r", resume=True, **change)
    train(tmp_path / "r", settings=QUICK.model_copy(update={"num_workers": 1}), resume=True)  # changes no number


def test_the_log_says_what_happened(tmp_path):
    run = train(tmp_path / "r", Exp3S(NAMES), listen=prediction_gain)
    steps = run.lines("step")
    assert [line["step"] for line in steps] == list(range(40))
    assert all(
        line["n"] == np.diff(line["rows"]) == len(run.row_ids(line["task"], line)) and 0 < line["probability"] <= 1
        for line in steps
    )
    assert all(line["value"] is not None and line["loss"] > 0 for line in steps)
    assert [line["step"] for line in run.lines("eval")] == [0, 10, 20, 30, 40]
    summary = run.summary
    assert summary["updates"] == {name: sum(line["task"] == name for line in steps) for name in sorted(NAMES)}
    assert summary["cost"]["train"] == sum(line["n"] for line in steps) == summary["cost"]["scored"]
    assert (summary["cost"]["evaluated"], summary["cost"]["reported"]) == (5 * 60, 30)
    assert summary["best"]["step"] in (10, 20, 30, 40)


def test_joint_steps_log_no_probability_and_every_part(tmp_path):
    run = train(tmp_path / "r", stream=JointStream, listen=prediction_gain)
    for line in run.lines("step"):
        assert line["task"] is None
        assert line["probability"] is None
        assert set(line["tasks"]) == set(NAMES)
        assert all(part["n"] == np.diff(part["rows"]) and part["value"] is not None for part in line["tasks"].values())


def test_rounds_are_logged(tmp_path):
    run = train(tmp_path / "r", Hold(uniform(NAMES), steps=4))
    assert [line["round"] for line in run.lines("step")] == [step // 4 for step in range(40)]


class Copies(Callback):
    """Counts the best models in memory, but for those that others have left there."""

    def __init__(self):
        gc.collect()
        self.seen, self.others = [], self.count()

    def count(self):
        return sum(type(one) is HostCopy for one in gc.get_objects())

    def on_evaluate(self, done, evaluation, mixture):
        self.seen.append(self.count() - self.others)


@pytest.mark.parametrize("best", ["last", "score"])
def test_one_best_model_is_in_memory_until_it_is_written(tmp_path, best):
    copies = Copies()
    settings = QUICK.model_copy(update={"best": best, "eval_every": 4, "checkpoint_every": 40})
    train(tmp_path / "r", uniform(NAMES), settings, callbacks=[copies])
    assert len(copies.seen) == 11
    assert max(copies.seen) == 1


class Listener(Policy):
    """Hears, and remembers when."""

    state = ("heard", "draws")

    def __init__(self):
        super().__init__(NAMES)
        self.heard, self.draws = [], 0

    def probabilities(self, step):
        return np.full(3, 1 / 3)

    def on_draw(self, k, step):
        self.draws += 1

    def learn(self, k, feedback):
        self.heard.append([feedback.step, self.draws - 1, feedback.task, feedback.probability])


@pytest.mark.parametrize("delay", [0, 1, 4])
def test_feedback_comes_exactly_so_late_and_names_its_choice(tmp_path, delay):
    policy = Listener()
    run = train(tmp_path / "r", policy, QUICK.model_copy(update={"delay": delay}), listen=lambda view: view.loss)
    during = policy.heard[: 40 - delay]
    assert [step for step, *_ in policy.heard] == list(range(40))
    assert all(now - step == delay for step, now, *_ in during)
    logged = [(line["step"], line["task"], line["probability"]) for line in run.lines("step")]
    assert [(step, task, p) for step, _, task, p in policy.heard] == logged


def test_pending_feedback_is_in_the_checkpoint_and_delivered_when_due(tmp_path):
    settings = QUICK.model_copy(update={"delay": 6})
    whole, cut = Listener(), Listener()
    train(tmp_path / "whole", whole, settings, listen=lambda view: view.loss)
    crash_at(13, tmp_path / "cut", cut, settings, listen=lambda view: view.loss)
    state = json.loads((tmp_path / "cut" / "checkpoints" / "step-00000012" / "state.json").read_text())
    waiting = [entry for entry in state["queue"]["waiting"] if "note" not in entry]
    assert [entry["step"] for entry in waiting] == [6, 7, 8, 9, 10, 11]
    resumed = Listener()
    train(tmp_path / "cut", resumed, settings, resume=True, listen=lambda view: view.loss)
    assert resumed.heard == whole.heard
    assert_same_run(tmp_path / "whole", tmp_path / "cut")


@pytest.mark.parametrize("delay", [0, 4])
def test_late_reading_changes_nothing_for_policies_that_do_not_listen(tmp_path, delay):
    train(tmp_path / "now")
    train(tmp_path / "late", settings=QUICK.model_copy(update={"delay": delay}))
    assert_same_run(tmp_path / "now", tmp_path / "late")


@pytest.mark.parametrize("stream", [TaskStream, JointStream])
def test_accumulation_is_the_same_as_a_larger_batch_with_uneven_last_batches(tmp_path, stream):
    """Batches of 12 from 50, 30 and 21 rows: the last ones have 2, 6 and 9 rows."""
    common = {"optimizer": "sgd", "lr": 0.1}
    whole = QUICK.model_copy(update={**common, "batch_size": 12})
    parts = QUICK.model_copy(update={**common, "batch_size": 4, "accumulate": 3})
    for name, settings in (("whole", whole), ("parts", parts)):
        train(tmp_path / name, settings=settings, dropout=0.0, stream=stream)
    one, other = (Run(tmp_path / name).lines("step") for name in ("whole", "parts"))
    for line, twin in zip(one, other, strict=True):
        ours = line["tasks"].values() if line["task"] is None else [line]
        theirs = twin["tasks"].values() if twin["task"] is None else [twin]
        for x, y in zip(ours, theirs, strict=True):
            assert x["rows"] == y["rows"]
            assert x["loss"] == pytest.approx(y["loss"], abs=1e-6)
    tensors = [
        Checkpoints(tmp_path / name, Run(tmp_path / name).info["id"]).load()[1]["model"] for name in ("whole", "parts")
    ]
    for key in tensors[0]:
        torch.testing.assert_close(tensors[0][key], tensors[1][key], atol=1e-6, rtol=0)


def test_the_logged_loss_is_the_mean_over_the_rows_before_the_update(tmp_path):
    tasks = make_tasks()
    model = make_model(tasks, dropout=0.0)
    run = train(tmp_path / "r", settings=QUICK.model_copy(update={"steps": 1, "accumulate": 3}), dropout=0.0)
    line = run.lines("step")[0]
    task = next(task for task in tasks if task.name == line["task"])
    batch = task.splits["train"].batch(np.array(run.row_ids(task.name, line)))
    expected = nn.functional.cross_entropy(model(task.name, batch.inputs), batch.labels)
    assert line["loss"] == pytest.approx(expected.item(), rel=1e-6)


def test_heads_of_absent_tasks_are_left_alone(tmp_path):
    """Weight decay and momentum must not move a head that had no rows in the step."""
    tasks = make_tasks()
    before = {k: v.clone() for k, v in make_model(tasks).state_dict().items()}
    settings = QUICK.model_copy(update={"weight_decay": 0.5, "best": "last"})
    model = make_model(tasks)
    policy = rota.Fixed({"a": 1, "b": 1, "aux": 0})
    fit(model, tasks, policy, tmp_path / "r", settings, progress=False)
    after = model.state_dict()
    assert after["heads.aux.linear.weight"].equal(before["heads.aux.linear.weight"])
    assert not after["heads.a.linear.weight"].equal(before["heads.a.linear.weight"])


def test_evaluation_changes_neither_the_model_nor_any_generator():
    tasks = make_tasks()
    model = make_model(tasks)
    model.train()
    before, state = {k: v.clone() for k, v in model.state_dict().items()}, torch.get_rng_state()
    result = evaluate(model, tasks)
    assert model.training
    assert torch.get_rng_state().equal(state)
    assert all(value.equal(before[key]) for key, value in model.state_dict().items())
    assert set(result["tasks"]) == set(NAMES)
    counted = [result["tasks"][name]["score"] for name in ("a", "b")]  # the auxiliary counts nothing
    assert result["average"] == pytest.approx(sum(counted) / 2)
    assert evaluate(model, tasks, batch_size=3)["tasks"]["a"]["loss"] == pytest.approx(result["tasks"]["a"]["loss"])
    assert evaluate(model, tasks, split="nothing") == {"split": "nothing", "average": None, "loss": None, "tasks": {}}


def test_how_often_one_evaluates_does_not_change_the_training(tmp_path):
    train(tmp_path / "often", settings=QUICK.model_copy(update={"eval_every": 3}))
    train(tmp_path / "rarely", settings=QUICK.model_copy(update={"eval_every": 40}))
    assert final_weights(tmp_path / "often") == final_weights(tmp_path / "rarely")
    lines = [Run(tmp_path / name).lines("step") for name in ("often", "rarely")]
    assert lines[0] == lines[1]


def test_fit_leaves_threads_and_generators_as_they_were(tmp_path):
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    threads = torch.get_num_threads()
    train(tmp_path / "r", settings=QUICK.model_copy(update={"threads": 1}))
    assert torch.get_num_threads() == threads
    # `make_model` seeds with 0 inside `train`, before `fit`: only its own draws may have happened.
    torch.manual_seed(5)
    assert torch.rand(1).equal(expected)


def test_afterwards_the_model_holds_the_best_weights(tmp_path):
    tasks = make_tasks()
    model = make_model(tasks)
    run = fit(model, tasks, uniform(NAMES), tmp_path / "r", QUICK, progress=False)
    best = Checkpoints(tmp_path / "r", run.info["id"]).load_best(run.summary["best"]["step"])
    assert all(value.equal(best[key]) for key, value in model.state_dict().items())
    assert evaluate(model, tasks)["average"] == run.summary["best"]["dev"]["average"]


def test_patience_stops_early_and_is_resumable(tmp_path):
    settings = QUICK.model_copy(update={"patience": 2, "steps": 400, "lr": 1e-6})
    run = train(tmp_path / "r", settings=settings)
    assert run.summary["stopped"] == "patience"
    assert run.summary["steps"] < 400
    assert run.summary["best"]["step"] == run.summary["steps"] - 20
    crash_at(run.summary["steps"] - 3, tmp_path / "cut", settings=settings)
    train(tmp_path / "cut", settings=settings, resume=True)
    assert_same_run(tmp_path / "r", tmp_path / "cut")


def poisoned(tasks_with_nan):
    """The first step whose batch holds a poisoned row, found by a clean dry run of the stream."""
    stream = TaskStream(tasks_with_nan, uniform(NAMES), 8, seed=0)
    for step in range(40):
        part = stream.next(step).parts[0]
        if part.task == "b" and 3 in part.ids:
            return step
    raise AssertionError("row 3 of task b never comes up")


@pytest.mark.parametrize("delay", [0, 2])
def test_a_loss_that_is_no_number_stops_the_run_and_names_task_and_step(tmp_path, delay):
    tasks = make_tasks(nan_rows=[3])
    policy = Listener()
    settings = QUICK.model_copy(update={"delay": delay})
    with pytest.raises(NotANumberError, match=f"task 'b' at step {poisoned(tasks)}"):
        train(tmp_path / "r", policy, settings, tasks=tasks, listen=lambda view: view.loss)
    assert all(math.isfinite(step) for step, *_ in policy.heard)
    assert max(step for step, *_ in policy.heard) == poisoned(tasks) - 1
    for name in checkpoints(tmp_path / "r"):
        tensors = Checkpoints(tmp_path / "r", Run(tmp_path / "r").info["id"]).load(name)[1]["model"]
        assert all(torch.isfinite(tensor).all() for tensor in tensors.values())


def test_a_loss_that_is_no_number_can_be_skipped(tmp_path):
    tasks = make_tasks(nan_rows=[3])
    policy = Listener()
    settings = QUICK.model_copy(update={"on_nan": "skip"})
    run = train(tmp_path / "r", policy, settings, tasks=tasks, listen=lambda view: view.loss)
    skipped = [line["step"] for line in run.lines("skip")]
    assert skipped[0] == poisoned(tasks)
    assert run.summary["skipped"] == len(skipped)
    assert {step for step, *_ in policy.heard} == set(range(40)) - set(skipped)  # the policy never sees it
    assert run.summary["best"]["dev"]["average"] is not None


class Normed(nn.Module):
    """With batch norm, and a gradient that can be made to break although the loss does not."""

    def __init__(self, broken=False):
        super().__init__()
        self.norm, self.broken = nn.BatchNorm2d(1), broken
        self.heads = nn.ModuleDict({name: nn.Linear(16, 2) for name in NAMES})

    def forward(self, task, inputs):
        x = self.norm(inputs["image"]).flatten(1)
        if self.broken and task == "b":
            x = x + (x - x.detach()).abs().sqrt()  # zero, with an infinite slope
        return self.heads[task](x)


@pytest.mark.parametrize("clip", [1.0, None])
@pytest.mark.parametrize("broken", ["rows", "gradient"])
def test_a_skipped_step_leaves_the_model_as_it_was(tmp_path, clip, broken):
    tasks = make_tasks(nan_rows=[3] if broken == "rows" else [])
    settings = QUICK.model_copy(update={"on_nan": "skip", "clip": clip, "best": "last"})
    torch.manual_seed(0)
    model = Normed(broken == "gradient")
    run = fit(model, tasks, uniform(NAMES), tmp_path / "r", settings, progress=False)
    assert 0 < run.summary["skipped"] < 40
    assert all(torch.isfinite(tensor).all() for tensor in model.state_dict().values())
    assert model.norm.num_batches_tracked == 40 - run.summary["skipped"]


def test_the_second_forward_of_a_signal_counts_in_no_batch_norm(tmp_path):
    model = Normed()
    settings = QUICK.model_copy(update={"best": "last"})
    fit(model, make_tasks(), Exp3S(NAMES), tmp_path / "r", settings, listen=prediction_gain, progress=False)
    assert model.norm.num_batches_tracked == 40


def test_what_comes_in_evaluation_mode_is_trained_in_training_mode(tmp_path):
    model = Normed()
    model.norm.eval()  # as `from_pretrained` returns encoders
    settings = QUICK.model_copy(update={"best": "last"})
    fit(model, make_tasks(), uniform(NAMES), tmp_path / "r", settings, progress=False)
    assert model.norm.num_batches_tracked == 40


class FrozenNorm(nn.BatchNorm2d):
    def train(self, mode=True):
        return super().train(False)


def test_a_module_that_keeps_itself_in_evaluation_mode_stays_so(tmp_path):
    model = Normed()
    model.norm = FrozenNorm(model.norm.num_features)
    before = model.norm.running_mean.clone()
    fit(model, make_tasks(), uniform(NAMES), tmp_path / "r", QUICK, progress=False)
    assert not model.norm.training
    assert model.norm.running_mean.equal(before)


def test_a_model_may_keep_what_it_makes_in_its_first_pass(tmp_path):
    class Caching(Normed):
        table = None

        def forward(self, task, inputs):
            if self.table is None:
                self.table = torch.ones(16) * 2
            return self.heads[task](inputs["image"].flatten(1) * self.table)

    assert fit(Caching(), make_tasks(), uniform(NAMES), tmp_path / "r", QUICK, progress=False).finished


def test_a_value_that_is_no_number_and_still_waits_stops_with_a_sentence(tmp_path):
    settings = QUICK.model_copy(update={"delay": 3})

    def signal(view):
        return view.loss * (math.nan if view.step == 6 else 1.0)

    with pytest.raises(NotANumberError, match="at step 6"):
        train(tmp_path / "r", Exp3S(NAMES), settings, listen=signal)


def test_a_value_that_is_no_number_can_be_left_out(tmp_path):
    def signal(view):
        return view.loss * (math.nan if view.step == 6 else 1.0)

    policy = Listener()
    run = train(tmp_path / "r", policy, QUICK.model_copy(update={"on_nan": "skip"}), listen=signal)
    assert 6 not in {step for step, *_ in policy.heard}
    assert [line["step"] for line in run.lines("step") if line["value"] is None] == [6]


def test_skipping_and_reading_late_exclude_each_other():
    with pytest.raises(ValueError, match="on_nan 'skip' with delay 0"):
        Settings(on_nan="skip", delay=1)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="open files are counted in /proc")
def test_a_run_closes_its_files_and_writes_what_it_knows_when_it_dies(tmp_path):
    tasks = make_tasks(nan_rows=[3])
    open_files = len(os.listdir("/proc/self/fd"))
    settings = QUICK.model_copy(update={"checkpoint_every": 1000})
    with pytest.raises(NotANumberError):
        train(tmp_path / "r", tasks=tasks, settings=settings)
    assert [line["step"] for line in Run(tmp_path / "r").lines("step")] == list(range(poisoned(tasks)))
    assert len(os.listdir("/proc/self/fd")) == open_files


def test_an_evaluation_that_overflows_is_logged_as_none_and_never_the_best(tmp_path):
    tasks = make_tasks()
    images = tasks[0].splits["dev"].batch(np.arange(20)).inputs["image"]
    images[0] = math.inf
    rows = TensorRows({"image": images}, torch.arange(20) % 2)
    tasks[0] = Task("a", Classification(2), {**tasks[0].splits, "dev": rows})
    run = train(tmp_path / "r", tasks=tasks, settings=QUICK.model_copy(update={"best": "loss"}))
    assert all(line["loss"] is None and line["tasks"]["a"]["loss"] is None for line in run.lines("eval"))
    assert run.finished


def test_writing_checkpoints_takes_a_small_share_of_the_time(tmp_path, monkeypatch):
    """Unless somebody asks for more; the best model is written with them, and is the right one."""
    saved, real = [], Checkpoints.save

    def slow(self, step, *content):
        saved.append(step)
        time.sleep(0.3)
        real(self, step, *content)

    monkeypatch.setattr(Checkpoints, "save", slow)
    settings = QUICK.model_copy(update={"checkpoint_every": None, "eval_every": 2})
    run = train(tmp_path / "r", settings=settings)
    assert saved == [2, 40]
    often = train(tmp_path / "often", settings=settings.model_copy(update={"checkpoint_every": 2}))
    assert len(saved) == 2 + 20
    assert run.summary["best"] == often.summary["best"]
    assert_same_run(tmp_path / "r", tmp_path / "often")


def test_a_model_of_ones_own_is_enough(tmp_path):
    """Anything that answers model(task, inputs) can be trained; here: linear regression."""

    class Lines(nn.Module):
        def __init__(self):
            super().__init__()
            self.lines = nn.ModuleDict({name: nn.Linear(1, 1) for name in ("up", "down")})

        def forward(self, task, inputs):
            return self.lines[task](inputs["x"])

    x = torch.linspace(-1, 1, 64)[:, None]
    tasks = [
        Task(name, Regression(), {split: TensorRows({"x": x}, sign * x[:, 0]) for split in ("train", "dev")})
        for name, sign in (("up", 1.0), ("down", -1.0))
    ]
    settings = Settings(steps=200, lr=0.1, optimizer="sgd", batch_size=16)
    run = fit(Lines(), tasks, uniform(["up", "down"]), tmp_path / "r", settings, progress=False)
    assert run.summary["best"]["dev"]["loss"] < 0.01
    assert run.summary["best"]["test"]["average"] is None  # no test rows, no test score


class Full:
    """A disk that fills up at the n-th write of a checkpoint."""

    def __init__(self, after):
        self.left = after

    def __call__(self, path, pieces):
        self.left -= 1
        if self.left < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write_pieces(path, pieces)


@pytest.mark.parametrize("after", [0, 5, 11])
def test_a_full_disk_ends_the_run_with_a_sentence_and_loses_nothing_saved(tmp_path, monkeypatch, after):
    train(tmp_path / "whole")
    with monkeypatch.context() as patch:
        patch.setattr("rota.training._checkpoint.write_pieces", Full(after))
        with pytest.raises(RotaError, match=r"Found it full. Everything up to step \d+ is saved"):
            train(tmp_path / "cut")
    assert not list((tmp_path / "cut").rglob("tmp-*"))
    train(tmp_path / "cut", resume=True)
    assert_same_run(tmp_path / "whole", tmp_path / "cut")


def test_a_full_disk_gives_up_the_older_checkpoint_to_save_the_present_step(tmp_path, monkeypatch):
    train(tmp_path / "whole")
    writes = Full(12)
    with monkeypatch.context() as patch:
        patch.setattr("rota.training._checkpoint.write_pieces", writes)
        room = Checkpoints.make_room
        patch.setattr(Checkpoints, "make_room", lambda self: setattr(writes, "left", 3) or room(self))
        with pytest.raises(RotaError, match="Everything up to step 16 is saved"):
            train(tmp_path / "cut")
    assert checkpoints(tmp_path / "cut")[-1] == "step-00000016"
    train(tmp_path / "cut", resume=True)
    assert_same_run(tmp_path / "whole", tmp_path / "cut")


def test_other_disk_errors_are_not_swallowed(tmp_path, monkeypatch):
    def broken(path, pieces):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("rota.training._checkpoint.write_pieces", broken)
    with pytest.raises(OSError, match="Input/output error"):
        train(tmp_path / "r")


def stopped(folder):
    crash_at(21, folder)
    return checkpoints(folder)


@pytest.mark.parametrize("file", ["model.safetensors", "optimizer.safetensors", "state.json", "manifest.json"])
@pytest.mark.parametrize("damage", ["flip", "cut", "remove"])
def test_a_damaged_checkpoint_is_noticed_and_the_one_before_is_offered(tmp_path, file, damage):
    older, latest = stopped(tmp_path / "r")
    path = tmp_path / "r" / "checkpoints" / latest / file
    data = bytearray(path.read_bytes())
    if damage == "remove":
        path.unlink()
    elif damage == "cut":
        path.write_bytes(data[: len(data) // 2])
    else:
        data[len(data) // 2] ^= 0xFF
        path.write_bytes(data)
    with pytest.raises(RotaError, match=f"The one before is good: .*resume='{older}'"):
        train(tmp_path / "r", resume=True)
    train(tmp_path / "whole")
    train(tmp_path / "r", resume=older)
    assert_same_run(tmp_path / "whole", tmp_path / "r")


def test_a_checkpoint_that_was_being_replaced_is_whole_or_gone(tmp_path, monkeypatch):
    train(tmp_path / "whole")
    train(tmp_path / "cut")
    (tmp_path / "cut" / "summary.json").unlink()  # it writes its last step once more
    real = shutil.rmtree

    def remove(path, **options):
        if (Path(path) / "model.safetensors").is_file():
            (Path(path) / "model.safetensors").unlink()
            raise KeyboardInterrupt
        real(path, **options)

    with monkeypatch.context() as patch:
        patch.setattr("rota.training._checkpoint.shutil.rmtree", remove)
        with pytest.raises(KeyboardInterrupt):
            train(tmp_path / "cut", resume=True)
    train(tmp_path / "cut", resume=True)
    assert_same_run(tmp_path / "whole", tmp_path / "cut")
    assert not list((tmp_path / "cut").rglob("tmp-*"))


def test_a_foreign_checkpoint_is_refused(tmp_path):
    mine = stopped(tmp_path / "mine")[-1]
    stopped(tmp_path / "other")
    (tmp_path / "other" / "checkpoints" / mine).rename(tmp_path / "stolen")
    target = tmp_path / "mine" / "checkpoints" / mine
    target.rename(tmp_path / "away")
    (tmp_path / "stolen").rename(target)
    with pytest.raises(RotaError, match=r"Expected a checkpoint of run .* Found one of run"):
        train(tmp_path / "mine", resume=True)


def test_a_checkpoint_that_is_not_there_is_refused_by_name(tmp_path):
    names = stopped(tmp_path / "r")
    with pytest.raises(RotaError, match=f"Expected a checkpoint 'step-7'.*Found {', '.join(names)}"):
        train(tmp_path / "r", resume="step-7")


def test_nothing_in_a_run_folder_can_execute_code(tmp_path):
    train(tmp_path / "r")
    endings = {path.suffix for path in (tmp_path / "r").rglob("*") if path.is_file()}
    assert endings == {".json", ".jsonl", ".safetensors"}
    for line in (tmp_path / "r" / LOG).read_text().splitlines():
        assert json.loads(line)["kind"] in ("step", "eval")


def test_prediction_gain_is_before_minus_after(tmp_path):
    heard = []

    def gain(view):
        value = prediction_gain(view)
        heard.append((view.task, view.loss.item(), value.item()))
        return value

    run = train(tmp_path / "r", Exp3S(NAMES), settings=QUICK.model_copy(update={"lr": 0.05}), dropout=0.0, listen=gain)
    lines = run.lines("step")
    assert [(line["task"], line["loss"], line["value"]) for line in lines] == heard
    assert np.mean([line["value"] for line in lines]) > 0  # an update lowers the loss of its own batch


def test_feedback_of_joint_steps_is_a_survey(tmp_path):
    class Heard(Exp3S):
        seen: list[Feedback] = []  # noqa: RUF012

        def learn(self, k, feedback):
            self.seen.append(feedback)

    train(tmp_path / "r", Heard(NAMES), stream=JointStream, listen=lambda view: view.loss)
    assert len(Heard.seen) == 3 * 40
    assert all(feedback.probability is None for feedback in Heard.seen)
