"""What was picked from pools and how much of the data that took: by hand, from logs that were written by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from page_tools import cells, figure

from rota.report import write_report
from rota.report._groups import group_runs
from rota.report._history import read_history
from rota.report._numbers import task_spread
from rota.report._palette import method_looks, task_looks
from rota.report._pools import POINTS, Used, data_used, first_peak, pools, read_course, smoothed
from rota.runlog import LOG, RUN, SCHEMA, SUMMARY, Ledger, LogWriter, Run, write_json

ROWS = {"cola": 10, "stsb": 4}


@pytest.fixture
def make_run(tmp_path):
    def make(name, lines=(), method="mt", seed=0, rows=ROWS, dev=None, auxiliary=(), steps=4):
        """A run with these lines; finished if it has dev scores."""
        folder = tmp_path / name
        folder.mkdir()
        tasks = {task: {"auxiliary": task in auxiliary, "rows": {"train": n}} for task, n in rows.items()}
        plan = {"method": method, "seed": seed, "steps": steps, "tasks": list(rows)}
        write_json(folder / RUN, {"schema": SCHEMA, "id": name, "plan": plan, "tasks": tasks})
        log = LogWriter(folder / LOG)
        for line in lines:
            log.write(line)
        log.close()
        if dev is not None:
            results = {task: {"loss": 1.0, "score": score, "metrics": {}, "n": 5} for task, score in dev.items()}
            counted = [dev[task] for task in dev if task not in auxiliary]
            average = None if None in counted else sum(counted) / len(counted)
            best = {"step": 4, "dev": {"average": average, "tasks": results}, "test": None}
            cost = Ledger(updates=4).as_dict()
            write_json(folder / SUMMARY, {"steps": 4, "best": best, "updates": {}, "cost": cost, "seconds": 1.0})
        return Run(folder)

    return make


def mixed(step, **ids):
    parts = {task: {"weight": 0.5, "loss": 1.0, "value": None, "n": len(own), "ids": own} for task, own in ids.items()}
    return {"kind": "step", "step": step, "task": None, "probability": None, "tasks": parts}


def single(step, task, ids):
    return {"kind": "step", "step": step, "task": task, "probability": 0.5, "loss": 1.0, "n": len(ids), "ids": ids}


def pool(step, candidates=4, **found):
    """Of each task how many were picked, and how uncertain its candidates were."""
    tasks = {
        task: {"candidates": candidates, "picked": picked, "uncertainty": unsure}
        for task, (picked, unsure) in found.items()
    }
    return {"kind": "pool", "step": step, "tasks": tasks}


def evaluation(step, **scores):
    tasks = {task: {"loss": 1.0, "score": score, "metrics": {}, "n": 5} for task, score in scores.items()}
    return {"kind": "eval", "step": step, "split": "dev", "average": None, "loss": None, "tasks": tasks, "mixture": {}}


# Four steps of four examples: 10 of 16 are of cola (rows 0, 1, 2, 3, 5), 6 of stsb (rows 0, 1, 2).
COURSE = (
    evaluation(0, cola=0.1, stsb=0.0),
    pool(0, cola=(2, 0.9), stsb=(2, None)),
    mixed(0, cola=[0, 1], stsb=[0, 1]),
    pool(1, cola=(4, 0.8), stsb=(0, None)),
    mixed(1, cola=[0, 1, 2, 3]),
    pool(2, cola=(2, 0.7), stsb=(2, 0.5)),
    mixed(2, cola=[3, 5], stsb=[2, 0]),
    pool(3, cola=(2, 0.6), stsb=(2, 0.4)),
    mixed(3, cola=[0, 5], stsb=[1, 0]),
    evaluation(4, cola=0.5, stsb=0.75),
)


def section_of(runs):
    groups = group_runs(runs)
    tasks = dict.fromkeys((task for run in runs for task in run.info["tasks"]), False)
    histories = {group.name: [read_history(run) for run in group.runs] for group in groups}
    return pools(groups, histories, method_looks(histories), task_looks(tasks))


def traces(html, name):
    """The lines of a figure by task; bands have no name."""
    return {trace["name"]: trace for trace in figure(html, name)[0] if "name" in trace}


def test_used_rows_are_counted_once_and_examples_each_time(make_run):
    used = data_used(make_run("a", COURSE))
    assert used == {"cola": Used(10, 10, 5, 16), "stsb": Used(4, 6, 3, 16)}
    total = sum(used.values(), Used())
    assert total == Used(14, 16, 8, 32)
    assert total.per_row(total.unique) == pytest.approx(8 / 14)
    assert math.isnan(Used(0, 3, 2).per_row(3))


def test_steps_of_one_task_are_counted_likewise_and_those_left_out_are_not(make_run):
    lines = [
        single(0, "cola", [7, 7, 3]),
        single(1, "stsb", [3]),
        {"kind": "skip", "step": 2, "tasks": {"stsb": [0, 1]}},
        single(3, "cola", [3, 9]),
        evaluation(4, cola=0.5),
    ]
    assert data_used(make_run("a", lines)) == {"cola": Used(10, 5, 3, 0), "stsb": Used(4, 1, 1, 0)}
    assert data_used(make_run("b")) == {"cola": Used(10), "stsb": Used(4)}


def test_smoothing_is_a_mean_over_the_window_around_each_value():
    values = np.array([3.0, 0.0, 6.0, np.nan, 1.0, 2.0, 7.0, 7.0, 0.0, 5.0, 4.0, 9.0])
    for window in (1, 2, 3, 10, 50):
        around = [values[max(0, k - window // 2) : k - window // 2 + window] for k in range(len(values))]
        expected = [np.nan if np.isnan(own).all() else np.nanmean(own) for own in around]
        np.testing.assert_allclose(smoothed(values, window), expected)
    assert smoothed([]).tolist() == []


@pytest.mark.parametrize(
    ("counts", "least", "window", "at"),
    [
        ([0, 1, 0, 5, 0], 1, 1, 1),
        ([0, 1, 0, 5, 0], 2, 1, 3),  # the first is too low
        ([0, 1, 3, 3, 3, 2], 1, 1, 2),  # where it stays, its beginning
        ([0, 3, 3, 4, 0], 1, 1, 3),  # a step on the way up is none
        ([5, 4, 3, 2], 1, 1, None),  # nor are the ends
        ([1, 2, 3, 3], 1, 1, None),
        ([0] * 20 + [10] + [0] * 20, 1, 10, 16),  # windows from 16 - 5 to 16 + 4 are the first to hold it
        ([0] * 20 + [10] + [0] * 20, 1.01, 10, None),
        ([0, 4] * 10 + [6] * 10 + [0] * 10, 4, 10, 25),  # wiggles are smoothed away
        ([], 1, 10, None),
        ([3], 1, 10, None),
    ],
)
def test_first_peaks_by_hand(counts, least, window, at):
    assert first_peak(counts, least, window) == at


@given(st.lists(st.integers(0, 6), max_size=40), st.integers(1, 5), st.sampled_from([1, 2, 10]))
def test_first_peaks_by_looking_to_both_sides(counts, least, window):
    level = smoothed(counts, window).tolist()
    found = None
    for k in range(1, len(level)):
        after = [value for value in level[k:] if value != level[k]]
        if level[k] >= least and level[k - 1] < level[k] and after and after[0] < level[k]:
            found = k
            break
    assert first_peak(counts, least, window) == found


def test_a_peak_is_at_least_an_equal_share_of_the_batch(make_run):
    counts = [0] * 10 + [3] * 10 + [0] * 10 + [8] * 10 + [4] * 20  # of 8 examples for 2 tasks
    lines = [mixed(2 * k, cola=[0] * n, stsb=[0] * (8 - n)) for k, n in enumerate(counts)]
    course = read_course(make_run("a", lines))
    assert course.first_peak("cola") == 2 * 35  # the third stretch fills the window from 30 to 39
    assert course.first_peak("stsb") == 2 * 25  # 8 again, after 5
    assert read_course(make_run("b")).first_peak("cola") is None


def test_task_spread_divides_by_the_number_of_tasks():
    table_9 = [60.9, 82.7, 83.1, 88.9, 90.7, 90.3, 79.1, 91.9, 88.8]
    assert task_spread(table_9) == pytest.approx(9.15, abs=0.005)
    assert task_spread([0.7]) == 0.0
    assert math.isnan(task_spread([]))


def test_one_run_by_hand(make_run):
    rows = cells(section_of([make_run("a", COURSE, dev={"cola": 0.5, "stsb": 0.75})]))
    account = ["unique % of rows", "epochs", "scored for each row"]
    assert rows[0] == ["task", "share % of examples", *account, "first peak step"]
    assert rows[1] == ["cola", "62.5", "50.0", "1.00", "1.60", "–"]
    assert rows[2] == ["stsb", "37.5", "75.0", "1.50", "4.00", "–"]
    assert rows[3] == ["all tasks", "", "57.1", "1.14", "2.29", ""]
    assert rows[4] == ["method", *account, "task σ points"]
    assert rows[5] == ["mt", "57.1", "1.14", "2.29", "12.5"]
    assert len(rows) == 6


def test_seeds_have_a_mean_and_a_deviation_and_unfinished_runs_no_account(make_run):
    half = [line for line in COURSE if line["step"] < 2]
    runs = [
        make_run("a", COURSE, dev={"cola": 0.5, "stsb": 0.75}),
        make_run("b", half, seed=1, dev={"cola": 0.5, "stsb": 0.5}),
        make_run("c", COURSE[:3], seed=2),
        make_run("d", seed=3),
    ]
    section = section_of(runs)
    rows = cells(section)
    assert rows[1] == ["cola", "68.8 ± 8.8", "45.0 ± 7.1", "0.80 ± 0.28", "1.20 ± 0.57", "–"]  # 62.5 and 75, …
    assert rows[5][4] == "6.2 ± 8.8"
    drawn = traces(section, "pools-0-0")["cola"]
    assert drawn["x"] == [0, 1, 2, 3]
    assert [n for *_, n in drawn["customdata"]] == [3, 2, 1, 1]
    assert "no account yet" in section_of(runs[2:])
    assert cells(section_of(runs[2:]))[-1] == ["mt", "–", "–", "–", "–"]


def test_figures_show_batches_uncertainties_and_scores(make_run):
    section = section_of([make_run("a", COURSE)])
    batches, unsure, scores = (traces(section, f"pools-0-{k}") for k in range(3))
    assert batches["cola"]["y"] == [2.5] * 4  # the window holds all four steps
    assert batches["stsb"]["y"] == [1.5] * 4
    assert unsure["cola"]["y"] == [0.75] * 4
    assert unsure["stsb"]["y"] == [0.45] * 4  # where it is known
    assert (scores["stsb"]["x"], scores["stsb"]["y"]) == ([0, 4], [0.0, 0.75])
    unknown = [pool(0, cola=(2, None), stsb=(2, None))]
    assert '"pools-0-1"' not in section_of([make_run("b", unknown, method="blind")])


def test_a_pool_may_serve_several_steps(make_run):
    lines = [
        mixed(0, cola=[0], stsb=[1]),
        pool(0, cola=(2, 0.5), stsb=(2, None)),
        mixed(1, cola=[1], stsb=[2]),
        mixed(2, cola=[2], stsb=[3]),
        pool(2, cola=(3, 0.25), stsb=(1, None)),
        mixed(3, cola=[3, 4]),
    ]
    course = read_course(make_run("a", lines))
    assert (course.steps, course.pools) == ([0, 1, 2, 3], [0, 2])
    assert course.batch == {"cola": [1, 1, 1, 2], "stsb": [1, 1, 1, 0]}
    assert course.unsure["cola"] == [0.5, 0.25]
    assert course.used == {"cola": Used(10, 5, 5, 8), "stsb": Used(4, 3, 3, 8)}
    unsure = traces(section_of([make_run("b", lines)]), "pools-0-1")["cola"]
    assert (unsure["x"], unsure["y"]) == ([0, 2], [0.375, 0.375])


def test_a_long_run_has_few_points(make_run):
    steps = 3001
    lines = []
    for k in range(steps):
        lines += [pool(k, cola=(k % 5, k / steps), stsb=(4 - k % 5, None))] if k % 3 == 0 else []
        lines += [mixed(k, cola=[0] * (k % 5), stsb=[0] * (4 - k % 5))]
    runs = [make_run("a", lines, steps=steps), make_run("b", lines[:2666], seed=1, steps=steps)]
    section = section_of(runs)
    drawn = traces(section, "pools-0-0")["cola"]
    assert POINTS / 2 < len(drawn["x"]) <= POINTS
    assert drawn["y"][20:-20] == pytest.approx([2.0] * (len(drawn["y"]) - 40), abs=0.2)
    assert {n for *_, n in drawn["customdata"]} == {1, 2}  # seeds have their points at the same steps
    assert [n for *_, n in drawn["customdata"]].count(2) == pytest.approx(len(drawn["x"]) * 2 / 3, abs=2)
    unsure = traces(section, "pools-0-1")["cola"]
    assert 100 < len(unsure["x"]) <= POINTS
    assert unsure["y"][5:-5] == pytest.approx([step / steps for step in unsure["x"]][5:-5], abs=0.001)
    assert len(section) < 200_000


def test_other_methods_stand_beside_and_tasks_alone_are_the_measure(make_run):
    dev = {"cola": 0.5, "stsb": 0.75, "help": 0.0}
    rows = {**ROWS, "help": 6}
    runs = [
        make_run("a", COURSE, rows=rows, auxiliary=("help",), dev=dev),
        make_run("b", [single(0, "cola", [0, 1])], "uniform", rows=rows, auxiliary=("help",), dev=dev),
        make_run("b1", [], "uniform", 1, rows=rows, auxiliary=("help",), dev={**dev, "cola": 0.4}),
        make_run("c0", [], "single", 0, rows={"cola": 10}, dev={"cola": 0.4}),
        make_run("c1", [], "single", 1, rows={"cola": 10}, dev={"cola": 0.6}),  # 0.5: as good
        make_run("d", [], "single", rows={"stsb": 4}, dev={"stsb": 0.7}),
        make_run("e", [], "other", rows={"stsb": 4}, dev={"stsb": 0.8}),  # better than the other one alone
        make_run("f", [], "unscored", rows=rows, auxiliary=("help",), dev={"cola": 0.5, "stsb": None, "help": 0.0}),
    ]
    section = section_of(runs)
    found = {row[0]: row[1:] for row in cells(section)[-4:]}
    assert found.pop("method")[-2:] == ["task σ points", "as good as alone"]
    assert found == {
        "mt": ["40.0", "0.80", "1.60", "12.5", "1 of 2"],
        "uniform": ["5.0 ± 7.1", "0.05 ± 0.07", "0.00 ± 0.00", "15.0 ± 3.5", "0.5 ± 0.7 of 2"],
        "unscored": ["0.0", "0.00", "0.00", "–", "1 of 2"],
    }
    assert "tasks that count (cola, stsb)" in section


def test_nothing_is_said_without_pools(make_run):
    assert section_of([make_run("a", [single(0, "cola", [0])]), make_run("b", [], "other")]) == ""


def test_the_page_has_the_section_where_there_are_pools(make_run, tmp_path):
    run = make_run("a", COURSE, dev={"cola": 0.5, "stsb": 0.75})
    write_report([run], tmp_path / "with.html")
    page = (tmp_path / "with.html").read_text(encoding="utf-8")
    assert "<h2>Pools</h2>" in page
    assert 'data-name="stsb"' in page.split("<h2>Pools</h2>")[1]
    write_report([make_run("b", [single(0, "cola", [0])])], tmp_path / "without.html")
    assert "<h2>Pools</h2>" not in (tmp_path / "without.html").read_text(encoding="utf-8")
