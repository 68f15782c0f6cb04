"""Every verb does what its help says."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
import yaml
from rich.console import Console
from run_tools import assert_same_run, rota

import rota as rota_package
from rota.cli._simulate import _rules, _table
from rota.methods import METHODS
from rota.plans import Plan
from rota.runlog import Run
from rota.simulation import AS_PRINTED, COUNTERFACTUAL, ENTROPIES, RULES, Study
from rota.sources import Survey

TINY = ["--steps", 6, "--eval-every", 3, "--rows", "left=40,right=40", "--tasks", "left,right"]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_trains(rota_main, tmp_path, method):
    flags = ["--option", "weights=left=1,right=2"] if method in ("fixed", "cycle", "joint") else []
    if method == "steered":
        (tmp_path / "mixture.json").write_text('{"left": 1, "right": 2}')
        flags = ["--option", f"file={tmp_path / 'mixture.json'}"]
    flags += ["--target", "left"] if "target" in METHODS[method].needs else []
    flags += ["--option", "trials=2", "--option", "rounds=3"] if method == "autosem" else []
    flags += ["--option", "trials=2", "--option", "auxiliaries=right"] if method == "educated-guess" else []
    flags += ["--option", "round=3"] if method == "thompson" else []
    flags += ["--option", "scope=all"] if method == "active@released" else []  # heads for pictures have no dropout
    flags += ["--option", "rounds=1"] if method == "counterfactual@bandit" else []  # six steps say nothing twice
    code, out, err = rota_main("train", *TINY, "--method", method, *flags, "--out", tmp_path / "r")
    assert code == 0, err
    assert "average" in out
    assert "rota report" in out
    run = Run(tmp_path / "r")
    assert run.plan["method"] == method
    updates = sum(run.summary["updates"].values())
    stream = run.info["stream"]
    if stream in ("MixedStream", "PoolStream"):
        assert 6 <= updates <= 12  # a batch has rows of one task, or of both
    else:
        # Two branches of two steps and a joint try of two, with a batch of both tasks: diw's one round.
        assert updates == {"diw": 8}.get(method, 12 if stream == "JointStream" else 6)


def test_flags_win_over_the_file(rota_main, tmp_path):
    file = tmp_path / "plan.yaml"
    fields = {
        "tasks": ["left", "right"],
        "method": "exp3s",
        "options": {"eta": 0.5},
        "steps": 6,
        "seed": 3,
        "clip": None,
    }
    file.write_text(yaml.safe_dump(fields))
    flags = ["--seed", 4, "--option", "epsilon=0.2", "--rows", "left=40,right=40", "-q"]
    assert rota_main("train", file, *flags, "--out", tmp_path / "r")[0] == 0
    plan = Run(tmp_path / "r").plan
    assert (plan["seed"], plan["steps"], plan["clip"]) == (4, 6, None)
    assert plan["options"] == {"eta": 0.5, "epsilon": 0.2}  # options win one by one


def test_the_plan_of_a_run_is_a_file_that_repeats_it(rota_main, tmp_path):
    assert (
        rota_main("train", *TINY, "--method", "exp3s", "--option", "eta=0.1", "-q", "--out", tmp_path / "one")[0] == 0
    )
    file = tmp_path / "plan.yaml"
    file.write_text(yaml.safe_dump(Run(tmp_path / "one").plan))
    assert rota_main("train", file, "-q", "--out", tmp_path / "two")[0] == 0
    assert_same_run(tmp_path / "one", tmp_path / "two")


def test_the_default_folder_says_method_and_seed(rota_main, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert rota_main("train", *TINY, "--seed", 7, "-q")[0] == 0
    assert (tmp_path / "runs" / "auto-7" / "summary.json").is_file()


def test_progress_shows_step_speed_score_and_mixture(rota_main, tmp_path):
    _, _, err = rota_main("train", *TINY, "--out", tmp_path / "r")
    last = err.splitlines()[-1]
    for part in ("step 6/6", "steps/s", "average", "left 50%", "right 50%"):
        assert part in last


def test_progress_of_a_run_that_picks_shows_what_was_picked(rota_main, tmp_path):
    _, _, err = rota_main("train", *TINY, "--method", "mt-uncertainty", "--out", tmp_path / "r")
    told = [line.rpartition(" · ")[2] for line in err.splitlines() if " step " in line]
    pools = [line["tasks"] for line in Run(tmp_path / "r").lines("pool")]
    assert len(pools) == 6
    for shown, own in ((told[1], pools[:3]), (told[2], pools[3:])):
        picked = {task: sum(pool[task]["picked"] for pool in own) for task in ("left", "right")}
        shares = " ".join(f"{task} {rows / sum(picked.values()):.0%}" for task, rows in picked.items())
        assert shown == f"picked {shares}"


def test_every_setting_has_a_flag_with_its_description(rota_main):
    code, out, _ = rota_main("train", "--help-all")
    assert code == 0
    for name in Plan.model_fields:
        assert f"--{'option' if name == 'options' else name.replace('_', '-')}" in out


def test_toytext_trains_every_kind_of_task(rota_main, tmp_path):
    flags = ["--tasks", "toytext", "--steps", 12, "--eval-every", 6, "-q", "--num-workers", 0]
    assert rota_main("train", *flags, "--method", "cycle", *_weights(), "--out", tmp_path / "r")[0] == 0
    dev = Run(tmp_path / "r").summary["best"]["dev"]["tasks"]
    assert set(dev) == {"mood", "follows", "howmany", "where", "roles", "who"}
    assert all(task["loss"] > 0 for task in dev.values())


def _weights():
    return ["--option", "weights=mood=1,follows=1,howmany=1,where=1,roles=1,who=1"]


def test_demo_compares_methods_writes_a_page_and_goes_on_where_it_stopped(rota_main, tmp_path):
    flags = ["--methods", "uniform,union", "--seeds", 2, "--steps", 6, "--out", tmp_path / "demo"]
    code, out, _ = rota_main("demo", *flags)
    assert code == 0
    page = tmp_path / "demo" / "report.html"
    assert str(page) in out
    assert "uniform" in page.read_text()
    assert "auto" not in out  # of what was not trained nothing is expected
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "demo").rglob("summary.json")}
    assert len(times) == 6  # two methods, and uniform without the noise
    assert rota_main("demo", *flags)[0] == 0
    assert {path: path.stat().st_mtime_ns for path in times} == times
    assert rota_main("demo", *flags[:-3], 9, *flags[-2:])[0] == 2  # other steps: another experiment


def test_demo_says_whether_what_was_expected_came_true(rota_main, tmp_path):
    flags = ["--methods", "uniform,proportional,auto", "--seeds", 2, "--steps", 6, "--out", tmp_path / "demo"]
    code, out, errors = rota_main("demo", *flags)
    assert code == 0, errors
    for sentence in (
        "sampling by size starves",
        "auto is above sampling by size",
        "auto is within 3 points of uniform",
    ):
        assert sentence in out
    assert "the root of the sizes" not in out  # temperature was not trained
    results = json.loads((tmp_path / "demo" / "results.json").read_text())
    assert results["seeds"] == [30, 31]
    assert len(results["scores"]["auto"]["average"]) == 2
    assert [row["verdict"] for row in results["expected"]]


def test_active_training_with_surveys_and_its_report(rota_main, tmp_path):
    flags = ("--method", "active", "--option", "every=5", "--option", "score=bald", "--option", "rows=20")
    code, out, error = rota_main("train", *TINY, *flags, "--out", tmp_path / "r")
    assert code == 0, error
    assert "Measuring what the policy hears took" in out
    info = json.loads((tmp_path / "r" / "run.json").read_text())
    assert info["listen"] == [Survey("bald", every=5, rows=20).describe()]
    assert rota_main("report", tmp_path / "r")[0] == 0
    page = (tmp_path / "r" / "report.html").read_text()
    assert "Convergence" in page
    assert "unsure" in page


def test_report_of_one_run(rota_main, tmp_path):
    assert rota_main("train", *TINY, "-q", "--out", tmp_path / "r")[0] == 0
    code, out, _ = rota_main("report", tmp_path / "r", "-o", tmp_path / "page.html")
    assert code == 0
    assert "1 run in" in out
    assert "left" in (tmp_path / "page.html").read_text()


def test_methods_and_tasks_are_listed(rota_main):
    _, out, _ = rota_main("methods")
    assert all(name in out for name in METHODS)
    _, out, _ = rota_main("methods", "exp3s")
    for part in ("eta", "0.001", "number > 0", "Step size η of the weights.", "rho | pi"):
        assert part in out
    assert rota_main("methods", "exp3")[2].startswith("rota: Unknown method 'exp3'. Did you mean 'exp3s'?")
    _, out, _ = rota_main("tasks")
    for part in ("left", "noise", "(auxiliary)", "1,200", "multiple choice (3 choices)", "answer span"):
        assert part in out


def test_simulate_prints_the_oracle_next_to_the_methods_and_draws_them(rota_main, tmp_path):
    page = tmp_path / "pages" / "s.html"
    flags = ("--steps", 300, "--environments", 2, "--seeds", 2, "--first", 5)
    code, out, error = rota_main("simulate", *flags, "-o", page)
    assert code == 0, error
    for part in ("uniform", "exp3s", "counterfactual", "best static", "oracle", "2 environments × 2 seeds", "auto"):
        assert part in out
    drawn = page.read_text()
    for part in ("environment 5:", "environment 6:", "medians over seeds"):
        assert part in drawn
    code, again, _ = rota_main("simulate", *flags, "--jobs", 1, "-o", tmp_path / "t.html")
    assert again.replace("t.html", "pages/s.html") == out
    assert (tmp_path / "t.html").read_text() == drawn


def test_simulate_is_whole_on_a_terminal_of_80_columns():
    """Twenty environments, all methods with long names; every weight of the entropy has its row."""
    rng = np.random.default_rng(0)
    names = ["uniform", "exp3s@paper", COUNTERFACTUAL, AS_PRINTED, "best static", "oracle"]
    studies = [
        Study(
            np.array([0.0, 10.0]),
            {name: rng.uniform(0.4, 0.9, (10, 2)) for name in names},
            {rule: rng.uniform(0.4, 0.9, (2, 10)) for rule in RULES},
        )
        for _ in range(20)
    ]
    console = Console(width=80, force_terminal=True, color_system=None, record=True, file=io.StringIO())
    console.print(_table(studies, "many"))
    console.print(_rules(studies))
    lines = console.export_text().splitlines()
    assert max(len(line.rstrip()) for line in lines) <= 80
    assert not any("…" in line for line in lines)
    for name in names:
        assert any(line.split()[:1] == [name.split()[0]] for line in lines), name
    first = [line.split()[0] for line in lines if line.split()[1:2] == ["1"]]
    assert first == ["auto", *map(str, ENTROPIES)]


def test_gains_are_differences_and_shares_of_the_oracles():
    """By hand: uniform 0.5, oracle 0.7, and a policy with 0.6 has half of the oracle's gain."""
    finals = {"uniform": 0.5, "mine": 0.6, "best static": 0.75, "oracle": 0.7}
    studies = [Study(np.array([0.0]), {name: np.full((2, 1), value) for name, value in finals.items()})]
    console = Console(width=80, color_system=None, record=True, file=io.StringIO())
    console.print(_table(studies, "by hand"))
    rows = {line.split()[0]: line.split()[1:] for line in console.export_text().splitlines() if line.split()}
    assert rows["mine"] == ["0.600", "0.000", "+0.100", "-0.100", "50", "40", "1/1"]
    assert rows["uniform"] == ["0.500", "0.000", "–", "-0.200", "–", "–", "–"]
    assert rows["oracle"] == ["0.700", "0.000", "+0.200", "–", "100", "80", "1/1"]


