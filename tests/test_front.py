"""The front door: what `rota.<tab>` shows, what an error says, what is needed to install it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rota
from rota.cli._flags import in_flags
from rota.errors import MissingPackageError, RotaError, resuming
from rota.methods import METHODS
from rota.plans import Plan, make_plan
from rota.settings import Settings
from rota.tasks import KINDS

SOURCE = Path(rota.__file__).parent


def test_a_tab_shows_what_people_type_daily():
    shown = set(dir(rota))
    assert shown == {*rota.__all__, "__version__"}
    assert {"fit", "evaluate", "Task", "Settings", "Choice", "Feedback", "RotaError", *KINDS} <= shown
    policies = set(rota.policies.__all__) - {"Stateful"}
    assert policies <= shown
    assert not shown & {"Any", "TYPE_CHECKING", "annotations", "import_module"}
    for name in rota.__all__:
        assert getattr(rota, name) is not None


def test_import_rota_is_enough_for_what_the_pages_name():
    code = "import rota; rota.integrations.hf.Mixing, rota.inference.Trained, rota.offpolicy.best_mixture"
    subprocess.run([sys.executable, "-c", code], check=True)
    for package, name in (("rota", "no_such_part"), ("rota", "_files"), ("rota.integrations", "no_such_host")):
        with pytest.raises(AttributeError, match=f"module '{package}' has no attribute '{name}'"):
            getattr(sys.modules.get(package) or rota.integrations, name)


def test_a_wrong_setting_is_one_sentence():
    with pytest.raises(
        RotaError, match=r"^Settings: 1 wrong field: unknown field 'step' \(did you mean 'steps'\?\)\.$"
    ):
        Settings(step=3)
    with pytest.raises(RotaError, match=r"^Plan: 2 wrong fields: .*'lr' expects.*'tasks' expects"):
        Plan(lr=-1, tasks=7)
    with pytest.raises(RotaError, match=r"^plan\.yaml: 1 wrong field: 'lr' expects"):
        make_plan({"lr": -1}, "plan.yaml")
    assert Settings(steps=3).model_copy(update={"lr": 0.1}).lr == 0.1


def test_a_number_is_no_generator():
    with pytest.raises(RotaError, match=r"Exp3S\.choose expects a step and a generator.*Found 0 for the generator"):
        rota.Exp3S(["a", "b"]).choose(0, 0)
    assert rota.Exp3S(["a", "b"]).choose(0, np.random.default_rng(0)).step == 0


def test_importing_the_command_line_does_not_run_it():
    done = subprocess.run([sys.executable, "-c", "import rota.__main__"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_plan_and_the_command_line_mean_the_same_method(rota_main, monkeypatch):
    planned = []

    def plan_only(plan, folder, **_):
        planned.append((plan.method, str(folder)))
        raise KeyboardInterrupt

    monkeypatch.setattr("rota.runs.run_plan", plan_only, raising=False)
    rota_main("train")
    rota_main("train", "--target", "left")
    assert planned == [("auto", "runs/auto-0"), ("uniform", "runs/uniform-0")]
    assert make_plan({}).method == "auto"
    assert make_plan({"target": "left"}).method == "uniform"
    assert make_plan({"target": "left", "method": "auto"}).method == "auto"


# The library speaks Python, the command line flags.


@pytest.mark.parametrize("name", Plan.model_fields)
def test_every_field_has_a_flag(name, rota_main):
    flag = in_flags(f"Change Plan({name}=…) or Settings({name}='x y').")
    dashed = "--" + name.replace("_", "-")
    assert flag == f"Change {dashed} or {dashed} x y."
    told = "--option" if name == "options" else dashed
    assert told in rota_main("train", "--help-all")[1]


def test_a_run_is_gone_on_with_in_both_languages():
    assert in_flags(f"Continue with {resuming('a b')}.") == "Continue with `rota train --resume a b`."
    assert in_flags(resuming("r", "step-1")) == "`rota train --resume r --checkpoint step-1`"
    assert in_flags("Leave Settings(clip_each=True) out.") == "Leave --clip-each out."


def strings(path):
    """All strings of a module but docstrings."""
    tree = ast.parse(path.read_text())
    documents = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    loose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents | loose:
            yield node.value


def test_the_library_says_nothing_in_flags():
    # The report is read by people who use the command line; workers read what it was given as --on.
    speaks = {"cli", "report", "analysis", "workers"}
    wrong = []
    for path in SOURCE.rglob("*.py"):
        if path.relative_to(SOURCE).parts[0] in speaks:
            continue
        wrong += [f"{path.name}: {text}" for text in strings(path) if re.search(r"(^|[\s`(])--[a-z]", text)]
    others = ("pip install --no-deps", "torchrun --nproc-per-node", "accelerate launch --")  # programs of others
    assert [line for line in wrong if not any(program in line for program in others)] == []


# Install


WITHOUT = """
import sys, importlib.abc

class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {missing}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
"""
HEAVY = {
    *(
        "torch",
        "accelerate",
        "safetensors",
        "filelock",
        "sklearn",
        "scipy",
        "plotly",
        "jinja2",
        "typer",
        "rich",
        "yaml",
    ),
    *("transformers", "datasets", "pyarrow", "optuna", "cmaes"),
}


def python_without(missing, code):
    program = WITHOUT.format(missing=set(missing)) + code
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)


def test_the_ground_floor_needs_numpy_and_pydantic_alone():
    code = """
