"""`--dry-run`: what would be trained and what it would cost, and nothing is left of asking."""

from __future__ import annotations

import json
import tempfile
import time
from dataclasses import replace

import pytest
from run_tools import assert_same_run

from rota.cli._dry_run import together
from rota.errors import RotaError
from rota.methods import METHODS
from rota.plans import make_plan
from rota.runs import forecast, run_plan
from rota.runs._stopwatch import Lap, usual

SMALL = {"tasks": ["left", "right"], "rows": {"left": 90, "right": 40}, "steps": 40, "batch_size": 8}
FLAGS = ["--tasks", "left,right", "--rows", "left=90,right=40", "--steps", 40, "--batch-size", 8]
HEADLESS = {"active@released": {"scope": "all"}}  # heads for pictures have no dropout
GUESSED = {"educated-guess": {"auxiliaries": ["right"]}}
TRAIN_FIRST = {
    "autosem",
    "autosem@paper",
    "educated-guess",
    "counterfactual",
    "counterfactual@paper",
    "counterfactual@bandit",
}


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """A place for temporary files of its own."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


def test_a_dry_run_tells_everything_and_makes_nothing(rota_main, tmp_path, temporary, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = rota_main("train", *FLAGS, "--method", "exp3s", "--option", "eta=0.5", "--dry-run")
    assert code == 0
    assert err == "exp3s: reading left, right, and timing some updates of a copy\n"
    for part in (
        "exp3s, seed 0: 40 updates",
        "exp3s: Exp3S with TaskStream",
        "eta=0.5, epsilon=0.05",
        "40 of 8 rows; 130 rows in a pass",
        "adamw, rate 0.005",
        "% of the cost",
        "parameters",
        "for parameters, gradients and optimizer",
        "runs/exp3s-0, not made",
        "Nothing was trained.",
    ):
        assert part in out
    rows = {line.split()[0]: line.split() for line in out.splitlines() if line.startswith((" left", " right"))}
    assert rows["left"][-6:] == ["90", "500", "1,000", "8", "50%", "1.8"]  # 20 updates of 8 rows
    assert rows["right"][-6:] == ["40", "500", "1,000", "8", "50%", "4.0"]
    assert sorted(tmp_path.iterdir()) == [temporary]
    assert not list(temporary.glob("rota-*"))


def test_a_forecast_is_what_the_run_is(tmp_path):
    plan = make_plan({**SMALL, "steps": 200, "eval_every": 50, "method": "uniform"})
    found = forecast(plan)
    run = run_plan(plan, tmp_path / "r", progress=False)
    info = json.loads((tmp_path / "r" / "run.json").read_text())
    assert found.plan.model_dump(mode="json") == info["plan"]
    assert vars(found.evaluation) == info["evaluation"]
    assert {name: task.rows for name, task in found.tasks.items()} == {n: t["rows"] for n, t in info["tasks"].items()}
    assert {name: task.share for name, task in found.tasks.items()} == info["mixture"]
    assert (found.parameters, found.policy, found.stream, found.device) == (
        *(info[name] for name in ("parameters", "policy", "stream", "device")),
    )
    updates = {name: task.passes * task.rows["train"] / task.batch for name, task in found.tasks.items()}
    assert sum(updates.values()) == pytest.approx(sum(run.summary["updates"].values()))
    size = sum(path.stat().st_size for path in (tmp_path / "r").rglob("*") if path.is_file())
    assert found.folder_bytes == pytest.approx(size, rel=0.15)
    last = sorted((tmp_path / "r" / "checkpoints").iterdir())[-1]
    assert found.checkpoint_bytes == pytest.approx(sum(path.stat().st_size for path in last.iterdir()), rel=0.15)
    assert found.memory_bytes == 4 * 4 * found.parameters  # weights, gradients, two moments
    assert found.seconds > 200 * found.update_seconds + 5 * found.evaluation_seconds > 0


def test_asking_before_changes_nothing_of_the_run(tmp_path):
    plan = make_plan({**SMALL, "method": "exp3s"})
    run_plan(plan, tmp_path / "one", progress=False)
    forecast(plan)
    run_plan(plan, tmp_path / "two", progress=False)
    assert_same_run(tmp_path / "one", tmp_path / "two")


def test_states_of_the_optimizer_and_joint_steps_are_counted():
    sgd = forecast(make_plan({**SMALL, "optimizer": "sgd", "momentum": 0.0, "method": "uniform"}))
    assert sgd.memory_bytes == 2 * 4 * sgd.parameters
    own = forecast(make_plan({**SMALL, "optimizer_per_task": True, "method": "uniform"}))
    assert own.memory_bytes == 6 * 4 * own.parameters  # two moments for each of two tasks
    joint = forecast(make_plan({**SMALL, "method": "joint", "options": {"weights": {"left": 1, "right": 3}}}))
    assert joint.tasks["left"].passes == 40 * 8 / 90  # a batch of every task in every step


@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_a_forecast(method, temporary, tmp_path):
    options = {"weights": {"left": 1, "right": 2}} if method in ("fixed", "cycle", "joint") else {}
    if method == "steered":
        (tmp_path / "mixture.json").write_text('{"left": 1, "right": 2}')
        options = {"file": str(tmp_path / "mixture.json")}
    target = {"target": "left"} if "target" in METHODS[method].needs else {}
    options |= HEADLESS.get(method, {}) | GUESSED.get(method, {})
    plan = make_plan({**SMALL, **target, "method": method, "options": options})
    found = forecast(plan)
    assert 0 < found.alone_seconds <= found.seconds
    assert bool(found.before) == (method in TRAIN_FIRST)
    assert not list(temporary.glob("rota-*"))


def test_what_is_trained_first_is_counted():
    options = {"rounds": 30, "round": 5, "trials": 4, "seeds": 2, "trial_steps": 20}
    found = forecast(make_plan({**SMALL, "target": "left", "method": "autosem", "options": options}))
    (first, bandit), (second, trial) = found.before
    assert (first.name, first.runs, bandit.plan.method, bandit.plan.steps) == ("select", 1, "thompson", 150)
    assert (second.name, second.runs, trial.plan.method, trial.plan.steps) == ("search", 8, "cycle", 20)
    assert found.plan.method == "autosem"
    assert found.total_bytes == found.folder_bytes + bandit.folder_bytes + 8 * trial.folder_bytes
    assert found.total_seconds > found.seconds + bandit.seconds + 8 * trial.seconds
    learned = forecast(make_plan({**SMALL, "method": "counterfactual", "options": {"rounds": 3}}))
    assert [stage.name for stage, _ in learned.before] == ["log", "round-1", "round-2"]
    grid = forecast(make_plan({**SMALL, "method": "counterfactual@paper", "options": {"entropies": [0.1, 1]}}))
    assert [stage.name for stage, _ in grid.before] == ["log", "round-1-entropy-0.1", "round-1-entropy-1"]


def test_a_method_that_does_not_say_what_it_trains_first_is_refused(monkeypatch):
    monkeypatch.setitem(METHODS, "autosem", replace(METHODS["autosem"], outlook=None))
    with pytest.raises(RotaError, match=r"or says what\. Found 'autosem'"):
        forecast(make_plan({**SMALL, "target": "left", "method": "autosem"}))


def test_a_burst_of_work_of_somebody_else_is_not_counted():
    laps = [Lap(0.1, 0.1)] * 15 + [Lap(3.0, 0.1)] * 5
    assert usual(laps).now == pytest.approx(0.1)
    assert usual(laps).alone == pytest.approx(0.1)
    assert usual([Lap(1.0, 0.5)]) == Lap(1.0, 0.5)


def test_wrong_dry_runs(rota_main, tmp_path, monkeypatch):
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "mine").write_text("")
    code, _, err = rota_main("train", *FLAGS, "--dry-run", "--out", tmp_path / "r")
    assert code == 2
    assert "which is not empty" in err
    assert rota_main("train", *FLAGS, "-q", "--out", tmp_path / "s")[0] == 0
    assert "--dry-run expects a new run" in rota_main("train", "--resume", tmp_path / "s", "--dry-run")[2]
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert "A forecast expects one process" in rota_main("train", *FLAGS, "--dry-run", "--out", tmp_path / "t")[2]


def test_a_comparison_tells_what_is_missing_of_it(rota_main, tmp_path, temporary):
    flags = ["--methods", "exp3s,counterfactual", "--without", "proportional,union,temperature", "--seeds", "0,1"]
    code, out, _ = rota_main("compare", *flags, *FLAGS, "--jobs", 2, "--dry-run", "--out", tmp_path / "c")
    assert code == 0
    lines = {line.split()[0]: line.split() for line in out.splitlines() if line.strip()}
    assert lines["uniform"][:4] == ["uniform", "uniform", "2", "40"]
    assert lines["counterfactual"][1:4] == ["counterfactual", "2", "40"]
    assert "counterfactual, first log: 1 run of uniform, 40 updates, about " in out
    assert "6 runs, 2 at a time: about " in out
    assert not (tmp_path / "c").exists()
    plan = make_plan({**SMALL, "method": "exp3s", "seed": 1})
    run_plan(plan, tmp_path / "c" / "exp3s-1", progress=False)
    out = rota_main("compare", *flags, *FLAGS, "--dry-run", "--out", tmp_path / "c")[1]
    assert "5 runs, 1 at a time: about " in out


def test_runs_side_by_side_share_the_cores(monkeypatch):
    own = forecast(make_plan({**SMALL, "method": "uniform"}))
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    assert together([6.0, 6.0, 6.0, 6.0], [replace(own, threads=1)] * 4, jobs=3) == 8.0
    assert together([6.0, 6.0, 6.0, 6.0], [replace(own, threads=2)] * 4, jobs=3) == 12.0
    assert together([9.0, 1.0, 1.0], [replace(own, threads=1)] * 3, jobs=3) == 9.0
    assert together([6.0, 6.0], [replace(own, device="cuda")] * 2, jobs=2) == 12.0
    assert together([], [], jobs=2) == 0.0


@pytest.mark.parametrize(
    ("verb", "said"),
    [
        (["select", "--target", "left", "--rounds", 8], "thompson: Hold|updates 80 of 8 rows"),
        (["search", "--target", "left", "--trials", 6, "--seeds-per-ratio", 2], "one ratio cycle 12 40|12 runs, 1 at"),
        (
            ["autosem", "--target", "left", "--seeds", "0,1", "--trials", 3, "--rounds", 8],
            "autosem autosem 2 40|random ratio random-ratio 2|target alone singletask 2|"
            "autosem, first search: 3 runs of cycle, 40 updates|6 runs, 1 at a time",
        ),
    ],
)
def test_every_verb_that_trains_can_be_asked_before(verb, said, rota_main, tmp_path, temporary, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flags = FLAGS if verb[0] != "select" else [flag for flag in FLAGS if flag not in ("--steps", 40)]
    code, out, err = rota_main(*verb, *flags, "--dry-run")
    assert code == 0, err
    told = " ".join(out.split())
    for part in said.split("|"):
        assert part in told
    assert sorted(tmp_path.iterdir()) == [temporary]


def test_the_demo_and_a_new_task_can_be_asked_before(rota_main, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, _ = rota_main("demo", "--methods", "uniform", "--seeds", 3, "--steps", 20, "--dry-run")
    assert code == 0
    assert "6 runs, 1 at a time: about " in out  # and uniform without the noise
    assert not (tmp_path / "runs").exists()
    assert rota_main("train", "--tasks", "left", "--rows", "left=40", "--steps", 2, "-q", "--out", "r")[0] == 0
    code, out, _ = rota_main("adapt", "r", "--task", "right", "--fractions", "0.1,1", "--least", 10, "--dry-run")
    assert code == 0
    names = {line.split()[0] for line in out.splitlines() if "uniform" in line}
    assert {"adapted-0.1", "fresh-0.1", "adapted-1", "fresh-1"} <= names
    assert "4 runs, 1 at a time: about " in out
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
def test_the_time_is_right_within_a_factor_of_two(tmp_path):
    """The best of three: whoever else uses the machine may disturb one of them."""
    ratios = []
    for trial in range(3):
        plan = make_plan({"tasks": ["digits"], "steps": 600})
        expected = forecast(plan).seconds
        began = time.perf_counter()
        run_plan(plan, tmp_path / str(trial), progress=False)
        ratios.append((time.perf_counter() - began) / expected)
    assert any(0.5 < ratio < 2 for ratio in ratios), ratios