def test_simulate_draws_the_printed_policy_beside_ours(rota_main, tmp_path):
    flags = ("--steps", 300, "--environments", 1, "--seeds", 2, "-o", tmp_path / "s.html")
    code, out, error = rota_main("simulate", "--methods", f"uniform,{COUNTERFACTUAL},{AS_PRINTED}", *flags)
    assert code == 0, error
    assert AS_PRINTED in out
    drawn = (tmp_path / "s.html").read_text()
    assert f"{COUNTERFACTUAL} 0." in drawn
    assert f"{AS_PRINTED} 0." in drawn
    alone = rota_main("simulate", "--methods", f"uniform,{AS_PRINTED}", *flags)[1]
    assert "λ" not in alone  # the table of rules belongs to ours
    assert [line.split() for line in alone.splitlines() if line.strip().startswith(AS_PRINTED)] == [
        line.split() for line in out.splitlines() if line.strip().startswith(AS_PRINTED)
    ]


def test_simulate_without_logs_and_with_noise(rota_main, tmp_path):
    flags = ("--steps", 200, "--environments", 1, "--seeds", 1, "--noise", 0.1, "-o", tmp_path / "s.html")
    code, out, error = rota_main("simulate", "--methods", "uniform,exp3s", *flags)
    assert code == 0, error
    assert "noise 0.1" in out
    assert "counterfactual" not in out


def test_the_version_is_shown(rota_main):
    assert rota_main("--version")[:2] == (0, f"rota {rota_package.__version__}\n")


def test_python_dash_m_and_no_arguments_show_help():
    done = rota()
    assert "What should a model that learns many tasks train on next?" in done.stdout + done.stderr
