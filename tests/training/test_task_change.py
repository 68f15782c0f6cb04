"""Tasks that come and go while a run is under way."""

import functools
import json
import math
import shutil

import pytest
import safetensors.torch
from fit_tools import QUICK, Crash, crash_at, make_model, make_tasks, train
from run_tools import assert_same_run, checkpoints

import rota
from rota.errors import RotaError
from rota.models import MultiTaskModel, SmallConv
from rota.offpolicy import as_log
from rota.plans import make_plan
from rota.policies import Exp3S, Fixed, Hold, Thompson, Tracking, uniform
from rota.runlog import Run
from rota.runs import plan_of_checkpoint, run_plan, with_other_tasks
from rota.streams import JointStream, MTUncertainty, PoolStream
from rota.training import Checkpoints, fit
from rota.training._checkpointer import Checkpointer

POLICIES = {
    "uniform": uniform,
    "exp3s": lambda names: Exp3S(names, reservoir=20),
    "thompson": lambda names: Hold(Thompson(names), steps=4),
    "tracking": Tracking,
}
FOUR, CHANGE = ("mood", "follows", "where", "roles"), {"add": ["howmany", "who"], "drop": ["mood"]}


def some(*names):
    return [task for task in make_tasks() if task.name in names]


def change(folder, make=uniform, resume=True, cut=None, **options):
    """Go on without `b`, and with `aux`, which comes; die at step `cut` if asked."""
    go = train if cut is None else lambda *a, **k: crash_at(cut, *a, **k)
    tasks = some("a", "aux")
    return go(folder, make(["a", "aux"]), resume=resume, tasks=tasks, takes_over=make(["a", "b"]), **options)


def begin(folder, make=uniform, at=20, **options):
    crash_at(at, folder, make(["a", "b"]), tasks=some("a", "b"), **options)


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("cut", [20, 23, 24, 37])  # before and behind the checkpoints after the change
def test_resumed_is_never_stopped_around_a_change(tmp_path, name, cut):
    make = POLICIES[name]
    begin(tmp_path / "whole", make)
    shutil.copytree(tmp_path / "whole", tmp_path / "cut")
    run = change(tmp_path / "whole", make)
    change(tmp_path / "cut", make, cut=cut)
    train(tmp_path / "cut", make(["a", "aux"]), tasks=some("a", "aux"), resume=True)
    assert_same_run(tmp_path / "whole", tmp_path / "cut")
    (line,) = run.task_changes
    assert (line["step"], line["added"], line["dropped"], line["rows"]) == (20, ["aux"], ["b"], {"aux": 21})
    assert {own["task"] for own in run.lines("step") if own["step"] < 20} == {"a", "b"}
    assert {own["task"] for own in run.lines("step") if own["step"] >= 20} == {"a", "aux"}
    assert sum(run.summary["updates"].values()) == 40
    assert set(run.summary["best"]["dev"]["tasks"]) == {"a", "aux"}
    assert run.summary["best"]["step"] >= 20  # averages over other tasks cannot be compared


def test_six_texts_of_which_one_leaves_and_two_come(tmp_path):
    fields = {"tasks": ["toytext"], "only": FOUR, "method": "exp3s", "device": "cpu", "seed": 5}
    plan = make_plan({**fields, "steps": 300, "batch_size": 8, "eval_every": 50, "checkpoint_every": 50})
    die_behind(150, plan, tmp_path / "whole")
    other = with_other_tasks(plan_of_checkpoint(tmp_path / "whole"), tmp_path / "whole", **CHANGE)
    shutil.copytree(tmp_path / "whole", tmp_path / "cut")
    run = run_plan(other, tmp_path / "whole", resume=True, takes_over=plan, progress=False)
    die_behind(250, other, tmp_path / "cut", resume=True, takes_over=plan)
    run_plan(plan_of_checkpoint(tmp_path / "cut"), tmp_path / "cut", resume=True, progress=False)
    assert_same_run(tmp_path / "whole", tmp_path / "cut")
    for line in run.lines("eval", "tasks"):
        assert sum(line["mixture"].values()) == pytest.approx(1, abs=1e-12)
    for task in ("mood", *other.only):
        _check_propensities(run, task)
    assert [run.info["tasks"][task].get("came") for task in ("howmany", "who", "where")] == [150, 150, None]
    assert run.info["tasks"]["mood"]["left"] == 150
    assert set(as_log(run.folder).tasks) == set(other.only)  # estimates count the decisions since


