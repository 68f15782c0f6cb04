"""What a bandit came to believe about tasks: by hand, from logs that were written by hand."""

from __future__ import annotations

import re
from html import unescape

import pytest
from page_tools import cells, figure, shown

from rota.analysis import beta_density
from rota.report import write_report
from rota.report._bandit_figures import MARKS
from rota.report._bandit_section import DRAWN, THICK, bandit_section
from rota.runlog import INNER, LOG, RUN, SCHEMA, LogWriter, Run, write_json
from rota.search import Beliefs

DENSITY, TURNS, COURSE = range(3)  # panels, as they are numbered
EVIL = "<b>%{x}</b>"
HEARD = (("left", 1.0), ("right", 1.0), ("right", 0.0), ("right", 1.0))
"""Without forgetting that makes Beta(3, 1) of the target and Beta(3, 2) of the other."""


@pytest.fixture
def make_run(tmp_path):
    def make(
        name, heard=HEARD, method="thompson", seed=0, tasks=("left", "right"), chosen=None, learned=None, **options
    ):
        """A run of the bandit with these rounds; of another method, a run with such a run inside of it."""
        folder = tmp_path / name
        if method == "autosem":
            make(f"{name}/{INNER}/select", heard, "thompson", seed, tasks, chosen, **options)
        folder.mkdir(parents=True, exist_ok=True)
        plan = {"method": method, "seed": seed, "steps": 4, "tasks": ["toy"], "target": tasks[0]}
        known = {task: {"auxiliary": task != tasks[0], "rows": {"train": 8}} for task in learned or tasks}
        info = {"schema": SCHEMA, "id": name, "plan": {**plan, "options": {"decay": 0.0, **options}}, "tasks": known}
        write_json(folder / RUN, info)
        log = LogWriter(folder / LOG)
        for at, (task, value) in enumerate(heard if method == "thompson" else ()):
            about = {"probability": 0.5, "score": 0.5, "value": value}
            log.write({"kind": "arm", "step": 10 * (at + 1), "round": at, "task": task, **about})
        log.close()
        if chosen is not None and method == "thompson":
            rule = {"top": 2, "above": 0.5, "utility": "averaged"}
            write_json(folder / "selection.json", {"chosen": list(chosen), "rule": rule})
        return Run(folder)

    return make


def selection(runs):
    return shown(bandit_section, *runs)


def panel_of(html, panel, group=0, run=0):
    return figure(html, f"selection-{group}-{run}-{panel}")


def by_task(html, panel, **place):
    """What is drawn of each task."""
    found = {}
    for trace in panel_of(html, panel, **place)[0]:
        found.setdefault(trace["legendgroup"], []).append(trace)
    return found


def test_densities_have_intervals_and_means(make_run):
    run = make_run("a")
    section = selection([run])
    beliefs = Beliefs.of(run)
    drawn = by_task(section, DENSITY)
    assert list(drawn) == ["left", "right"]
    for task, (density, bar, mark) in drawn.items():
        at, dense = beta_density(beliefs.successes[task], beliefs.failures[task])
        assert density["x"] == pytest.approx(at.tolist(), rel=1e-5)
        assert density["y"] == pytest.approx(dense.tolist(), rel=1e-3)
        assert bar["x"] == pytest.approx(list(beliefs.interval(task)), rel=1e-3)
        inside = dense[(at > bar["x"][0]) & (at < bar["x"][1])].sum() / len(at)
        assert inside == pytest.approx(0.8, abs=0.02)
        assert (bar["yaxis"], mark["yaxis"]) == ("y2", "y2")
    assert drawn["left"][2]["x"] == [0.75]
    assert drawn["right"][2]["x"] == [0.6]
    assert [drawn["left"][1]["y"], drawn["right"][1]["y"]] == [[0, 0], [1, 1]]


def test_the_target_is_thick_and_comes_first(make_run):
    section = selection([make_run("a", tasks=("right", "left"))])
    for panel in (DENSITY, COURSE):
        drawn = by_task(section, panel)
        assert next(iter(drawn)) == "right"
        assert drawn["right"][-1 if panel == COURSE else 0]["line"]["width"] == THICK
        assert drawn["left"][-1 if panel == COURSE else 0]["line"]["width"] < THICK
    assert panel_of(section, TURNS)[1]["yaxis"]["ticktext"] == ["<b>right</b>", "left"]
    assert "thompson <small>target: right</small></h3>" in section


def test_good_rounds_stand_above_the_line_and_bad_ones_below(make_run):
    drawn = by_task(selection([make_run("a")]), TURNS)
    good, bad = drawn["right"]
    assert [x for x in good["x"] if x is not None][::2] == [1, 3]
    assert [x for x in bad["x"] if x is not None][::2] == [2]
    assert good["y"][0] == bad["y"][0] == 1
    assert good["y"][1] < 1 < bad["y"][1]  # the axis has the first row on top
    assert drawn["left"][0]["x"] == [0, 0, None]
    assert drawn["left"][1]["x"] == []


def test_utilities_after_each_round_by_hand(make_run):
    section = selection([make_run("a")])
    drawn = by_task(section, COURSE)
    assert drawn["left"][0]["y"] == [0.75] * 4
    assert drawn["right"][0]["y"] == pytest.approx([1 / 2, 2 / 3, 1 / 2, 3 / 5], abs=1e-4)
    [line] = panel_of(section, COURSE)[1]["shapes"]
    assert (line["y0"], line["y1"], line["line"]["dash"]) == (0.5, 0.5, "dot")