import numpy as np, rota, rota.simulation, rota.offpolicy, rota.curves, rota.schedules, rota.methods, rota.sources
from rota.testing import check_policy
tasks = ["a", "b", "c"]
sizes = dict(zip(tasks, (3, 2, 1)))
for make in (rota.uniform, rota.Auto, rota.AutoDev, rota.Exp3S, rota.Thompson, rota.Tracking,
             lambda t: rota.Tempered(sizes), lambda t: rota.Cycle(sizes), lambda t: rota.Union(sizes),
             lambda t: rota.Fixed(sizes), lambda t: rota.proportional(sizes),
             lambda t: rota.Hold(rota.Exp3S(t), 3), lambda t: rota.WithFloor(rota.Exp3S(t), 0.1),
             lambda t: rota.WithEnds(rota.Exp3S(t), {"a": 9})):
    check_policy(lambda names, make=make: make(names), tasks, updates=300)
bandit = rota.simulation.MTLBandit(arms=4, steps=200, seed=0)
assert rota.simulation.play(bandit, rota.Exp3S(bandit.tasks), seed=0).final > 0
log = ["a", "b"] * 50, [0.5] * 100, [0.6, 0.4] * 50
assert rota.offpolicy.value(log, {"a": 0.7, "b": 0.3}).value > 0.5
assert rota.offpolicy.best_mixture(log, 0.2, optimiser="softmax").mixture["a"] > 0.5
assert rota.offpolicy.best_mixture(log, steps=200).mixture.keys() == {"a", "b"}
assert rota.Settings(steps=3).steps == 3
assert len(rota.methods.METHODS) >= 25
print("works")
"""
    done = python_without(HEAVY, code)
    assert done.stdout == "works\n", done.stderr


@pytest.mark.parametrize(
    ("missing", "code", "sentence"),
    [
        (
            "torch",
            "import rota; rota.fit",
            "`rota.fit` needs the package torch. Install it: pip install 'rota[train]'.",
        ),
        ("torch", "import rota; rota.Task", "`rota.Task` needs the package torch."),
        (
            "transformers",
            "import rota; rota.integrations.hf",
            "`rota.integrations.hf` needs the package transformers. Install it: pip install 'rota[hosts]'.",
        ),
        ("torch", "import rota; rota.models", "`rota.models` needs the package torch."),
        ("cmaes", "import rota.offpolicy as o; o.best_mixture((['a', 'b'], [.5, .5], [1, 0]), 0.1)", "rota[search]"),
        ("jinja2", "import rota.report as r; r.refuse_without_packages()", "The report needs the package jinja2."),
    ],
)
def test_what_is_missing_is_said(missing, code, sentence):
    done = python_without({missing}, code)
    assert MissingPackageError.__name__ in done.stderr
    assert sentence in done.stderr


@pytest.mark.parametrize(
    ("missing", "arguments", "sentence"),
    [
        ("typer", ["train"], "rota: The command line needs the package typer. Install it: pip install 'rota[cli]'.\n"),
        ("torch", ["train"], "rota: `rota train` needs the package torch. Install it: pip install 'rota[train]'.\n"),
        (
            "optuna",
            ["autosem", "--target", "left", "--out", "runs/a"],
            "rota: A search for ratios needs the package optuna. Install it: pip install 'rota[search]'.\n",
        ),
        (
            "scipy",
            ["compare", "--methods", "exp3s"],
            "rota: A table with intervals needs the package scipy. Install it: pip install 'rota[report]'.\n",
        ),
    ],
)
def test_the_command_line_says_what_is_missing_before_anything_is_trained(missing, arguments, sentence, tmp_path):
    code = f"import os; os.chdir({str(tmp_path)!r}); sys.argv = ['rota', *{arguments!r}]\n"
    done = python_without({missing}, code + "from rota.__main__ import main; main()")
    assert done.stderr.splitlines(keepends=True)[-1] == sentence
    assert done.returncode == 2
    assert not list(tmp_path.rglob("log.jsonl"))


def test_a_comparison_without_plotly_has_tables_and_no_page(tmp_path):
    flags = ["compare", "--methods", "exp3s", "--tasks", "digits", "--without", "union,proportional,temperature"]
    flags += ["--steps", "4", "--seeds", "0,1", "--device", "cpu", "--out", "c"]
    code = f"import os; os.chdir({str(tmp_path)!r}); sys.argv = ['rota', *{flags!r}]\n"
    done = python_without({"plotly"}, code + "from rota.__main__ import main; main()")
    assert done.returncode == 0, done.stderr
    assert "There will be tables and no page, which needs plotly. Later, elsewhere: rota report c" in done.stderr
    assert "By task, percent" in done.stdout
    assert not (tmp_path / "c" / "report.html").exists()


def test_every_method_can_be_named_without_torch():
    done = python_without(
        {"torch"}, "from rota.methods import METHODS\nfor m in METHODS.values(): m.options\nprint(len(METHODS))"
    )
    assert done.stdout.strip() == str(len(METHODS)), done.stderr
