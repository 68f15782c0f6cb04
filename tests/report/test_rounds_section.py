"""What rounds did, and the scores of their target: by hand, from logs that were written by hand."""

from __future__ import annotations

import re
from functools import partial
from html import unescape

import pytest
from page_tools import cells, figure, shown
from round_tools import COURSE, OTHER, TRIED, alphavil, write_rounds_run

from rota.analysis import JOINT_TRIES, KEPT_TRY, LOSS_AFTER, LOSS_BEFORE
from rota.report import write_report
from rota.report._round_section import POINTS, THICK, round_section

ALPHA, WEIGHT, LOSS, NORM, COSINE, SCORE, COUNT = range(7)  # panels, as they are numbered
EVIL = "<b>%{x}</b>"


@pytest.fixture
def make_run(tmp_path):
    return partial(write_rounds_run, tmp_path)


def section_of(*runs):
    return shown(round_section, *runs)


def traces(html, panel, group=0):
    """The lines of a figure by name; bands have none."""
    return {trace["name"]: trace for trace in figure(html, f"rounds-{group}-{panel}")[0] if "name" in trace}


def drawn(html, panel, group=0):
    return {name: (trace["x"], trace["y"]) for name, trace in traces(html, panel, group).items()}


def test_alphas_and_shares_of_the_weights_by_hand(make_run):
    section = section_of(make_run("a", COURSE))
    assert drawn(section, ALPHA) == {"left": ([0, 1], [1.25, 1.5]), "right": ([0, 1], [0.75, 0.5])}
    assert drawn(section, WEIGHT) == {"left": ([0, 1], [0.625, 0.875]), "right": ([0, 1], [0.375, 0.125])}
    assert "alphavil <small>target: left</small></h3>" in section
    assert "joint tries" not in section


def test_figure_3_as_a_table_by_hand(make_run):
    """Means and deviations of two seeds after the first and the last of two rounds: α 1.25 and 1.75, then 1.5 and 1."""
    section = section_of(make_run("a", COURSE), make_run("b", OTHER, seed=1))
    assert cells(section)[:3] == [
        ["round", "α left", "α right", "weight left", "weight right"],
        ["0", "1.500 ± 0.354", "0.750 ± 0.000", "0.662 ± 0.053", "0.338 ± 0.053"],
        ["1", "1.250 ± 0.354", "0.750 ± 0.354", "0.787 ± 0.124", "0.212 ± 0.124"],
    ]


def test_lengths_directions_and_losses_by_hand(make_run):
    section = section_of(make_run("a", COURSE))
    assert drawn(section, NORM) == {"left": ([0, 1], [2.0, 1.0]), "right": ([0, 1], [1.0, 0.5])}
    assert drawn(section, COSINE) == {"right": ([0, 1], [0.5, -0.25])}  # the target's with itself says nothing
    assert drawn(section, LOSS) == {LOSS_BEFORE: ([0, 1], [0.9, 0.7]), LOSS_AFTER: ([0, 1], [0.8, 0.5])}
    assert f'"rounds-0-{SCORE}"' not in section
    assert f'"rounds-0-{COUNT}"' not in section


def test_the_target_has_the_thick_line(make_run):
    for target, thin in (("left", "right"), ("right", "left")):
        lines = traces(section_of(make_run(target, COURSE, target=target)), ALPHA)
        assert lines[target]["line"]["width"] == THICK
        assert lines[thin]["line"]["width"] < THICK


def test_seeds_are_averaged_and_a_diverged_branch_is_left_out(make_run):
    section = section_of(make_run("a", COURSE), make_run("b", OTHER, seed=1))
    assert drawn(section, ALPHA)["left"] == ([0, 1], [1.5, 1.25])
    assert traces(section, ALPHA)["left"]["customdata"] == [[1.25, 1.75, 2], [1.0, 1.5, 2]]
    assert drawn(section, WEIGHT)["right"] == ([0, 1], pytest.approx([0.3375, 0.2125]))
    assert traces(section, NORM)["right"]["customdata"] == [[1.0, 3.0, 2], [0.5, 0.5, 1]]
    assert traces(section, COSINE)["right"]["customdata"] == [[0.25, 0.5, 2], [-0.25, -0.25, 1]]
    assert traces(section, LOSS)[LOSS_AFTER]["customdata"] == [[0.8, 1.0, 2], [0.5, 0.5, 1]]
    assert "Training diverged: right in 1 of 4 rounds." in section
    assert "diverged" not in section_of(make_run("c", COURSE))