def test_the_table_by_hand(make_run):
    run = make_run("a", chosen=["left"])
    low, high = Beliefs.of(run).interval("right")
    rows = cells(selection([run]))
    halves = ["utility second half", "utility at the end"]
    assert rows[0] == ["task", "turns", "good", *halves, "80 % interval", "chosen"]
    assert rows[1][:5] == ["left target", "1", "1", "0.75", "0.75"]
    assert rows[2] == ["right", "3", "2", "0.55", "0.60", f"{low:.2f} to {high:.2f}", "no"]
    assert rows[1][-1] == "yes"


def test_where_nobody_chose_there_is_no_such_column(make_run):
    section = selection([make_run("a")])
    assert cells(section)[0][-1] == "80 % interval"
    assert "Chosen are" not in section


def test_seeds_are_averaged_in_the_table_and_drawn_one_by_one(make_run):
    other = (("left", 0.0), ("left", 0.0), ("right", 1.0), ("right", 1.0))
    runs = [make_run("a", chosen=["left", "right"]), make_run("b", other, seed=1, chosen=["left"])]
    section = selection(runs)
    rows = cells(section)
    assert rows[1][:3] == ["left target", "1.5 ± 0.7", "0.5 ± 0.7"]
    assert rows[2][:5] == ["right", "2.5 ± 0.7", "2.0 ± 0.0", "0.63 ± 0.11", "0.68 ± 0.11"]
    assert [row[-1] for row in rows[1:]] == ["2 of 2", "1 of 2"]
    assert re.findall("<h4>(.*?)</h4>", section) == ["seed 0", "seed 1"]
    assert by_task(section, COURSE, run=1)["right"][0]["y"][-1] == 0.75
    assert "the 2 most useful others and all whose utility (over the second half) is above 0.5." in section


def test_of_many_seeds_a_few_are_drawn(make_run):
    section = selection([make_run(f"run-{seed}", seed=seed) for seed in range(DRAWN + 2)])
    assert section.count('class="plotly-graph-div"') == 3 * DRAWN
    assert f"Drawn are {DRAWN} of {DRAWN + 2} seeds" in section
    assert cells(section)[1][1] == "1.0 ± 0.0"


def test_the_bandit_inside_of_autosem_counts_even_where_its_seeds_ended_with_other_tasks(make_run):
    runs = [
        make_run("a", method="autosem", chosen=["left", "right"]),
        make_run("b", method="autosem", seed=1, learned=["left"], chosen=["left"]),
        make_run("c"),
    ]
    section = selection(runs)
    assert re.findall("<h3>(.*?) <small>", section) == ["autosem", "thompson"]
    assert [row[-1] for row in cells(section)[1:3]] == ["2 of 2", "1 of 2"]
    alone = selection(runs[1:2])
    assert 'data-name="right"' in alone


def test_settings_tell_bandits_of_one_method_apart(make_run):
    section = selection([make_run("a", decay=0.1), make_run("b", decay=0.3)])
    assert re.findall("<h3>(.*?) <small>", section) == ["thompson (decay 0.1)", "thompson (decay 0.3)"]


def test_a_bandit_that_is_given_twice_is_drawn_once(make_run):
    run = make_run("a", method="autosem")
    section = selection([run, Run(run.folder), run])
    assert section.count('class="plotly-graph-div"') == 3
    assert cells(section)[1][1] == "1"


def test_numbers_between_good_and_bad_are_added_up(make_run):
    heard = (("left", 0.5), ("right", 0.75), ("right", 0.25))
    section = selection([make_run("a", heard, reward="gain")])
    assert [row[:3] for row in cells(section)[1:]] == [["left target", "1", "0.5"], ["right", "2", "1"]]
    good, bad = by_task(section, TURNS)["right"]
    assert (good["x"][0], bad["x"][0]) == (1, 2)


def test_nothing_is_said_of_other_runs(make_run):
    assert selection([make_run("a", method="uniform"), make_run("b", heard=())]) == ""


def test_names_of_tasks_are_escaped(make_run):
    section = selection([make_run("a", ((EVIL, 1.0), ("right", 0.0)), tasks=(EVIL, "right"))])
    assert EVIL not in section
    visible = re.sub(r"<script.*?</script>", "", section, flags=re.DOTALL)
    assert unescape(visible).count(EVIL) == 4  # heading, button (twice), table
    assert by_task(section, DENSITY)[EVIL][0]["name"] == "&lt;b&gt;%&#123;x}&lt;/b&gt;"


def test_many_rounds_have_few_marks(make_run):
    heard = [("left" if at % 2 else "right", float(at % 3 > 0)) for at in range(4 * MARKS + 1)]
    section = selection([make_run("a", heard)])
    marks = [trace for own in by_task(section, TURNS).values() for trace in own]
    assert MARKS / 2 < sum(len(trace["x"]) / 3 for trace in marks) <= MARKS
    assert "one round in 5" in section
    assert len(by_task(section, COURSE)["left"][0]["x"]) <= MARKS
    assert len(section) < 200_000


def test_the_page_has_the_section_where_there_is_a_bandit(make_run, tmp_path):
    for name in ("one", "two"):
        write_report([Run(tmp_path / "a") if name == "two" else make_run("a")], tmp_path / f"{name}.html")
    page = (tmp_path / "one.html").read_text(encoding="utf-8")
    assert "<h2>Task selection</h2>" in page
    assert (tmp_path / "two.html").read_text(encoding="utf-8") == page
    write_report([make_run("b", method="uniform")], tmp_path / "without.html")
    assert "<h2>Task selection</h2>" not in (tmp_path / "without.html").read_text(encoding="utf-8")
