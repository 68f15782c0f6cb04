"""AutoSeM: which tasks, in which ratio, and the training with it."""

from __future__ import annotations

import json
import subprocess
import time

import numpy as np
import pytest
import torch
from optuna import TrialPruned
from run_tools import command, rota

from rota.errors import RotaError
from rota.methods import METHODS, InnerRuns, RunContext, find_ratio, ratio_found
from rota.methods._ratio import RatioTrainings
from rota.plans import make_plan, tasks_alike
from rota.runlog import LOG, PLAN, SEARCH, Run, best_trial, find_runs
from rota.runs import run_plan
from rota.search import FLOOR, Beliefs, select_from
from rota.tasks import Classification, MultipleChoice, Regression, Task, TensorRows

FIELDS = {
    "tasks": ["left", "right", "larger", "noise"],
    "rows": {"left": 60, "right": 60, "larger": 60, "noise": 60},
    "target": "left",
    "steps": 20,
    "eval_every": 10,
    "eval_rows": 40,
    "threads": 1,
}
SMALL = {"rounds": 12, "round": 2, "trials": 4}


class KilledError(BaseException):
    """Not an `Exception`: like a kill, nobody catches it."""


def plan_of(method="autosem", **options):
    own = {name: value for name, value in {**SMALL, **options}.items() if value is not None}
    return make_plan({**FIELDS, "method": method, "options": own})


def autosem(folder, resume=False, **options):
    return run_plan(plan_of(**options), folder, resume=resume, progress=False)


def searched(folder):
    return json.loads((folder / "runs" / "search" / SEARCH).read_text())


def test_it_chooses_tasks_finds_their_ratio_and_trains_with_it(tmp_path):
    run = autosem(tmp_path / "a")
    stage_1 = Run(tmp_path / "a" / "runs" / "select")
    chosen = select_from(stage_1).chosen
    assert stage_1.plan["steps"] == 24
    assert stage_1.plan["options"]["floor"] == FLOOR
    assert chosen[0] == "left"
    assert len(chosen) >= 3
    found = json.loads((tmp_path / "a" / "runs" / "search" / "search.json").read_text())
    assert found["tasks"] == chosen
    assert len(found["tried"]) == 4
    best = best_trial(tmp_path / "a" / "runs" / "search")
    assert best["value"] == max(trial["value"] for trial in found["tried"] if trial["state"] == "done")
    training = Run(tmp_path / "a" / "runs" / "search" / "runs" / best["runs"][0])
    assert training.summary["best"]["dev"]["average"] == best["value"]
    # What is left out is not even evaluated, and the training has a seed by which no ratio was chosen.
    ratio = ratio_found(run)
    assert ratio == best["ratio"]
    assert list(run.info["tasks"]) == [task for task in FIELDS["tasks"] if ratio.get(task)]
    assert run.info["mixture"] == pytest.approx(
        {task: count / sum(ratio.values()) for task, count in ratio.items() if count}
    )
    assert training.plan["seed"] == run.plan["seed"] + 1
    assert run.summary["cost"]["runs"] == 2 + len({name for trial in found["tried"] for name in trial["runs"]})
    assert [found.folder.name for found in find_runs([tmp_path])] == ["a"]


def test_without_a_stage(tmp_path):
    run = autosem(tmp_path / "a", select=False, sampler="grid")
    assert not (tmp_path / "a" / "runs" / "select").exists()
    found = json.loads((tmp_path / "a" / "runs" / "search" / "search.json").read_text())
    assert found["tasks"] == FIELDS["tasks"]
    assert all(trial["acquisition"] is None for trial in found["tried"])
    assert len(ratio_found(run)) == 4


def test_nobody_is_chosen_and_the_target_is_trained_alone(tmp_path):
    run = autosem(tmp_path / "a", top=0, above=1.0)
    assert run.summary["updates"] == {"left": 20}
    assert ratio_found(run) == {"left": 1}