def _check_propensities(run, task):
    """Horvitz–Thompson: turns over their probabilities sum to the steps in which there was such a task."""
    own = run.info["tasks"][task]
    present = own.get("left", run.plan["steps"]) - own.get("came", 0)
    inverse = [1 / line["probability"] for line in run.lines("step") if line["task"] == task]
    deviation = math.sqrt(sum(weight**2 - weight for weight in inverse))
    assert abs(sum(inverse) - present) < 4 * deviation


def die_behind(step, plan, folder, **options):
    """Do what a plan says, and die behind the checkpoint of a step."""
    save = Checkpointer.save

    def saved(self, done):
        save(self, done)
        if done == step:
            raise Crash

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpointer, "save", saved)
        with pytest.raises(Crash):
            run_plan(plan, folder, progress=False, **options)


def test_what_stays_keeps_its_weights_and_its_moments(tmp_path):
    begin(tmp_path / "r", at=22)
    before = Checkpoints(tmp_path / "r", Run(tmp_path / "r").started["id"]).load()
    change(tmp_path / "r", cut=20)
    after = Checkpoints(tmp_path / "r", Run(tmp_path / "r").started["id"]).load()
    assert after[0]["step"] == before[0]["step"] == 20
    fresh = make_model(some("a", "aux")).state_dict()
    for name, tensor in after[1]["model"].items():
        assert tensor.equal(before[1]["model"][name] if name in before[1]["model"] else fresh[name]), name
    assert {name.split(".")[1] for name in after[1]["model"] if name.startswith("heads")} == {"a", "aux"}
    moments = [
        {
            f"{state['engine']['parameters'][int(key.split('.')[0])]} {key.split('.')[1]}": own
            for key, own in tensors["optimizer"].items()
        }
        for state, tensors in (before, after)
    ]
    assert moments[1].keys() == {name for name in moments[0] if "heads.b" not in name}
    assert all(own.equal(moments[0][name]) for name, own in moments[1].items())


