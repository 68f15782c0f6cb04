"""What a search tried, found and believes: by hand, from searches that were written by hand."""

from __future__ import annotations

import re
from functools import partial
from html import unescape
from itertools import pairwise

import pytest
from page_tools import cells, figure, shown
from search_tools import SLICES, TRIED, trial, write_search_run

from rota.report import write_report
from rota.report._search_figures import ESTIMATE
from rota.report._search_section import LISTED, search_section
from rota.runlog import INNER

EVIL = "<b>%{x}</b>"


@pytest.fixture
def make_run(tmp_path):
    return partial(write_search_run, tmp_path)


def search(runs):
    return shown(search_section, *runs)


def course(html, group, kind):
    """What the first panel has of a search: its lines, or its dots."""
    return [trace for trace in figure(html, "search-0")[0] if trace["legendgroup"] == group and trace["mode"] == kind]


def test_the_best_so_far_never_falls_and_no_stopped_trial_is_in_it(make_run):
    section = search([make_run("a")])
    [line] = course(section, "a", "lines")
    assert (line["x"], line["y"]) == ([1, 2, 3, 4, 5], [50, 75, 75, 75, 75])
    assert all(one <= other for one, other in pairwise(line["y"]))
    assert line["line"]["shape"] == "hv"


def test_every_trial_with_a_score_is_a_dot_and_stopped_ones_are_open(make_run):
    tried = [
        *TRIED,
        trial(5, (2, 1), 0.6875, "pruned"),
        trial(6, (2, 3), 0.125, "pruned"),
        trial(7, (2, 2), 0.5, "reused"),
    ]
    section = search([make_run("a", tried=tried)])
    [dots] = course(section, "a", "markers")
    assert dots["x"] == [1, 2, 3, 4, 6, 7, 8]
    closed, stopped, below = "circle", "circle-open", "triangle-down-open"
    assert dots["marker"]["symbol"] == [closed, closed, closed, stopped, stopped, below, closed]
    low, high = figure(section, "search-0")[1]["yaxis"]["range"]
    assert low < dots["y"][5] < 50 < high  # not at 12.5, which would press the rest flat
    assert dots["customdata"][5] == "trial 7, 2:3: 12.5, stopped early"


def test_what_random_ratios_would_reach_is_called_an_estimate(make_run):
    section = search([make_run("a", random=[0.5, 0.5625, 0.625])])
    [line] = course(section, ESTIMATE, "lines")
    assert (line["x"], line["y"], line["line"]["dash"]) == ([1, 2, 3], [50, 56.25, 62.5], "dot")
    assert "no search was run for this line" in section
    assert "of a random search, as the model estimates it" in section
    assert f'data-name="{ESTIMATE}"' in section


def test_the_table_by_hand(make_run):
    section = search([make_run("a")])
    rows = cells(section)
    shares = ["left % of batches", "right % of batches"]
    assert rows[0] == ["ratio", "trial", *shares, "score", "proposed by", "state"]
    assert rows[1:] == [
        ["3:1", "2", "75.0", "25.0", "75.0", "EI", "done"],
        ["1:3", "3", "25.0", "75.0", "62.5", "UCB", "done"],
        ["1:1", "1", "50.0", "50.0", "50.0", "random", "done"],
        ["4:1", "4", "80.0", "20.0", "90.0", "PI", "stopped early"],
        ["5:0", "5", "100.0", "0.0", "–", "PI", "stopped early"],
    ]
    assert re.findall("<strong>(.*?)</strong>", section) == ["3:1", "75.0"]
    assert "left out" not in section
    assert "flattered" in section


def test_points_of_a_grid_are_proposed_by_it(make_run):
    assert [row[5] for row in cells(search([make_run("a", sampler="grid")]))[1:4]] == ["EI", "UCB", "grid"]


def test_several_seeds_have_a_column_of_their_own(make_run):
    rows = cells(search([make_run("a", tried=[trial(0, (1, 1), 0.5, values=[0.25, 0.75]), TRIED[3]], best=0)]))
    assert [row[4:6] for row in rows] == [["score", "score of each seed"], ["50.0", "25.0, 75.0"], ["90.0", "–"]]


def test_of_many_ratios_the_best_are_listed(make_run):
    tried = [trial(at, (at + 1, 1), at / 100) for at in range(LISTED + 8)]
    section = search([make_run("a", tried=tried, best=LISTED + 7, trials=LISTED + 8)])
    rows = cells(section)
    assert len(rows) == 1 + LISTED
    assert rows[1][:2] == [f"{LISTED + 8}:1", f"{LISTED + 8}"]
    assert f"The best {LISTED}; 8 more ratios left out." in section