def test_as_printed_both_stages_look_at_the_accuracy_of_two_runs_with_the_ratio_itself(tmp_path):
    fields = {**FIELDS, "per_task": {"left": {"metrics": ["log_loss", "macro_f1"]}, "noise": {"loss_weight": 0.5}}}
    plan = make_plan({**fields, "method": "autosem@paper", "options": {**SMALL, "initial": 2}})
    run = run_plan(plan, tmp_path / "a", progress=False)
    stage_1, found = Run(tmp_path / "a" / "runs" / "select"), searched(tmp_path / "a")
    assert stage_1.plan["options"] == {
        **{"round": 2, "decay": 0.3, "prior": [1.0, 1.0], "primary_prior": [1.0, 1.0], "reward": "ge", "floor": 0.0}
    }
    selection = json.loads((stage_1.folder / "selection.json").read_text())
    assert selection["rule"] == {"top": 2, "above": 0.5, "utility": "last"}
    assert selection["chosen"] == select_from(stage_1, utility="last").chosen == found["tasks"]
    assert found["space"] == "raw"
    trained = [Run(tmp_path / "a" / "runs" / "search" / "runs" / name) for name in found["tried"][0]["runs"]]
    assert [one.plan["seed"] for one in trained] == [1, 2]
    for inner in (stage_1, *trained):
        assert inner.plan["per_task"]["left"]["metrics"] == ["accuracy"]
        assert inner.plan["per_task"]["noise"]["loss_weight"] == 0.5
        left = inner.summary["best"]["dev"]["tasks"]["left"]
        assert left["score"] == left["metrics"]["accuracy"]
    for trial in found["tried"]:
        assert len(trial["values"]) == 2
        assert trial["value"] == pytest.approx(sum(trial["values"]) / 2)
        assert trial["state"] == "done"  # none is stopped early
    assert [trial["acquisition"] is None for trial in found["tried"]] == [True, True, False, False]
    assert run.summary["best"]["dev"]["tasks"]["left"]["metrics"].keys() == {"log_loss", "macro_f1"}


def test_patience_ends_trainings_but_not_the_rounds_of_the_first_stage(tmp_path):
    plan = make_plan({**FIELDS, "lr": 1e-9, "patience": 1, "steps": 60, "method": "autosem", "options": SMALL})
    run = run_plan(plan, tmp_path / "a", progress=False)
    assert Run(tmp_path / "a" / "runs" / "select").summary["steps"] == 24
    assert run.summary["steps"] < 60
    assert all(trial["steps"] < 60 for trial in searched(tmp_path / "a")["tried"])


def test_auxiliaries_that_a_person_names_skip_the_first_stage(tmp_path):
    options = {"auxiliaries": "larger,right", "trials": 3}
    run = run_plan(
        make_plan({**FIELDS, "method": "educated-guess", "options": options}), tmp_path / "a", progress=False
    )
    assert not (tmp_path / "a" / "runs" / "select").exists()
    assert searched(tmp_path / "a")["tasks"] == ["left", "larger", "right"]
    assert len(searched(tmp_path / "a")["tried"]) == 3
    assert run.summary["updates"].keys() == {task for task, count in ratio_found(run).items() if count}


@pytest.mark.parametrize(
    ("auxiliaries", "said"),
    [
        ("rihgt", "Unknown auxiliary task 'rihgt'. Did you mean 'right'"),
        ("right,left", "expects different auxiliaries, without the target 'left'. Found right, left"),
        ("right,right", "expects different auxiliaries"),
        ("", "'auxiliaries' expects"),
        (None, "'auxiliaries' is missing"),
    ],
)
def test_wrong_guesses_are_one_sentence(tmp_path, auxiliaries, said):
    options = {} if auxiliaries is None else {"auxiliaries": auxiliaries}
    with pytest.raises(RotaError, match=said):
        run_plan(make_plan({**FIELDS, "method": "educated-guess", "options": options}), tmp_path / "a", progress=False)