def test_who_dies_before_the_checkpoint_of_the_change_has_not_changed(tmp_path):
    begin(tmp_path / "r")
    shutil.copytree(tmp_path / "r", tmp_path / "whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoints, "save", lambda *_: (_ for _ in ()).throw(Crash))
        with pytest.raises(Crash):
            change(tmp_path / "r")
    assert Run(tmp_path / "r").task_changes  # the log has it, and is cut back behind the checkpoint
    train(tmp_path / "r", uniform(["a", "b"]), tasks=some("a", "b"), resume=True)
    train(tmp_path / "whole", uniform(["a", "b"]), tasks=some("a", "b"), resume=True)
    assert_same_run(tmp_path / "whole", tmp_path / "r")


def test_back_to_a_checkpoint_before_the_change(tmp_path):
    begin(tmp_path / "r")
    shutil.copytree(tmp_path / "r", tmp_path / "whole")
    change(tmp_path / "r", cut=25)
    older = checkpoints(tmp_path / "r")[0]
    assert older == "step-00000020"
    change(tmp_path / "r", cut=27, resume=older)  # it is the one of the change: nothing is changed again
    assert len(Run(tmp_path / "r").task_changes) == 1


def test_an_old_checkpoint_that_was_being_replaced_is_found_again(tmp_path):
    begin(tmp_path / "r")
    shutil.copytree(tmp_path / "r", tmp_path / "whole")
    folder = tmp_path / "r" / "checkpoints"
    (folder / "step-00000020").rename(folder / "tmp-old-step-00000020")
    for name in ("r", "whole"):
        change(tmp_path / name)
    assert_same_run(tmp_path / "whole", tmp_path / "r")


def test_a_task_comes_back(tmp_path):
    begin(tmp_path / "r")
    change(tmp_path / "r", cut=30)
    tasks, both = some("a", "aux", "b"), uniform(["a", "aux"])
    run = train(tmp_path / "r", uniform(["a", "aux", "b"]), tasks=tasks, resume=True, takes_over=both)
    assert [(line["step"], line["added"], line["dropped"]) for line in run.task_changes] == [
        (20, ["aux"], ["b"]),
        (28, ["b"], []),
    ]
    own = run.info["tasks"]
    assert ("left" in own["b"], own["b"]["came"], own["aux"]["came"]) == (False, 28, 20)


def test_joint_steps_have_the_tasks_that_there_are(tmp_path):
    begin(tmp_path / "r", stream=JointStream)
    run = change(tmp_path / "r", stream=JointStream)
    assert [set(line["tasks"]) for line in run.lines("step")] == [{"a", "b"}] * 20 + [{"a", "aux"}] * 20


def test_new_weights_of_a_fixed_mixture(tmp_path):
    begin(tmp_path / "r", lambda names: Fixed({"a": 1, "b": 1}))
    tasks, policy = some("a", "aux"), Fixed({"a": 3, "aux": 1})
    run = train(tmp_path / "r", policy, tasks=tasks, resume=True, takes_over=Fixed({"a": 1, "b": 1}))
    assert {line["probability"] for line in run.lines("step")[20:]} == {0.75, 0.25}


def test_refused_changes(tmp_path):
    with pytest.raises(RotaError, match="expects resume=True beside it"):
        train(tmp_path / "new", takes_over=uniform(["a"]))
    begin(tmp_path / "r", at=2)
    with pytest.raises(RotaError, match="Found none yet"):
        change(tmp_path / "r")
    train(tmp_path / "r", uniform(["a", "b"]), tasks=some("a", "b"), resume=True)
    with pytest.raises(RotaError, match="which is finished"):
        change(tmp_path / "r")
    begin(tmp_path / "s")
    with pytest.raises(RotaError, match="Do one at a time"):
        change(tmp_path / "s", elastic=True)
    with pytest.raises(RotaError, match="the policy that the run had, over a, b"):
        train(tmp_path / "s", uniform(["a"]), tasks=some("a"), resume=True, takes_over=uniform(["a"]))
    with pytest.raises(RotaError, match=r"lr \(was 0\.01, now 0\.5\)"):
        change(tmp_path / "s", settings=QUICK.model_copy(update={"lr": 0.5}))
    with pytest.raises(RotaError, match="takes_over"):  # says how
        train(tmp_path / "s", uniform(["a", "aux"]), tasks=some("a", "aux"), resume=True)
    with pytest.raises(RotaError, match="parameters of the same shape"):
        fit(
            MultiTaskModel(SmallConv(4, width=4), some("a", "aux")),
            some("a", "aux"),
            uniform(["a", "aux"]),
            tmp_path / "s",
            QUICK,
            resume=True,
            takes_over=uniform(["a", "b"]),
            progress=False,
        )
    state = tmp_path / "s" / "checkpoints" / "step-00000020" / "state.json"
    assert "parameters" in json.loads(state.read_text())["engine"]
    pool = functools.partial(PoolStream, select=MTUncertainty(), candidates=12, every=3)
    begin(tmp_path / "pool", stream=pool)
    with pytest.raises(RotaError, match="expects the tasks that it began with"):
        change(tmp_path / "pool", stream=pool)


def test_damaged_changes_are_named(tmp_path):
    begin(tmp_path / "r")
    change(tmp_path / "r")
    log = tmp_path / "r" / "log.jsonl"
    log.write_text(log.read_text().replace('"parameters":', '"parameterz":', 1))
    with pytest.raises(RotaError, match=r"'run\.parameters' is missing"):
        _ = Run(tmp_path / "r").info


def test_what_is_kept_can_be_loaded(tmp_path):
    begin(tmp_path / "r")
    run = change(tmp_path / "r")
    best = tmp_path / "r" / "best" / f"step-{run.summary['best']['step']:08d}" / "model.safetensors"
    kept, model = safetensors.torch.load_file(best), MultiTaskModel(SmallConv(4, width=8), some("a", "aux"))
    model.load_state_dict(kept)
    assert {name.split(".")[1] for name in kept if name.startswith("heads")} == {"a", "aux"}
    found = rota.evaluate(model, some("a", "aux"))
    assert found["average"] == pytest.approx(run.summary["best"]["dev"]["average"])
