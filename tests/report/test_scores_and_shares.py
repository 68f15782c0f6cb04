"""Scores as dots, shares as lines: what one sees first, with few tasks and with many, of one run and of several."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from log_tools import eval_line, step_line, write_run
from page_tools import cells, figure, page_of, shown

from rota.analysis import all_scores, group_runs
from rota.report import report_text
from rota.report._curve_section import curve_section
from rota.report._dots import Dot, DotPlot
from rota.report._many_tasks import DRAWN
from rota.report._palette import LineStyle
from rota.report._score_section import score_section
from rota.report._share_section import share_section
from rota.report._summary import summary

SEEDS = range(3)
MANY = {f"task-{k:02d}": False for k in range(2 * DRAWN)}


@pytest.fixture
def make_run(tmp_path):
    return partial(write_run, tmp_path)


@pytest.fixture
def compared(make_run):
    return [
        make_run(f"{method}{seed}", method, seed, average)
        for method, averages in {"uniform": (0.5, 0.6, 0.7), "auto": (0.52, 0.63, 0.72)}.items()
        for seed, average in enumerate(averages)
    ]


def many(make_run, name, method="uniform", seed=0, **more):
    """Twice as many tasks as are drawn; the last one is visited most."""
    last = list(MANY)[-1]
    lines = [step_line(step, last if step % 2 else list(MANY)[step % 7]) for step in range(40)]
    lines += [eval_line(40, **{task: (1.0, k / 100) for k, task in enumerate(MANY)})]
    return make_run(name, method, seed, lines=lines, tasks=MANY, **more)


def texts(html):
    return " ".join(re.sub("<[^>]+>", " ", html).split())


def test_averages_and_differences_have_their_intervals(compared):
    told = shown(score_section, *compared)
    found = all_scores(group_runs(compared))
    low, high = found.rows[1].average.interval
    assert f"62.3 [{100 * low:.1f}, {100 * high:.1f}]" in texts(told)
    difference = found.rows[1].difference
    assert f"+2.3 [{100 * difference.low:.1f}, {100 * difference.high:.1f}]" in texts(told)
    assert told.index('class="panel dots"') < told.index("<table>")  # dots before tables
    assert told.count('class="panel dots"') == 2 + 3  # averages, differences, each task


def test_dots_are_where_their_numbers_are():
    style = LineStyle("#000000")
    plot = DotPlot("x", [Dot("a", style, 2.0, 1.0, 3.0, ""), Dot("b", style, np.nan, np.nan, np.nan, "")], 0.0)
    assert [plot.at(number) for number in (plot.reach[0], 1.5, plot.reach[1])] == ["0%", "50%", "100%"]
    assert [name for _, name in plot.ticks] == ["0", "1", "2", "3"]
    assert [(dot.known, dot.sure) for dot in plot.dots] == [(True, True), (False, False)]
    equal = DotPlot("equal", [Dot(name, style, 100.0, 100.0, 100.0, "") for name in "ab"], 100.0)
    assert equal.ticks == [("50%", "100")]


def test_the_summary_and_the_interval_say_the_same(compared):
    told = shown(summary, *compared)
    assert "zero is not in the interval" in told  # though seeds spread by far more than the lead
    assert "points (standard deviation) from seed to seed" in told
    assert not {"noise", "hint"} & set(re.findall(r"\w+", told.split("Trained as well")[0] + told.split("</p>")[1]))


def test_one_run_is_not_told_about_seeds_and_winners(make_run):
    page = report_text([make_run("only", "auto", average=0.5)])
    prose = texts(
        re.sub("<(style|script|pre|details).*?</\\1>", "", page.split("<main>")[1].split("</main>")[0], flags=re.S)
    )
    for word in ("seed", "±", "mean over", "highest", "spread by", "interval", "chance", "baseline", "relative"):
        assert word not in prose, word
    assert 'class="best"' not in page
    assert "Its average test score is 50.0." in prose


def test_several_methods_with_one_seed_each_have_no_means(make_run):
    runs = [make_run("a", average=0.5), make_run("b", "auto", average=0.6)]
    page = texts(report_text(runs).split("<main>")[1].split("<h2>Settings")[0])
    assert "over seeds" not in page
    assert "No method ran with two seeds" in page


def test_shares_are_lines_beside_plain_mixtures(make_run):
    told = shown(share_section, make_run("a", "auto"), make_run("b", "auto", seed=1))
    traces, layout = figure(told, "share-0")
    assert [trace["legendgroup"] for trace in traces] == ["auto", "plain uniform", "plain size^0.5", "plain size"]
    assert traces[0]["y"] == [50, 70, 90]
    assert traces[0]["meta"]["runs"] == 2  # a band
    assert traces[1]["y"] == [pytest.approx(100 / 3, abs=0.01)] * 2
    assert layout["yaxis"]["rangemode"] == "tozero"
    assert cells(told)[1][:5] == ["left", "9", "33.3", "33.3", "33.3"]


def test_where_there_are_no_dev_losses_no_panel_is_empty(make_run):
    lines = [step_line(step, "left") for step in range(8)]
    lines += [eval_line(8, left=(None, 0.5), right=(None, 0.6))]
    told = shown(curve_section, make_run("a", lines=lines))
    assert "Dev loss" not in told
    assert told.count('class="plotly-graph-div"') == 3
    assert "counted stretch by stretch" in shown(share_section, make_run("b", lines=lines))


def test_medians_over_seeds_where_they_are_asked_for(make_run):
    runs = [
        make_run(f"u{seed}", seed=seed, lines=[eval_line(8, left=(loss, 0.5), right=(loss, 0.6))])
        for seed, loss in enumerate((0.1, 0.2, 0.9))
    ]
    page = page_of(*runs)
    assert figure(curve_section(page), "loss-0")[0][0]["y"] == [0.4]
    told = curve_section(replace(page, medians=True))
    assert figure(told, "loss-0")[0][0]["y"] == [0.2]
    assert "Lines are medians over seeds" in told
    assert "all dev rows" not in told  # of tasks of one size


def test_the_loss_over_all_dev_rows_is_drawn_where_tasks_differ_in_size(make_run):
    line = eval_line(8, left=(0.1, 0.5), right=(0.5, 0.6))
    line["tasks"]["left"]["n"], line["tasks"]["right"]["n"] = 300, 100
    told = curve_section(page_of(make_run("a", lines=[line])))
    assert "all dev rows" in told
    [trace] = figure(told, "loss-3")[0][:1]
    assert trace["y"] == [0.2]


def test_of_many_tasks_some_are_drawn_and_all_are_in_a_table(make_run):
    runs = [many(make_run, f"{name}{seed}", name, seed, average=0.5) for name in ("uniform", "auto") for seed in (0, 1)]
    shares = shown(share_section, *runs)
    assert shares.count('class="panel"') == DRAWN
    assert f"{DRAWN} of {len(MANY)} tasks" in shares
    assert cells(shares)[1][0] == list(MANY)[-1]  # the farthest from any plain mixture comes first
    assert len(cells(shares)) == 1 + len(MANY)
    assert f'placeholder="filter {len(MANY)} tasks"' in shares
    scores = shown(score_section, *runs)
    assert scores.count('class="panel dots"') == 2 + DRAWN
    assert [len(row) for row in cells(scores)] == [7] * 3 + [3] * (1 + len(MANY))  # methods, then tasks
    curves = shown(curve_section, *runs)
    assert curves.count('class="panel"') == 2 * (1 + DRAWN)
    assert len(re.findall("<button", shares)) == 2 + 3  # no legend has an entry for each task
