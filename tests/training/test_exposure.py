"""A budget means the same for every method: who trains with it sees as many rows, counted from logs."""

from __future__ import annotations

from collections import Counter

import pytest
from run_tools import assert_same_run, interrupted_at

from rota.engine import EagerEngine
from rota.errors import RotaError
from rota.plans import make_plan
from rota.runs import run_plan

SIZES = {"left": 200, "right": 120, "noise": 66}
PLAN = {
    **{"tasks": ["digits"], "only": list(SIZES), "rows": SIZES, "target": "left", "batch_size": 16},
    **{"device": "cpu", "optimizer": "sgd", "lr": 0.05, "eval_rows": 20, "threads": 1},
}
QUARTER = {"fraction": 0.25}
TRAINED = {
    "single": ("singletask", {}),
    "multi": ("multitask", QUARTER),
    "diw": ("diw", {**QUARTER, "tries": 3}),
    "alphavil": ("alphavil", QUARTER),
    "aligned": ("alphavil-aligned", QUARTER),
}


def trained(folder, method, options=None, **fields):
    plan = make_plan({**PLAN, "method": method, "options": options or {}, **fields})
    return run_plan(plan, folder, resume=folder.is_dir(), progress=False)


def rows_of(run, line):
    parts = {line["task"]: line} if line["task"] is not None else line["tasks"]
    return Counter((task, int(row)) for task, part in parts.items() for row in run.row_ids(task, part))


