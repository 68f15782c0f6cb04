"""Which runs belong together, what they are called, which tasks they have."""

from __future__ import annotations

from functools import partial

import pytest
from log_tools import write_run

from rota.analysis import group_runs, method_of, run_names, tasks_of
from rota.runlog import RUN, Run, write_json


@pytest.fixture
def make_run(tmp_path):
    return partial(write_run, tmp_path)


def test_runs_that_differ_in_their_seed_only_are_one_group(make_run):
    runs = [make_run("a", seed=0), make_run("b", seed=1, device="cuda"), make_run("c", method="exp3s")]
    assert [(group.name, len(group.runs)) for group in group_runs(runs)] == [("uniform", 2), ("exp3s", 1)]


def test_runs_of_a_method_with_different_settings_are_not_averaged(make_run):
    runs = [make_run("a", "exp3s", options={"eta": 0.1}), make_run("b", "exp3s", options={"eta": 0.2})]
    assert [group.name for group in group_runs(runs)] == ["exp3s (eta 0.1)", "exp3s (eta 0.2)"]


def test_runs_of_equal_name_are_told_apart_by_the_folder_above(make_run):
    assert run_names([make_run("x/a"), make_run("y/a"), make_run("y/b")]) == ["x/a", "y/a", "b"]


def test_tasks_are_the_union_and_those_that_count_come_first(make_run):
    runs = [make_run("a", tasks={"noise": True, "left": False}), make_run("b", tasks={"other": False})]
    assert list(tasks_of(runs).items()) == [("left", False), ("other", False), ("noise", True)]


def mixed(run, policy="Fixed", **mixture):
    write_json(run.folder / RUN, {**run.info, "stream": "Mix", "policy": policy, "mixture": mixture})
    return Run(run.folder)


def test_fixed_mixtures_of_loops_are_told_apart_and_plain_ones_have_their_names(make_run):
    shares = [(0.5, 0.5), (0.9, 0.1), (0.8, 0.2), (0.8, 0.2)]
    tasks = {"left": False, "right": False}
    runs = [
        mixed(make_run(str(seed), "fixed", seed, tasks=tasks), left=left, right=right)
        for seed, (left, right) in enumerate(shares)
    ]
    groups = group_runs([*runs, mixed(make_run("b", "exp3s", tasks=tasks), "Exp3S", left=0.5, right=0.5)])
    assert [(group.name, len(group.runs)) for group in groups] == [
        ("uniform", 1),
        ("fixed #1", 1),
        ("fixed #2", 2),
        ("exp3s", 1),
    ]
    sizes = {task: {"rows": {"train": rows}} for task, rows in (("left", 90), ("right", 10))}
    write_json(runs[1].folder / RUN, {**runs[1].info, "tasks": sizes})
    assert method_of(Run(runs[1].folder)) == "proportional"