def test_without_tuning_there_is_no_loss_to_show(make_run):
    section = section_of(make_run("a", [alphavil(0, (1.0, 1.0), (1.0, 1.0), loss=(None, None))]))
    assert f'"rounds-0-{LOSS}"' not in section
    assert drawn(section, WEIGHT) == {"left": ([0], [0.5]), "right": ([0], [0.5])}
    assert "NaN" not in section


def test_branches_and_joint_tries_by_hand(make_run):
    section = section_of(make_run("a", TRIED, "diw"), make_run("b", TRIED[:1], "diw", 1))
    assert drawn(section, WEIGHT) == {"left": ([0, 1], [0.75, 0.5]), "right": ([0, 1], [0.25, 0.5])}
    assert drawn(section, SCORE) == {
        "left": ([0, 1], [50.0, 75.0]),
        "right": ([0, 1], [25.0, 50.0]),
        KEPT_TRY: ([0, 1], [75.0, 50.0]),
    }
    assert drawn(section, COUNT) == {JOINT_TRIES: ([0, 1], [3, 1])}
    assert [n for *_, n in traces(section, COUNT)[JOINT_TRIES]["customdata"]] == [2, 1]
    assert f'"rounds-0-{ALPHA}"' not in section
    assert "<em>α</em>" not in section


def test_methods_and_targets_have_figures_of_their_own(make_run):
    section = section_of(
        make_run("u", [], "uniform", target=None),
        make_run("a", COURSE),
        make_run("b", OTHER, target="right"),
        make_run("c", TRIED, "diw"),
    )
    titles = [" ".join(re.sub(r"<[^>]+>", " ", title).split()) for title in re.findall(r"<h3>(.*?)</h3>", section)]
    assert titles == [
        "alphavil (target left) target: left",
        "alphavil (target right) target: right",
        "diw target: left",
        "Scores of left",
        "Scores of right",
    ]
    assert drawn(section, ALPHA, 1)["left"][1] == [1.25, 1.5]
    assert drawn(section, ALPHA, 2)["left"][1] == [1.75, 1.0]
    assert drawn(section, COUNT, 3)[JOINT_TRIES][1] == [3, 1]
    assert section.count('class="plotly-graph-div"') == 5 + 5 + 3
    assert section.count('data-name="left"') == 1


def test_scores_of_the_target_by_hand(make_run):
    runs = [
        make_run("a", COURSE, dev={"left": 0.5, "right": 0.1}, test={"left": 0.4, "right": 0.1}),
        make_run("b", COURSE, seed=1, dev={"left": 0.7, "right": 0.9}, test={"left": 0.6, "right": 0.9}),
        make_run("b2", COURSE[:1], seed=2),
        make_run("c", TRIED, "diw", dev={"left": 0.65, "right": 0.2}),
        make_run("d", [], "single", tasks=("left",), dev={"left": 0.55}, test={"left": 0.51}),
        make_run("e", [], "alone", target=None, tasks=("left",), dev={"left": 0.25}),
        make_run("f", [], "alone", target=None, tasks=("right",), dev={"right": 0.95}),
        make_run("g", [], "uniform", target=None, dev={"left": 0.99, "right": 0.2}),  # best for the average only
    ]
    section = section_of(*runs)
    rows = cells(section.split("<h3>Scores of left</h3>")[1])
    over = ["min", "max", "mean", "std"]
    assert rows[0] == ["method", *(f"{what} dev" for what in over), *(f"{what} test" for what in over), "runs"]
    assert rows[1:] == [
        ["alphavil", "50.0", "70.0", "60.0", "14.1", "40.0", "60.0", "50.0", "14.1", "2"],
        ["diw", "65.0", "65.0", "65.0", "–", "–", "–", "–", "–", "1"],
        ["single", "55.0", "55.0", "55.0", "–", "51.0", "51.0", "51.0", "–", "1"],
        ["alone (tasks left)", "25.0", "25.0", "25.0", "–", "–", "–", "–", "–", "1"],
    ]
    assert re.findall("<strong>(.*?)</strong>", section) == ["65.0", "51.0"]
    assert "best for this task" not in section