@pytest.mark.parametrize(
    ("at", "options"),
    [
        (1, {}),
        (3, {}),
        (1, {"method": "autosem@paper", "trials": 3, "initial": 2}),
        (5, {"method": "autosem@paper", "trials": 3, "initial": 2}),
        (2, {"method": "educated-guess", "auxiliaries": "right", "rounds": None, "round": None}),
    ],
)
def test_stopped_anywhere_it_goes_on_as_if_it_had_not_been(tmp_path, monkeypatch, at, options):
    whole = autosem(tmp_path / "whole", **options)
    train, calls = InnerRuns.train, []

    def unreliable(self, *arguments, **changes):
        calls.append(arguments)
        if len(calls) == at:
            raise KilledError
        return train(self, *arguments, **changes)

    monkeypatch.setattr(InnerRuns, "train", unreliable)
    with pytest.raises(KilledError):
        autosem(tmp_path / "cut", **options)
    again = autosem(tmp_path / "cut", resume=True, **options)
    assert (again.folder / LOG).read_bytes() == (whole.folder / LOG).read_bytes()
    assert ratio_found(again) == ratio_found(whole)
    assert again.summary["best"] == whole.summary["best"]
    assert again.summary["cost"]["updates"] == whole.summary["cost"]["updates"]


def test_a_hopeless_training_ends_early_and_says_so(tmp_path):
    def report(step, score):
        heard.append(step)
        if step >= 10:
            raise TrialPruned

    heard: list[int] = []
    inner = InnerRuns(run_plan, make_plan(FIELDS), tmp_path / "s", progress=False, outer=False)
    train = RatioTrainings(inner)
    for _ in range(2):  # and so again, if somebody was killed before the search knew it
        with pytest.raises(TrialPruned):
            train({"left": 1, "noise": 2}, 0, report)
    assert heard == [10, 10]
    run = Run(tmp_path / "s" / "runs" / "1-2-seed-0")
    assert run.finished
    assert run.summary["stopped"] == "pruned"
    assert run.summary["steps"] == 10
    # The search may think otherwise by now, but half a training has no score.
    with pytest.raises(TrialPruned):
        train({"left": 1, "noise": 2}, 0, lambda step, score: None)


def test_a_storage_that_fails_does_not_end_a_training(tmp_path):
    def report(step, score):
        raise OSError("no storage")

    train = RatioTrainings(InnerRuns(run_plan, make_plan(FIELDS), tmp_path / "s", progress=False, outer=False))
    with pytest.raises(OSError, match="no storage"):
        train({"left": 1, "noise": 2}, 0, report)
    run = Run(tmp_path / "s" / "runs" / "1-2-seed-0")
    assert not run.finished
    train({"left": 1, "noise": 2}, 0, lambda step, score: None)
    assert run.summary["steps"] == FIELDS["steps"]


def test_a_search_shows_its_best_trainings(tmp_path):
    inner = InnerRuns(run_plan, make_plan(FIELDS), tmp_path / "s", progress=False, outer=False)
    found = find_ratio(inner, ["left", "larger"], 3, changes={}, seeds_per_point=2, pruning=False)
    assert found.best is not None
    best = "-".join(str(count) for count in found.best.ratio.values())
    assert [run.folder.name for run in find_runs([tmp_path])] == [f"{best}-seed-0", f"{best}-seed-1"]
    other = InnerRuns(run_plan, make_plan({**FIELDS, "steps": 30}), tmp_path / "s", progress=False, outer=False)
    with pytest.raises(RotaError, match="is another search: steps 20 there, 30 here"):
        find_ratio(other, ["left", "larger"], 4, changes={}, seeds_per_point=2)
    # Another machine may have its data elsewhere, and another number of threads.
    same = InnerRuns(
        run_plan, make_plan({**FIELDS, "threads": 2, "data": "."}), tmp_path / "s", progress=False, outer=False
    )
    assert find_ratio(same, ["left", "larger"], 3, changes={}, seeds_per_point=2).ratio == found.ratio


def test_a_run_that_searches_first_of_all_can_go_on(tmp_path):
    inner = InnerRuns(run_plan, make_plan(FIELDS), tmp_path / "r", progress=False)
    inner.inside("stage-2")  # here it may be killed
    assert json.loads((tmp_path / "r" / PLAN).read_text())["steps"] == FIELDS["steps"]


