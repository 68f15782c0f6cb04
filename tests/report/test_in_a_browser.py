"""A browser shows the page of a real comparison: nothing goes wrong, everything is drawn, nothing is fetched."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from html import unescape

import pytest

from rota.analysis import all_scores, group_runs
from rota.plans import make_plan
from rota.report import report_text
from rota.report._words import interval
from rota.runs import run_plan

NAMES = ("chromium", "chromium-browser", "google-chrome")
BROWSER = os.environ.get("ROTA_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-extensions", "--disable-dev-shm-usage"),
    *("--host-resolver-rules=MAP * ~NOTFOUND", "--proxy-server=127.0.0.1:9"),  # nothing outside can be reached
    *("--enable-logging=stderr", "--v=0", "--virtual-time-budget=60000", "--dump-dom"),
)
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
    marks: all(figure, ".scatterlayer path, .heatmaplayer image").length,
    width: figure.clientWidth,
  }));
  const fetched = performance.getEntriesByType("resource").map((entry) => entry.name);
  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  document.getElementById("told").textContent = JSON.stringify({ mistakes, figures, fetched, wide });
}
const finished = setInterval(() => { if (!waiting.size) { clearInterval(finished); setTimeout(tell, 500); } }, 50);
</script>"""

pytestmark = pytest.mark.skipif(BROWSER is None, reason="expects chromium in PATH or in ROTA_CHROMIUM; found none")


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


def opened(page, folder, *flags):
    """The document after its scripts have run, and what the browser complained about."""
    path = folder / "page.html"
    path.write_text(page.replace("<head>", f"<head>{WATCH}", 1).replace("</body>", f"{TELL}</body>"), encoding="utf-8")
    done = subprocess.run(
        [BROWSER, *FLAGS, *flags, f"--user-data-dir={folder / 'profile'}", path.as_uri()],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout, [line for line in done.stderr.splitlines() if ":CONSOLE" in line]


@pytest.mark.parametrize(
    "flags", [["--window-size=1280,900"], ["--window-size=500,800", "--blink-settings=preferredColorScheme=0"]]
)
def test_everything_is_drawn_and_nothing_goes_wrong(runs, tmp_path, flags):
    page = report_text(runs)
    document, complaints = opened(page, tmp_path, *flags)
    told = json.loads(unescape(re.search(r'<pre id="told">(.*?)</pre>', document, re.S)[1]))
    assert complaints == []
    assert told["mistakes"] == []
    assert told["fetched"] == []
    assert told["wide"] <= 0  # what is wide scrolls by itself, not with the page
    assert len(told["figures"]) == page.count('class="plotly-graph-div"') > 10
    for figure in told["figures"]:
        assert figure["surfaces"] >= 1, figure
        assert figure["marks"] >= 1, figure
        assert figure["width"] > 200, figure


def test_the_winner_and_the_intervals_are_in_the_document(runs, tmp_path):
    document, _ = opened(report_text(runs, baseline="active"), tmp_path)
    found = all_scores(group_runs(runs), "active")
    (row,) = re.findall(r'<tr class="best">(.*?)</tr>', document)
    assert found.ranking.best.name in row
    assert f"{100 * max(score.average.mean for score in found.rows):.1f}" in row
    differences = [score.difference for score in found.rows if score.difference]
    assert len(differences) == 2
    assert all(interval(difference) in document for difference in differences)
