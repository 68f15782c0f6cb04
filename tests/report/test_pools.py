"""What was picked from pools and how much of the data that took: by hand, from logs that were written by hand."""

from __future__ import annotations

from functools import partial

import pytest
from page_tools import cells, figure, shown
from pool_tools import COURSE, ROWS, mixed, pool, single, write_pool_run

from rota.analysis import RowsUsed
from rota.analysis._data_use import read_course
from rota.report import write_report
from rota.report._pool_section import POINTS, pool_section


@pytest.fixture
def make_run(tmp_path):
    return partial(write_pool_run, tmp_path)


def section_of(runs):
    return shown(pool_section, *runs)


def traces(html, name):
    """The lines of a figure by task; bands have no name."""
    return {trace["name"]: trace for trace in figure(html, name)[0] if "name" in trace}


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
    assert course.used == {"cola": RowsUsed(10, 5, 5, 8), "stsb": RowsUsed(4, 3, 3, 8)}
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