def kept_rows(run):
    """Every row that stayed in the model, as often as it did: what the lines of the log say, but for what DIW took
    back, which is all of a round but the joint try that it kept."""
    steps, kept = [], []
    for line in run.lines():
        if line["kind"] == "step":
            steps.append(rows_of(run, line))
        elif line["kind"] == "round" and line["method"] == "diw":
            *branches, joint = line["steps"].values()
            start = sum(branches) + line["kept"] * joint
            assert len(steps) == sum(branches) + len(line["tries"]) * joint
            kept += steps[start : start + joint]
            steps = []
    return sum(kept + steps, Counter())


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Five methods with the same budget."""
    place = tmp_path_factory.mktemp("equal")
    return {
        name: trained(place / name, *method, budget="passes-of-target:1.5", eval_every=1)
        for name, method in TRAINED.items()
    }


def test_at_an_equal_budget_methods_see_the_same_rows_of_each_task(runs):
    found = {name: kept_rows(run) for name, run in runs.items()}
    # A pass and a half, in batches: of 13, 8 and 5 batches those of six quarters, rounded half up.
    per_task = {task: sum(n for (own, _), n in found["multi"].items() if own == task) for task in SIZES}
    assert per_task == {"left": 200 + 7 * 16, "right": 120 + 4 * 16, "noise": 66 + 3 * 16}
    assert found["multi"] == found["diw"] == found["alphavil"] == found["aligned"]
    assert found["single"] == Counter({(t, row): n for (t, row), n in found["multi"].items() if t == "left"})


def test_what_a_run_says_about_its_exposure_is_what_its_log_has(runs):
    for run in runs.values():
        counted = Counter(task for (task, _), n in kept_rows(run).items() for _ in range(n))
        exposure = run.summary["exposure"]
        assert exposure["rows"] == dict(counted)
        assert exposure["budget"] == "passes-of-target:1.5"
    assert [runs[name].summary["exposure"]["rounds"] for name in ("multi", "diw", "alphavil")] == [6, 6, 6]


def test_what_is_taken_back_costs_and_does_not_count(runs):
    diw, alphavil = runs["diw"].summary, runs["alphavil"].summary
    assert diw["exposure"]["rows"] == alphavil["exposure"]["rows"]
    assert diw["cost"]["train"] > 2 * alphavil["cost"]["train"]  # a try at least, and branches as long as it
    assert alphavil["cost"]["train"] == sum(alphavil["exposure"]["rows"].values())


def test_evaluations_come_after_equal_parts_of_the_budget(runs):
    """A whole pass of the target, and the end: for rounds at their borders."""
    for run in runs.values():
        first = run.lines("eval")[1]["step"]
        seen = [line for line in run.lines("step") if line["step"] < first]
        if run.plan["method"] != "diw":
            assert sum(n for line in seen for (task, _), n in rows_of(run, line).items() if task == "left") == 200
        assert len(run.lines("eval")) == 3


@pytest.mark.parametrize("budget", ["rows:900", "kept-rounds:2", "passes-of-target:1", "forwards:4000"])
@pytest.mark.parametrize("method", ["uniform", "auto", "multitask", "singletask"])
def test_methods_without_rounds_end_with_the_step_that_uses_the_budget(tmp_path, method, budget):
    run = trained(tmp_path / "r", method, budget=budget, eval_every=1_000_000)
    used = [Counter()]
    for line in run.lines("step"):
        used.append(used[-1] + Counter(task for task, _ in rows_of(run, line).elements()))
    own = SIZES if method != "singletask" else {"left": 200}
    amount = {
        "rows:900": lambda rows: rows.total() / 900,
        "kept-rounds:2": lambda rows: rows.total() / sum(own.values()) / 2,
        "passes-of-target:1": lambda rows: rows["left"] / 200,
        "forwards:4000": lambda rows: 3 * rows.total() / 4000,
    }[budget]
    assert amount(used[-1]) >= 1 > amount(used[-2])
    assert run.summary["stopped"] == "budget"


def test_the_learning_rate_falls_with_the_budget_not_with_the_updates(tmp_path):
    """Warm-up and fall end with the budget, whatever the number of updates that had been expected."""
    seen, real = [], EagerEngine.update

    def update(self, plan, after_update=None):
        seen.append(self.learner.rate_at(plan))
        return real(self, plan, after_update)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EagerEngine, "update", update)
        trained(tmp_path / "r", "proportional", budget="rows:1600", lr=1.0, warmup=0.1, engine="eager")
    top = seen.index(max(seen))
    assert seen[0] < 0.2
    assert 0.05 < top / len(seen) < 0.2
    assert seen[top:] == sorted(seen[top:], reverse=True)
    assert seen[-1] < 0.1


@pytest.mark.parametrize("name", ["multi", "diw", "alphavil", "joint"])
def test_stopped_anywhere_and_resumed_the_budget_is_the_same(tmp_path, name):
    method = TRAINED.get(name, ("alphavil", {**QUARTER, "merge": "joint"}))
    fields = {"budget": "kept-rounds:3", "checkpoint_every": 5, "engine": "eager"}
    whole = trained(tmp_path / "whole", *method, **fields)
    for step in (3, 7, 9):
        with interrupted_at(step):
            trained(tmp_path / "cut", *method, **fields)
    cut = trained(tmp_path / "cut", *method, **fields)
    assert_same_run(tmp_path / "whole", tmp_path / "cut")
    assert cut.summary["exposure"] == whole.summary["exposure"]


def test_joint_steps_instead_of_deltas_count_what_they_keep(tmp_path):
    """Branches are taken back, and the joint steps see their rows again: as many as a round of deltas keeps."""
    run = trained(tmp_path / "r", "alphavil", {**QUARTER, "merge": "joint"}, budget="kept-rounds:4")
    joint, place = Counter(), 0
    lines = [line for line in run.lines() if line["kind"] in ("step", "round")]
    for number, line in enumerate(lines):
        if line["kind"] == "round":
            place = number + 1 + max(line["steps"].values())
            joint += sum((rows_of(run, own) for own in lines[number + 1 : place]), Counter())
    assert place == len(lines)
    assert run.summary["exposure"]["rows"] == {
        task: sum(n for (own, _), n in joint.items() if own == task) for task in SIZES
    }
    assert all(n == 1 for n in joint.values())  # four quarters are a pass
    assert joint.total() == sum(SIZES.values())


def test_a_round_of_the_single_task_is_a_round_of_the_others(tmp_path):
    """With the same fraction and the same kept rounds."""
    few = {"budget": "kept-rounds:2", "eval_every": 1}
    single = trained(tmp_path / "single", "singletask", QUARTER, **few)
    multi = trained(tmp_path / "multi", "multitask", QUARTER, **few)
    assert single.summary["exposure"]["rows"]["left"] == multi.summary["exposure"]["rows"]["left"] == 7 * 16
    assert len(single.lines("eval")) == len(multi.lines("eval")) == 3


def test_passes_of_a_target_need_one(tmp_path):
    with pytest.raises(RotaError, match=r"budget='passes-of-target:2'\) expects one target. Found none"):
        trained(tmp_path / "r", "uniform", budget="passes-of-target:2", target=None)


def test_steps_beside_a_budget_are_refused(rota_main, tmp_path):
    code, _, said = rota_main("train", "--tasks", "digits", "--budget", "rows:900", "--steps", 3, "--out", tmp_path)
    assert code == 2
    assert "expected steps or a budget. Found steps 3 and budget rows:900" in said
    code, _, said = rota_main("train", "--tasks", "digits", "--budget", "rows", "--out", tmp_path)
    assert code == 2
    assert "--budget" in said or "'budget' expects updates, or one of rows" in said
