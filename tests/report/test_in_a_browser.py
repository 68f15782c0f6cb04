"""A browser shows the page of a real comparison: nothing goes wrong, everything is drawn, nothing is fetched."""

from __future__ import annotations

import re

import pytest
from browser_tools import TELEPHONE, needs_browser, opened, told

from rota import Exp3S, Mix, uniform
from rota.analysis import all_scores, group_runs
from rota.plans import make_plan
from rota.report import report_text
from rota.report._script import CARTESIAN
from rota.report._words import interval
from rota.runlog import find_runs
from rota.runs import run_plan

WATCH = """<script>
const mistakes = [];
for (const kind of ["error", "unhandledrejection", "securitypolicyviolation"]) {
  addEventListener(kind, (event) => mistakes.push(`${kind}: ${event.message ?? event.reason ?? event.type}`), true);
}
</script>"""
TELL = """<pre id="told"></pre><script>
const all = (place, wanted) => [...place.querySelectorAll(wanted)];
function tell() {
  const figures = all(document, ".plotly-graph-div").map((figure) => ({
    name: figure.id,
    surfaces: all(figure, ".main-svg").length,
    marks: all(figure, ".scatterlayer path").length,
    width: figure.clientWidth,
  }));
  const fetched = performance.getEntriesByType("resource").map((entry) => entry.name);
  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  const kinds = Object.keys(Plotly.PlotSchema.get().traces);
  const wider = all(document, ".scroll").map((own) => [own.scrollWidth - own.clientWidth > 2, own.matches(".more")]);
  const told = { mistakes, figures, fetched, wide, kinds, wider, width: innerWidth };
  document.getElementById("told").textContent = JSON.stringify(told);
}
const finished = setInterval(() => { if (!waiting.size) { clearInterval(finished); setTimeout(tell, 500); } }, 50);
</script>"""

pytestmark = needs_browser


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    fields = {"tasks": ["digits"], "steps": 100, "eval_every": 10}
    methods = {"uniform": {}, "active": {"every": 20}, "mt-uncertainty": {}}
    return [
        run_plan(
            make_plan({**fields, "method": method, "options": options, "seed": seed}),
            folder / f"{method}-{seed}",
            progress=False,
        )
        for method, options in methods.items()
        for seed in range(3)
    ]


def shown(page, folder, *flags, telephone=False):
    """The document after its scripts have run, and what the browser complained about."""
    path, around = folder / "page.html", folder / "telephone.html"
    path.write_text(page.replace("<head>", f"<head>{WATCH}", 1).replace("</body>", f"{TELL}</body>"), encoding="utf-8")
    around.write_text(TELEPHONE.format(path.name), encoding="utf-8")
    address = (around if telephone else path).as_uri()
    return opened(address, folder / "profile", "--allow-file-access-from-files", *flags)


def looped(folder, sources, steps):
    """Loops outside of rota with many sources; losses by formula, and some scores where sources are few."""
    names = [f"source-{k}" for k in range(sources)]
    data = {name: range(20 + 7 * k) for k, name in enumerate(names)}
    policies = {"uniform": uniform, "bandit": Exp3S}
    for name, policy in policies.items():
        mix = Mix(data, policy(names), batch_size=2, log=folder / name, lag=0, epoch=steps)
        for step, _ in enumerate(mix):
            mix.tell(1 + names.index(mix.current.task) / (step + 1))
            if sources < 100 and step % 50 == 49:
                mix.observe({name: 0.5 + k / 100 + step / 1000 for k, name in enumerate(names)}, about="score")
        mix.close()
    return find_runs([folder])


@pytest.fixture(scope="module")
def pages(runs, tmp_path_factory):
    place = tmp_path_factory.mktemp("loops")
    return {
        "one run": report_text(runs[:1]),
        "nine runs": report_text(runs),
        "20 tasks": report_text(looped(place / "20", 20, 300)),
        "300 sources": report_text(looped(place / "300", 300, 900)),
    }


WINDOWS = {"wide": ["--window-size=1280,900"], "dark": ["--blink-settings=preferredColorScheme=0"], "telephone": []}


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("data", ["one run", "nine runs", "20 tasks", "300 sources"])
def test_everything_is_drawn_and_nothing_goes_wrong(pages, tmp_path, data, window):
    page = pages[data]
    assert len(page.encode()) < 2e6
    document, complaints = shown(page, tmp_path, *WINDOWS[window], telephone=window == "telephone")
    seen = told(document)
    assert complaints == []
    assert set(seen["kinds"]) == CARTESIAN  # what it does not know it would draw as a scatter, without a word
    assert all(wider == more for wider, more in seen["wider"])  # what scrolls shows it
    assert seen["mistakes"] == []
    assert seen["fetched"] == []
    assert seen["wide"] <= 0  # what is wide scrolls by itself, not with the page
    assert len(seen["figures"]) == page.count('class="plotly-graph-div"') > 10
    for figure in seen["figures"]:
        assert figure["surfaces"] >= 1, figure
        assert figure["marks"] >= 1, figure
        assert figure["width"] > 200, figure
    assert window != "telephone" or seen["width"] == 390


def test_the_winner_and_the_intervals_are_in_the_document(runs, tmp_path):
    document, _ = shown(report_text(runs, baseline="active"), tmp_path)
    found = all_scores(group_runs(runs), "active")
    (row,) = re.findall(r'<tr class="best">(.*?)</tr>', document)
    assert found.ranking.best.name in row
    assert f"{100 * max(score.average.mean for score in found.rows):.1f}" in row
    differences = [score.difference for score in found.rows if score.difference]
    assert len(differences) == 2
    assert all(interval(difference) in document for difference in differences)