def test_shares_and_a_ratio_of_nothing(make_run):
    section = search([make_run("a", tried=[trial(0, (0.75, 0.25), 0.5), trial(1, (0, 0), None, "pruned")], best=0)])
    assert [row[:4] for row in cells(section)[1:]] == [["0.75:0.25", "1", "75.0", "25.0"], ["0:0", "2", "–", "–"]]


def test_slices_have_a_band_and_the_best_ratio(make_run):
    section = search([make_run("a")])
    (band, line, mark), layout = figure(section, "search-0-0-0")
    assert (line["x"], line["y"]) == ([1, 2, 3], pytest.approx([50, 60, 70]))
    assert band["y"] == pytest.approx([60, 70, 80, 60, 50, 40])
    assert (mark["x"], mark["y"]) == ([3], [75])
    (_, line, mark), other = figure(section, "search-0-0-1")
    assert (line["x"], mark["x"]) == ([0, 1], [1])
    assert layout["yaxis"]["range"] == other["yaxis"]["range"]  # so that they can be compared
    assert "more or less of right" in section


def test_searches_of_the_same_tasks_share_a_panel(make_run):
    other = [trial(0, (1, 1), 0.25), trial(1, (1, 2), 0.375)]
    runs = [
        make_run("a"),
        make_run("b", tried=other, sampler="random", slices={}),
        make_run(
            "c", tasks=("left", "other"), tried=[trial(0, (1, 1), 0.5, tasks=("left", "other"))], best=0, slices={}
        ),
    ]
    section = search(runs)
    assert [len(course(section, name, "lines")) for name in "ab"] == [1, 1]
    assert course(section, "b", "lines")[0]["y"] == [25, 37.5]
    assert section.count("<h3>") == 2
    assert len({figure(section, f"search-{k}")[0][0]["line"]["color"] for k in range(2)}) == 2
    titles = [" ".join(re.sub(r"<[^>]+>", " ", title).split()) for title in re.findall(r"<h4>(.*?)</h4>", section)]
    assert titles == ["a gp-hedge, 5 of 6 trials", "b random, 2 of 6 trials", "c gp-hedge, 1 of 6 trials"]


def test_a_search_that_has_just_begun(make_run):
    section = search([make_run("a", tried=TRIED[:1], best=0, slices={})])
    [line] = course(section, "a", "lines")
    assert line["y"] == [50]
    assert "1 of 6 trials" in section
    assert ESTIMATE not in section
    assert "Gaussian process" not in section
    assert section.count('class="plotly-graph-div"') == 1


def test_a_search_in_which_nothing_finished_has_no_best(make_run):
    section = search([make_run("a", tried=TRIED[3:4], best=None, slices={})])
    assert course(section, "a", "lines")[0]["y"] == []
    assert "<strong>" not in section
    nothing = search([make_run("b", tried=TRIED[4:], best=None, slices={})])
    assert 'class="plotly-graph-div"' not in nothing
    assert cells(nothing)[1][0] == "5:0"


def test_nothing_is_said_of_other_runs(make_run):
    assert search([make_run("a", "uniform"), make_run(f"b/{INNER}/c", "cycle")]) == ""


def test_names_are_escaped(make_run):
    tasks = (EVIL, "right")
    tried = [trial(0, (1, 1), 0.5, tasks=tasks), trial(1, (3, 1), 0.75, tasks=tasks)]
    slices = {EVIL: SLICES["left"], "right": SLICES["right"]}
    section = search([make_run("a&amp;", tried=tried, tasks=tasks, slices=slices, sampler=EVIL)])
    assert EVIL not in section
    visible = re.sub(r"<script.*?</script>", "", section, flags=re.DOTALL)
    assert unescape(visible).count(EVIL) == 6  # heading (twice), button, search, slice, table
    assert "a&amp;amp;" in visible


def test_the_page_has_the_section_where_there_is_a_search(make_run, tmp_path):
    for name in ("one", "two"):
        write_report([make_run("a")], tmp_path / f"{name}.html")
    page = (tmp_path / "one.html").read_text(encoding="utf-8")
    assert "<h2>Ratio search</h2>" in page
    assert (tmp_path / "two.html").read_text(encoding="utf-8") == page
    write_report([make_run("b", "uniform")], tmp_path / "without.html")
    assert "<h2>Ratio search</h2>" not in (tmp_path / "without.html").read_text(encoding="utf-8")