def test_methods_without_a_target_show_their_best_checkpoint_of_the_task(make_run):
    own = {
        "left": {"step": 2, "dev": {"score": 0.45, "loss": 1.0}, "test": {"score": 0.35}},
        "right": {"step": 4, "dev": {"score": 0.9}, "test": None},
    }
    worse = {"left": {"step": 2, "dev": {"score": 0.35}}}
    dev = {"left": 0.1, "right": 0.2}
    runs = [
        make_run("a", COURSE, dev=dev, test=dev, each=own),  # has a target: that one's checkpoint
        make_run("b", COURSE, target="right", dev=dev),
        make_run("c", [], "multitask", target=None, dev=dev, test=dev, each=own),
        make_run("d", [], "multitask", 1, target=None, dev=dev, each=worse),
        make_run("e", [], "uniform", target=None, dev=dev, each=None),
        make_run("f", [], "multitask", 2, target=None),
    ]
    section = section_of(*runs)
    left, right = (
        cells(part) for part in section.split("<h3>Scores of left</h3>")[1].split("<h3>Scores of right</h3>")
    )
    assert left[1:] == [
        ["alphavil (target left)", "10.0", "10.0", "10.0", "–", "10.0", "10.0", "10.0", "–", "1"],
        ["multitask", "35.0", "45.0", "40.0", "7.1", "35.0", "35.0", "35.0", "–", "2"],
    ]
    assert right[0] == ["method", "min dev", "max dev", "mean dev", "std dev", "runs"]  # nobody has a test score
    assert right[1][0] == "alphavil (target right)"
    assert right[2][:4] == ["multitask", "20.0", "90.0", "55.0"]
    assert "best for this task" in section


def test_unfinished_runs_have_curves_but_no_scores(make_run):
    section = section_of(make_run("a", COURSE))
    assert "nothing to compare yet" in section
    assert "Scores of left" in section
    assert cells(section.split("<h3>Scores of left</h3>")[1]) == []


def test_nothing_is_said_without_rounds(make_run):
    foreign = {"kind": "round", "step": 4, "round": 0, "arm": "left"}  # of a method without branches
    runs = [make_run("a", [foreign], "thompson", target="left", dev={"left": 0.5}), make_run("b")]
    assert section_of(*runs) == ""


def test_names_of_tasks_are_escaped(make_run):
    tasks = (EVIL, "right")
    lines = [alphavil(0, (1.0, 1.0), (1.0, 1.0), diverged=[EVIL], tasks=tasks)]
    section = section_of(make_run("a", lines, target=EVIL, tasks=tasks, dev={EVIL: 0.5, "right": 0.1}))
    assert EVIL not in section
    visible = re.sub(r"<script.*?</script>", "", section, flags=re.DOTALL)
    assert unescape(visible).count(EVIL) == 7  # heading, α, weight, button (twice), divergence, table
    assert set(traces(section, ALPHA)) == {"&lt;b&gt;%&#123;x}&lt;/b&gt;", "right"}


def test_many_rounds_have_few_points(make_run):
    lines = [alphavil(at, (1 + at / 1000, 1.0), (1.0, 1.0)) for at in range(1001)]
    section = section_of(make_run("a", lines), make_run("b", lines[:500], seed=1))
    x, y = drawn(section, ALPHA)["left"]
    assert POINTS / 2 < len(x) <= POINTS
    assert y == pytest.approx([1 + at / 1000 for at in x])
    assert {n for *_, n in traces(section, ALPHA)["left"]["customdata"]} == {1, 2}
    assert len(section) < 100_000


def test_the_page_has_the_section_where_there_are_rounds(make_run, tmp_path):
    write_report([make_run("a", COURSE, dev={"left": 0.5, "right": 0.1})], tmp_path / "with.html")
    page = (tmp_path / "with.html").read_text(encoding="utf-8")
    assert "<h2>Rounds</h2>" in page
    assert 'data-name="left"' in page.split("<h2>Rounds</h2>")[1]
    write_report([make_run("b", [], "uniform", target=None)], tmp_path / "without.html")
    assert "<h2>Rounds</h2>" not in (tmp_path / "without.html").read_text(encoding="utf-8")
