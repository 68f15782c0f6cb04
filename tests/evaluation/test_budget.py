"""Evaluations during training take a quarter of a run's forward passes at most, and look at the same rows each time."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch
from fit_tools import NAMES, make_model, make_tasks
from hypothesis import given
from hypothesis import strategies as st
from run_tools import assert_same_run

from rota.callbacks import Callback
from rota.evaluation import evaluation_budget
from rota.policies import Fixed, uniform
from rota.settings import Settings
from rota.tasks import Classification, Task, TensorRows
from rota.training import evaluate, fit


def sized(train, dev):
    rows = {"train": TensorRows({"x": torch.zeros(train, 1)}, torch.zeros(train).long())}
    rows |= {"dev": TensorRows({"x": torch.zeros(dev, 1)}, torch.zeros(dev).long())} if dev else {}
    return rows


def budget(sizes, batch=32, **settings):
    tasks = [Task(f"t{k}", Classification(2), sized(train, dev)) for k, (train, dev) in enumerate(sizes)]
    return evaluation_budget(Settings(**settings), tasks, {task.name: batch for task in tasks})


def test_by_hand():
    # 600 steps of 32 rows cost 57,600; a quarter of all is 19,200 rows: 21 evaluations of 914, half of it each task's.
    found = budget([(3200, 1000), (640, 1000)], steps=600)
    assert (found.every, found.rows, found.all_at_end) == (30, 457, True)
    assert found.share == pytest.approx(21 * 914 / (57_600 + 21 * 914))
    # A small task is looked at whole, and what it leaves goes to the other: 914 - 100.
    assert budget([(3200, 1000), (640, 100)], steps=600).rows == 814
    # Where all rows can be paid for, all are looked at.
    assert budget([(3200, 400), (640, 400)], steps=600) == dataclasses.replace(
        found, rows=None, all_at_end=False, share=21 * 800 / (57_600 + 21 * 800)
    )
    # 20 steps of 32 rows pay for 640: fifty rows of each of two tasks six times, which is every fourth step.
    short = budget([(3200, 1000), (640, 1000)], steps=20)
    assert (short.every, short.rows) == (4, 53)


def test_what_is_asked_for_is_done():
    for asked, every, rows in [({"eval_every": 7}, 7, None), ({"eval_rows": 9}, 2, 9)]:
        found = budget([(320, 1000)], steps=40, **asked)
        assert (found.every, found.rows, found.all_at_end) == (every, rows, False)


def test_where_the_rows_are_given_there_are_no_more_evaluations_than_a_quarter_pays_for():
    # 30 steps of 2 rows pay for 60 rows; 200 tasks of one row each are looked at before, and once at the end.
    assert budget([(20, 10)] * 200, batch=2, steps=30, eval_rows=1).every == 30
    # 300 steps pay for 600: three times 200, one of which comes first.
    assert budget([(20, 10)] * 200, batch=2, steps=300, eval_rows=1).every == 150


@given(
    sizes=st.lists(st.tuples(st.integers(1, 5000), st.integers(0, 5000)), min_size=1, max_size=6),
    steps=st.integers(1, 3000),
    batch=st.integers(1, 64),
)
def test_no_run_pays_more_than_a_quarter(sizes, steps, batch):
    found = budget(sizes, batch, steps=steps)
    least = min(train / math.ceil(train / batch) for train, _ in sizes)
    evaluations = 1 + math.ceil(steps / found.every)
    during = evaluations * sum(min(dev, found.rows or dev) for _, dev in sizes)
    paid = steps * least  # of rows that cost three
    # One row of each task is looked at before and after, however little is trained.
    assert during <= paid * (1 + 1e-9) or (found.every == steps and found.rows in (1, None))
    assert found.share == pytest.approx(during / (3 * paid + during))


def more_rows():
    """The tasks of other tests with 200 dev rows each."""
    tasks = make_tasks()
    for k, task in enumerate(tasks):
        generator = torch.Generator().manual_seed(k)
        images, labels = torch.rand(200, 1, 4, 4, generator=generator), torch.arange(200) % 2
        images[:, 0, :2] += 0.3 * labels[:, None, None]
        task.splits["dev"] = TensorRows({"image": images}, labels)
    return tasks


class Watching(Callback):
    def __init__(self, stop=None):
        self.rows, self.said, self.stop = [], [], stop

    def on_evaluate(self, done, evaluation, mixture):
        self.rows.append((done, {task: own["n"] for task, own in evaluation["tasks"].items()}))
        return "enough" if done == self.stop else None

    def on_notice(self, sentence):
        self.said.append(sentence)


SETTINGS = Settings(steps=240, batch_size=8, lr=0.1, warmup=0.0, checkpoint_every=50)


def trained(folder, watching, model=None, **options):
    tasks = more_rows()
    model = model or make_model(tasks)
    return fit(model, tasks, uniform(NAMES), folder, SETTINGS, progress=False, callbacks=[watching], **options)


def test_a_run_keeps_its_budget_and_ends_with_all_rows(tmp_path):
    watching, tasks = Watching(), more_rows()
    model = make_model(tasks)
    run = trained(tmp_path / "r", watching, model)
    # Steps of 7 rows at least pay for 1,680 rows: twelve evaluations of 46 rows of three tasks.
    assert watching.rows[:-1] == [(22 * k, dict.fromkeys(NAMES, 46)) for k in range(11)]
    assert watching.rows[-1] == (240, dict.fromkeys(NAMES, 200))
    assert watching.said[0].startswith("evaluation: every 22 updates on 46 dev rows of each task, about 2")
    assert watching.said[0].endswith("of the cost; on all rows at the end")
    cost, best = run.summary["cost"], run.summary["best"]
    assert cost["evaluated"] == 12 * 138
    assert cost["evaluated"] <= 0.25 * (cost["forward_equivalents"] + cost["evaluated"])
    assert cost["all_forwards"] == cost["forward_equivalents"] + cost["evaluated"] + cost["reported"]
    # Models are compared on the same rows; what is said about the best one is true of all rows.
    during = {line["step"]: line["average"] for line in run.lines("eval") if 0 < line["step"] < 240}
    assert best["step"] < 240  # so that something was chosen
    assert best["compared"]["average"] == during[best["step"]] == max(during.values())
    assert best["dev"] == evaluate(model, tasks)
    assert cost["reported"] == 600 + 600 + 30  # the last model and the best one, and the test rows
    assert run.summary["last"]["dev"]["tasks"]["a"]["n"] == 200


def test_a_run_that_somebody_ends_is_reported_on_all_rows_too(tmp_path):
    watching = Watching(stop=44)
    run = trained(tmp_path / "r", watching)
    assert (run.summary["stopped"], run.summary["steps"]) == ("enough", 44)
    assert run.summary["last"]["dev"]["tasks"]["a"]["n"] == 200
    assert [n["a"] for done, n in watching.rows if done == 44] == [46, 200]


def test_each_task_s_own_best_model_is_reported_on_all_rows(tmp_path):
    tasks = more_rows()
    settings = SETTINGS.model_copy(update={"best": "each"})
    run = fit(make_model(tasks), tasks, uniform(NAMES), tmp_path / "r", settings, progress=False)
    assert all(own["dev"]["n"] == 200 for own in run.summary["best"]["each"].values())


def test_killed_in_its_last_evaluation_it_is_the_same_run(tmp_path):
    trained(tmp_path / "whole", Watching())

    class Dying(Callback):
        def on_evaluate(self, done, evaluation, mixture):
            if done == 240:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trained(tmp_path / "cut", Dying())
    run = trained(tmp_path / "cut", Watching(), resume=True)
    assert_same_run(tmp_path / "whole", tmp_path / "cut")
    assert run.summary["last"]["dev"]["tasks"]["a"]["n"] == 200


def test_another_number_of_rows_is_another_run(tmp_path):
    policy, tasks = Fixed(dict.fromkeys(NAMES, 1)), make_tasks()
    short = SETTINGS.model_copy(update={"steps": 8})
    fit(make_model(tasks), tasks, policy, tmp_path / "r", short, progress=False)
    more = short.model_copy(update={"eval_rows": 5})
    with pytest.raises(ValueError, match="eval_rows"):
        fit(make_model(tasks), tasks, policy, tmp_path / "r", more, progress=False, resume=True)
