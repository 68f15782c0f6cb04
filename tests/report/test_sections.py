"""The page is a list of sections, to which anybody may add some."""

from __future__ import annotations

import re
from functools import partial

import pytest
from log_tools import write_run
from markupsafe import Markup
from page_tools import figure, page_of

from rota.report import ReportPage, Section, figure_html, report_text, write_report
from rota.report._sections import sections


@pytest.fixture
def runs(tmp_path):
    make = partial(write_run, tmp_path)
    return [make("a", average=0.5), make("b", "exp3s", average=0.6), make("c", "exp3s", 1)]


def titles(page):
    return re.findall("<h2>(.*?)</h2>", page)


def test_the_built_in_sections_are_in_order_and_those_without_anything_to_show_are_left_out(runs):
    shown = titles(report_text(runs))
    assert shown == ["Scores", "Shares", "Curves", "Convergence", "Cost", "Settings"]
    known = [section.title for section in sections()]
    assert [title for title in known if title in shown] == shown


def test_sections_of_ones_own_stand_below_the_others_and_one_that_is_none_does_not(runs, tmp_path):
    heard = []

    def best(page):
        heard.append(page)
        return f"{page.scores.ranking.best.name} < everything & more"

    own = [
        Section("Winner <b>", best),
        Section("Nothing", lambda page: None),
        Section("Markup", lambda page: Markup("<ol><li>one</li></ol>")),
    ]
    write_report(runs, tmp_path / "page.html", extra_sections=own)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert titles(page)[-3:] == ["Settings", "Winner &lt;b&gt;", "Markup"]
    assert "<p>exp3s &lt; everything &amp; more</p>" in page
    assert "<ol><li>one</li></ol>" in page
    assert isinstance(heard[0], ReportPage)


def test_sections_hear_the_runs_and_how_they_are_drawn(runs):
    page = page_of(*runs)
    assert [group.name for group in page.groups] == ["uniform", "exp3s"]
    assert page.tasks == {"left": False, "right": False, "noise": True}
    assert list(page.method_styles) == list(page.histories) == ["uniform", "exp3s"]
    assert len({style.colour for style in page.method_styles.values()}) == 2
    assert list(page.task_styles) == list(page.tasks)
    assert [len(own) for own in page.histories.values()] == [1, 2]
    assert page.histories is page.histories  # logs are read once
    assert page.scores.ranking.best.name == "exp3s"
    assert [cost.group.name for cost in page.costs] == ["uniform", "exp3s"]
    with pytest.raises(AttributeError):
        page.baseline = "exp3s"


def test_a_section_of_ones_own_may_draw(runs):
    import plotly.graph_objects as go

    def drawn(page):
        picture = go.Figure(go.Bar(x=["</script><b>"], y=[0.5]), layout={"height": 200})
        return Markup("<p>Bars</p>{}").format(figure_html(picture, "my-bars"))

    page = report_text(runs, extra_sections=[Section("Bars", drawn)])
    (trace,), layout = figure(page, "my-bars")
    assert (trace["type"], trace["x"], layout["height"]) == ("bar", ["</script><b>"], 200)
    assert "</script><b>" not in page
