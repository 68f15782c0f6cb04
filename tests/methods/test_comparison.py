"""What a comparison is made of: variants, grids, plain baselines, full size, equal cost, several processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from rota.analysis import read_claims
from rota.cli._claims import check_claims
from rota.comparisons import BASELINES, Comparison, equal_cost, make_comparison, run_comparison
from rota.comparisons._cells import is_finished
from rota.data import SUITES
from rota.errors import RotaError
from rota.plans import Plan
from rota.workers import Labour
from rota.workers._processes import work_through

EXPERIMENTS = sorted((Path(__file__).parents[2] / "experiments").glob("*.yaml"))
LIMITED = {"000-figure-3", "000-table-2"}
"""Experiments whose paper limits the rows of tasks."""
TINY = {"tasks": ["digits"], "steps": 6, "eval_every": 3, "eval_rows": 20}


def comparison(content, **fields) -> Comparison:
    return make_comparison({"common": TINY, **content}, fields)


def test_plain_baselines_are_part_of_it_unless_switched_off_by_name():
    assert comparison({"methods": ["exp3s"]}).variants == [*BASELINES, "exp3s"]
    assert comparison({"methods": ["exp3s"], "without": ["union", "uniform"]}).variants == [
        *("proportional", "temperature", "exp3s")
    ]
    assert comparison({"methods": ["union", "exp3s"]}).variants == [
        "uniform",
        "proportional",
        "temperature",
        "union",
        "exp3s",
    ]
    with pytest.raises(RotaError, match="Unknown plain baseline to do without 'exp3s'"):
        comparison({"methods": ["exp3s"], "without": ["exp3s"]})


def test_the_baseline_is_uniform_or_the_first():
    assert comparison({"methods": ["exp3s"]}).baseline == "uniform"
    assert comparison({"methods": ["exp3s"], "without": list(BASELINES)}).baseline == "exp3s"
    assert comparison({"variants": {"mine": {}}, "without": ["proportional", "union", "temperature"]}).variants == [
        "mine"
    ]
    with pytest.raises(RotaError, match="Unknown variant as baseline 'nobody'"):
        comparison({"methods": ["exp3s"], "baseline": "nobody"})


def test_every_method_goes_with_every_model():
    found = comparison(
        {"methods": ["exp3s"], "models": ["auto", "camtl:encoders/small"], "without": ["union", "temperature"]}
    )
    assert found.variants == [
        *("uniform-auto", "proportional-auto", "uniform-camtl-small", "proportional-camtl-small"),
        *("exp3s-auto", "exp3s-camtl-small"),
    ]
    one = comparison({"methods": ["exp3s"], "models": ["lenet"], "without": list(BASELINES)})
    assert [(cell.variant, cell.plan.model) for cell in one.cells[:1]] == [("exp3s", "lenet")]


def test_tasks_are_trained_alone_with_their_share_of_the_updates():
    found = comparison({"methods": ["exp3s"], "singles": ["left", "right"], "without": list(BASELINES)}, steps=10)
    alone = {cell.variant: cell.plan for cell in found.cells if cell.seed == 0}["single-right"]
    assert (alone.method, alone.target, alone.steps) == ("singletask", "right", 5)


def test_tasks_trained_alone_are_the_single_task_form_of_a_variant():
    variants = {
        "plain": {"lr": 0.1, "method": "exp3s", "options": {"eta": 1}, "steps": 20},
        "other": {"model": "lenet"},
    }
    singles = {"tasks": ["left", "right"], "of": "plain", "fields": {"dropout": 0.5}}
    found = comparison({"variants": variants, "singles": singles, "without": list(BASELINES)})
    plans = {cell.variant: cell.plan for cell in found.cells if cell.seed == 0}
    alone = plans["single-right"]
    assert (alone.method, alone.options, alone.target, alone.steps) == ("singletask", {}, "right", 10)
    assert (alone.lr, alone.dropout, alone.model) == (0.1, 0.5, "auto")
    longer = {**singles, "fields": {"steps": 7}}
    found = comparison({"variants": variants, "singles": longer, "without": list(BASELINES)})
    assert found.cells[-1].plan.steps == 7
    with pytest.raises(RotaError, match=r"Unknown variant of the single tasks 'plian'\. Did you mean 'plain'"):
        comparison({"variants": variants, "singles": {**singles, "of": "plian"}, "without": list(BASELINES)})
    with pytest.raises(RotaError, match=r"unknown field 'singles\.off'"):
        comparison({"variants": variants, "singles": {"tasks": ["left"], "off": "plain"}})


def test_an_empty_mapping_at_full_size_empties():
    content = {"common": {**TINY, "rows": {"left": 40}}, "methods": ["exp3s"], "full": {"common": {"rows": {}}}}
    assert make_comparison(content, {}).cells[0].plan.rows == {"left": 40}
    assert make_comparison(content, {}, full=True).cells[0].plan.rows == {}


@pytest.mark.parametrize("file", EXPERIMENTS, ids=lambda path: path.stem)
def test_no_rows_are_left_out_at_the_full_size_of_a_paper(file):
    content = yaml.safe_load(file.read_text())
    if "commands" in content or not content.get("full") or not file.stem[0].isdigit() or file.stem in LIMITED:
        return
    plans = [cell.plan for cell in make_comparison(content, {}, full=True).cells]
    assert all(plan.rows == {} for plan in plans)


def test_a_variant_that_is_null_at_full_size_is_left_out():
    content = {"variants": {"a": {}, "b": {}}, "without": list(BASELINES), "full": {"variants": {"b": None, "c": {}}}}
    found = make_comparison({"common": TINY, **content}, {}, full=True)
    assert found.variants == ["a", "c"]
    with pytest.raises(RotaError, match=r"'variants\.b' expects"):
        make_comparison({"variants": {"a": {}, "b": None}}, {})


def test_full_size_is_laid_over_the_small_one():
    content = {
        "variants": {"a": {"options": {"x": 1}}},
        "full": {"common": {"steps": 9}, "seeds": [7], "variants": {"b": {}}},
    }
    found = make_comparison({"common": TINY, "without": list(BASELINES), **content}, {}, full=True)
    assert [(cell.variant, cell.seed, cell.plan.steps) for cell in found.cells] == [("a", 7, 9), ("b", 7, 9)]
    assert found.cells[0].plan.options == {"x": 1}
    with pytest.raises(RotaError, match="expected a section `full`"):
        make_comparison({"methods": ["exp3s"]}, {}, full=True)


def test_experiments_of_other_verbs_say_what_to_run():
    with pytest.raises(RotaError, match=r"other verbs than a comparison.*rota simulate"):
        make_comparison({"commands": ["rota simulate --seeds 1"]}, {}, source="figure.yaml")


@pytest.mark.parametrize("file", EXPERIMENTS, ids=lambda path: path.stem)
def test_every_experiment_can_be_run_small_and_in_full(file):
    content = yaml.safe_load(file.read_text())
    if "commands" in content:
        assert all(command.startswith("rota ") for command in content["commands"])
        return
    for full in (False, True) if "full" in content else (False,):
        found = make_comparison(content, {}, full=full)
        assert found.about
        assert len(found.cells) == len(found.variants) * len({cell.seed for cell in found.cells})
        for claim in read_claims(found.claims, file.name):
            assert set(claim.differ) <= set(Plan.model_fields)
        check_claims(found, file.name)


def full_plans(name):
    file = next(path for path in EXPERIMENTS if path.stem == name)
    found = make_comparison(yaml.safe_load(file.read_text()), {}, full=True)
    return {cell.variant: cell.plan for cell in found.cells}


@pytest.mark.parametrize("name", [path.stem for path in EXPERIMENTS if path.stem.startswith("002-")])
def test_the_full_size_of_ca_mtl_has_the_printed_settings(name):
    if name in ("002-table-3", "002-decisive"):  # other verbs; nothing of it is printed
        return
    for variant, plan in full_plans(name).items():
        assert (plan.lr, plan.weight_decay, plan.pooling, plan.warmup) == (2e-5, 0, "pooled", 0.1)
        assert plan.batch_size == (16 if name == "002-figure-4" else 32)
        assert plan.longest == (256 if name in ("002-figure-4", "002-table-4", "002-table-4-roberta") else 128)
        alone, conditional = variant.startswith("single-"), plan.model.startswith("camtl:")
        frozen = {"released": 5, "frozen-none": 0, "frozen-quarter": 6}.get(variant, "half")
        trained_whole = alone or (not conditional and name in ("002-figure-4", "002-table-2"))
        assert plan.freeze in (None, 0) if trained_whole else plan.freeze == frozen
        assert alone <= (not conditional)
        assert plan.model.removeprefix("camtl:").startswith(("bert-", "roberta-"))


def test_the_many_tasks_of_ca_mtl_are_those_printed_but_for_the_second_rte():
    plan = full_plans("002-table-4")["multi-task"]
    assert plan.tasks == ("camtl",)
    assert len(SUITES["camtl"].tasks) == 24 - 1
    assert {"wnli", "rte", "record", "wnut2017"} < set(SUITES["camtl"].tasks)
    sets = [plan.tasks for plan in full_plans("002-figure-7").values() if not plan.model.startswith("camtl:")]
    names = [[task for name in own for task in (SUITES[name].tasks if name in SUITES else [name])] for own in sets]
    assert sorted(map(len, names)) == [9, 9 + 6, 23 - 1]


def finished(events):
    return {event.cell.name: event.run for event in events if event.run is not None}


def scores(runs):
    return {name: run.summary["best"] for name, run in runs.items()}


def test_several_processes_give_the_same_numbers_and_keep_what_is_finished(tmp_path):
    plain = make_comparison(
        {"common": TINY, "methods": ["exp3s"], "without": ["union", "temperature"], "seeds": [0, 1]}, {}
    )
    alone = finished(run_comparison(plain, tmp_path / "one", jobs=1))
    together = list(run_comparison(plain, tmp_path / "two", jobs=2))
    assert scores(alone) == scores(finished(together))
    assert {event.kind for event in together} <= {"started", "waiting", "done"}
    logs = [(tmp_path / place / "exp3s-1" / "log.jsonl").read_bytes() for place in ("one", "two")]
    assert logs[0] == logs[1]
    assert [event.kind for event in run_comparison(plain, tmp_path / "two", jobs=2)] == ["kept"] * len(plain.cells)


def test_a_run_that_fails_is_named_and_the_others_go_on(tmp_path):
    broken = {"good": {}, "bad": {"options": {"nonsense": 1}}, "other": {"method": "union"}}
    content = {"common": TINY, "variants": broken, "seeds": [0], "without": list(BASELINES)}
    for jobs in (1, 2):
        events = [e for e in run_comparison(make_comparison(content, {}), tmp_path / str(jobs), jobs) if e.cell]
        assert sorted((e.cell.name, e.kind) for e in events if e.kind != "started") == [
            *(("bad-0", "failed"), ("good-0", "done"), ("other-0", "done"))
        ]
        assert "nonsense" in next(e.said for e in events if e.kind == "failed")


def test_another_plan_is_another_run(tmp_path):
    content = {"common": TINY, "variants": {"a": {}}, "seeds": [0], "without": list(BASELINES)}
    list(run_comparison(make_comparison(content, {}), tmp_path))
    cell = make_comparison(content, {}).cells[0]
    assert is_finished(cell.plan, cell.folder(tmp_path))
    longer = make_comparison(content, {"steps": 9})
    assert not is_finished(longer.cells[0].plan, cell.folder(tmp_path))
    events = list(run_comparison(longer, tmp_path))
    assert (events[-1].kind, "Changed: steps" in events[-1].said) == ("failed", True)


def test_at_equal_cost_a_dearer_method_gets_fewer_updates(tmp_path):
    content = {
        "common": {**TINY, "steps": 40},
        "methods": ["exp3s"],
        "seeds": [0],
        "without": ["proportional", "union", "temperature"],
    }
    found = equal_cost(make_comparison({**content, "budget": "forwards"}, {}), tmp_path)
    steps = {cell.variant: cell.plan.steps for cell in found.cells}
    assert steps == {"uniform": 40, "exp3s": 30}  # each of its steps has a forward pass more: 4 instead of 3
    runs = finished(run_comparison(found, tmp_path))
    costs = {name: run.summary["cost"]["forward_equivalents"] for name, run in runs.items()}
    assert costs["exp3s-0"] == costs["uniform-0"]


def die_or_square(item):
    if item == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    return f"{item}!" if item == "wrong" else None


def test_a_process_that_dies_takes_only_its_own_work_with_it():
    items = ["a", "die", "wrong", "b", "die", "c"]
    ended = [
        (item, said) for kind, item, said in work_through(items, Labour(die_or_square), 2) if kind in ("done", "died")
    ]
    assert sorted(item for item, _ in ended) == sorted(items)
    assert all("its process died" in said for item, said in ended if item == "die")
    assert [said for item, said in ended if item not in ("die", "wrong")] == [None] * 3


def test_what_is_compared_can_be_read_from_its_folder():
    told = json.loads(
        json.dumps(comparison({"methods": ["exp3s"], "seeds": [3], "without": ["union", "temperature"]}).described())
    )
    assert told["baseline"] == "uniform"
    assert told["variants"] == {"uniform": ["uniform-3"], "proportional": ["proportional-3"], "exp3s": ["exp3s-3"]}


def test_processes_do_not_outlive_a_parent_that_was_killed(tmp_path):
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from rota.workers import Labour\n"
        "from rota.workers._processes import work_through\n"
        "from sleeping import say_and_sleep\n"
        "if __name__ == '__main__':\n"
        "    list(work_through([sys.argv[1]], Labour(say_and_sleep), 1))\n"
    )
    (tmp_path / "sleeping.py").write_text(
        "import os, pathlib, time\n"
        "def say_and_sleep(folder):\n"
        "    pathlib.Path(folder, 'pid.tmp').write_text(str(os.getpid()))\n"
        "    os.replace(pathlib.Path(folder, 'pid.tmp'), pathlib.Path(folder, 'pid'))\n"
        "    time.sleep(600)\n"
    )
    (tmp_path / "program.py").write_text(program)
    parent = subprocess.Popen([sys.executable, tmp_path / "program.py", tmp_path])
    while not (tmp_path / "pid").is_file():
        assert parent.poll() is None
        time.sleep(0.02)
    child = int((tmp_path / "pid").read_text())
    parent.kill()
    parent.wait()
    while _lives(child):  # it sleeps for longer than any test may take
        time.sleep(0.05)


def _lives(pid):
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