def test_the_best_trial_is_found_while_others_are_at_work(tmp_path):
    rest = {"runs": [], "value": None, "values": [], "state": "complete"}
    tried = [{"number": 0, "ratio": {"left": 1}, **rest}, {"number": 2, "ratio": {"left": 2}, **rest}]
    (tmp_path / SEARCH).write_text(json.dumps({"tried": tried, "best": 2}))
    assert best_trial(tmp_path) == tried[1]


def test_seeds_share_a_storage(tmp_path):
    for seed in (0, 1):
        fields = {**FIELDS, "seed": seed, "method": "autosem"}
        options = {**SMALL, "select": False, "trials": 2, "storage": f"sqlite:///{tmp_path / 'ratios.db'}"}
        run = run_plan(make_plan({**fields, "options": options}), tmp_path / str(seed), progress=False)
        assert len(ratio_found(run)) == 4


def rows(types=None):
    inputs = {"tokens": torch.ones(8, 4)} | ({} if types is None else {"types": torch.tensor([[0, 0, 1, types]] * 8)})
    return {"train": TensorRows(inputs, torch.zeros(8, dtype=torch.int64))}


def test_candidates_are_tasks_of_the_same_kind():
    pair, other_pair = Task("pair", Classification(2), rows(1)), Task("other pair", Classification(3), rows(1))
    single = Task("single", Classification(2), {"train": TensorRows({"types": torch.zeros(8, 4)}, torch.zeros(8))})
    score, choice = Task("score", Regression(), rows(1)), Task("choice", MultipleChoice(2), rows(1))
    tasks = [pair, other_pair, single, score, choice]
    assert tasks_alike(tasks, "pair") == ["pair", "other pair"]
    assert tasks_alike(tasks, "single") == ["pair", "other pair", "single"]
    assert tasks_alike(tasks, "score") == [task.name for task in tasks]


def test_without_a_run_there_is_nobody_to_train():
    with pytest.raises(RotaError, match="expects a target"):
        METHODS["autosem"].make({}, RunContext({"a": 1}, {"a": 1}, 10, 0))
    with pytest.raises(RotaError, match="Found a policy alone"):
        METHODS["autosem"].make({"candidates": "all"}, RunContext({"a": 1, "b": 1}, {"a": 1, "b": 1}, 10, 0, "a"))


def test_beliefs_of_a_run_are_what_its_policy_heard(tmp_path):
    fields = {**FIELDS, "method": "thompson", "options": {"round": 2}, "steps": 40}
    run = run_plan(make_plan(fields), tmp_path / "t", progress=False)
    beliefs = Beliefs.of(run)
    context = RunContext(dict.fromkeys(FIELDS["tasks"], 1), {}, 40, 0, "left")
    policy = METHODS["thompson"].make({"round": 2}, context).policy
    state = json.loads(next((tmp_path / "t" / "checkpoints").glob("step-*40/state.json")).read_text())
    policy.load_state_dict(state["policy"])
    assert list(beliefs.successes.values()) == pytest.approx(policy.policy.successes)
    assert list(beliefs.failures.values()) == pytest.approx(policy.policy.failures)
    assert np.isfinite(beliefs.history).all()


@pytest.mark.slow
def test_killed_three_times_it_reaches_the_same_table(tmp_path):
    flags = ("autosem", "--target", "left", "--seeds", "0,1", "--trials", 6, "--rounds", 60, "--steps", 200)
    whole = rota(*flags, "--out", tmp_path / "x", cwd=tmp_path)
    assert whole.returncode == 0
    (tmp_path / "x").rename(tmp_path / "whole")
    first, second = tmp_path / "x" / "autosem-0" / "runs", tmp_path / "x" / "autosem-1" / "runs"
    for place, pattern, count in (
        (first, "select/checkpoints/*", 2),
        (first, "search/runs/*/summary.json", 3),
        (second, "search/runs/*/checkpoints/*", 2),
    ):
        process = subprocess.Popen(command(*flags, "--out", tmp_path / "x"), stderr=subprocess.DEVNULL)
        while len(list(place.glob(pattern))) < count:
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
        process.wait()
    assert rota(*flags, "--out", tmp_path / "x", cwd=tmp_path).stdout == whole.stdout
