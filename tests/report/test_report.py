"""The page says what the runs say: numbers by hand, and a page that stands alone."""

from __future__ import annotations

import builtins
import json
import re
import subprocess
import sys
from functools import partial
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest
from log_tools import TASKS, eval_line, joint_line, step_line, write_run
from page_tools import shown

from rota.analysis import AVERAGE, group_runs, rank, read_history
from rota.errors import RotaError
from rota.report import write_report
from rota.report._cost_section import cost_section
from rota.report._palette import method_styles
from rota.report._score_section import score_section
from rota.report._script import bundle
from rota.report._settings_section import settings_section
from rota.report._summary import summary
from rota.runlog import Ledger, Run


@pytest.fixture
def make_run(tmp_path):
    return partial(write_run, tmp_path)


class Tags(HTMLParser):
    """Every start tag with its attributes, and the text outside scripts and styles."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.text, self._hidden = [], "", False
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self._hidden = tag in ("script", "style")

    def handle_endtag(self, tag):
        self._hidden = False

    def handle_data(self, data):
        self.text += "" if self._hidden else data


def written(runs, tmp_path):
    page = tmp_path / "out" / "report.html"
    write_report(runs, page)
    return page.read_text(encoding="utf-8")


def test_best_method_is_named_and_its_lead_is_judged_against_uniform(make_run):
    base = [make_run(f"u{seed}", seed=seed, average=0.5) for seed in range(3)]
    clear = [make_run(f"c{seed}", "clear", seed, average=0.6 + seed / 100) for seed in range(3)]
    vague = [make_run(f"v{seed}", "vague", seed, average=0.51 + (seed - 1) / 5) for seed in range(3)]
    ahead = shown(summary, *base, *clear)
    assert "<strong>clear</strong> has the highest average test score: 61.0 ± 1.0" in ahead
    assert "+11.00 points against uniform (95 % interval [8.52, 13.48])" in ahead
    assert "cannot tell" not in ahead
    unclear = shown(summary, *base, *vague)
    assert "+1.00 points against uniform (95 % interval [−48.68, 50.68])" in unclear
    assert "cannot tell" in unclear
    assert "cannot tell" in shown(summary, *base[:2], *clear[:2])


def test_averages_over_different_tasks_are_not_compared(make_run):
    runs = [make_run("a", average=0.5), make_run("b", "other", average=0.9, tasks={"left": False, "noise": True})]
    assert rank(group_runs(runs)).best is None
    assert "cannot be compared" in shown(summary, *runs)


def test_what_ran_says_tasks_steps_methods_and_seeds(make_run):
    runs = [make_run("a"), make_run("b", seed=1), make_run("c", "union"), make_run("d", "union", 1)]
    told = shown(summary, *runs)
    assert "4 runs: 2 methods (uniform, union) with 2 seeds each, 4 updates a run" in told
    assert "2 tasks: left, right" in told
    assert "1 auxiliary task): noise" in told


def test_score_table_has_the_best_in_bold_and_auxiliary_tasks_dimmed(make_run):
    runs = [make_run("a", average=0.5), make_run("b", "union", average=0.6), make_run("c", "late")]
    told = shown(score_section, *runs)
    assert "<strong>60.0</strong>" in told
    assert told.count("<strong>") == 1
    assert [part.split("</tr>")[0].count("union") for part in told.split('<tr class="best">')[1:]] == [1]
    assert '<th class="dim">noise<small>test, auxiliary</small></th>' in told
    assert "0 <small>+ 1 unfinished</small>" in told


def test_without_test_rows_dev_scores_are_shown_and_it_is_said(make_run):
    run = make_run("a", average=0.5, test=False)
    told = shown(score_section, run)
    assert "There are no test scores" in told
    assert "45.0" in told
    assert "Its average dev score is 45.0." in shown(summary, run)


def test_cost_is_the_mean_over_seeds_and_relative_to_the_cheapest(make_run):
    told = shown(
        cost_section,
        *[
            make_run("a", average=0.5, cost=Ledger(updates=4, train=100)),
            make_run("b", seed=1, average=0.5, cost=Ledger(updates=4, train=300)),
            make_run("c", "exp3s", average=0.5, cost=Ledger(updates=4, train=200, scored=300)),
        ],
    )
    assert "<td>4</td><td>200</td><td>0</td><td>0</td><td>600</td><td>1.00×</td><td>1.5</td>" in told
    assert "<td>4</td><td>200</td><td>300</td><td>0</td><td>900</td><td>1.50×</td><td>1.5</td>" in told
    assert "dev trained" not in told  # nobody did


def test_settings_show_what_differs_and_a_plan_to_run_again(make_run):
    runs = [make_run("a", lr=0.1), make_run("b", "union", 1, lr=0.1)]
    told = shown(settings_section, *runs)
    differences = re.sub("<details open>.*?</details>", "", told).split("<details>")[0]
    assert '<th class="text">seed</th>' in differences
    assert "lr" not in differences
    assert "Device: cpu. Versions: rota 0.1.0." in differences
    plans = [json.loads(unescape(part.split("</pre>")[0])) for part in told.split("<pre>")[1:]]
    assert plans == [run.plan for run in runs]
    commands = [unescape(part.split("</pre>")[0]) for part in told.split('<pre class="command">')[1:]]
    assert commands[1] == "rota train --tasks toy --method union --steps 4 --lr 0.1 --seed 1"


def test_page_is_one_file_that_fetches_nothing(make_run, tmp_path):
    page = written([make_run("a", average=0.5), make_run("b", "union", average=0.6)], tmp_path)
    fetched = [(tag, own) for tag, own in Tags(page).tags if {"src", "href", "srcset", "data"} & own.keys()]
    assert fetched == []
    assert "@import" not in page.split("</style>")[0]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["report.html"]


def test_plotly_is_in_the_page_once(make_run, tmp_path):
    page = written([make_run("a", average=0.5), make_run("b", "union", average=0.6)], tmp_path)
    assert page.count(bundle()) == 1
    assert page.count('class="plotly-graph-div"') == 2 * (1 + len(TASKS)) + 2  # scores and losses of each, and shares


def test_a_page_of_many_methods_and_tasks_has_at_most_three_megabytes(make_run, tmp_path):
    rng, tasks = np.random.default_rng(0), {f"task-{k}": False for k in range(10)}
    runs = []
    for method in range(8):
        for seed in range(2):  # more seeds give wider bands, not more numbers
            lines = []
            for step in range(0, 3001, 50):
                results = {task: tuple(rng.random(2)) for task in tasks}
                mixture = dict(zip(tasks, rng.dirichlet(np.ones(len(tasks))).tolist(), strict=True))
                lines += [eval_line(step, mixture, **results), step_line(step, f"task-{step % 7}")]
            average = 0.5 + rng.random() / 10
            runs.append(make_run(f"{method}-{seed}", f"method-{method}", seed, average, lines, tasks))
    assert len(written(runs, tmp_path).encode()) <= 3e6


def test_a_page_of_fifteen_long_runs_has_at_most_two_megabytes(make_run, tmp_path):
    rng, tasks = np.random.default_rng(0), {f"task-{k}": False for k in range(5)}
    runs = []
    for number in range(15):  # nothing but noise: no curve can be drawn with fewer points than it may have
        lines = [
            eval_line(step, dict.fromkeys(tasks, rng.random() / 5), **{task: tuple(rng.random(2)) for task in tasks})
            for step in range(0, 100_000, 100)
        ]
        runs.append(make_run(str(number), f"method-{number % 5}", number // 5, 0.5, lines, tasks))
    assert len(written(runs, tmp_path).encode()) <= 2e6


def test_same_runs_give_the_same_bytes(make_run, tmp_path):
    runs = [make_run("a", average=0.5)]
    assert written(runs, tmp_path) == written([Run(runs[0].folder)], tmp_path)


def test_names_are_escaped(make_run, tmp_path):
    evil = "<script>alert('x')</script>"
    lines = [eval_line(0, {evil: 1.0}, **{evil: (1.0, 0.5)}), step_line(0, evil)]
    page = written([make_run("a", evil, average=0.5, lines=lines, tasks={evil: False})], tmp_path)
    assert evil not in page
    assert Tags(page).text.count(evil) >= 3  # title, table, legend: shown as written


def test_a_single_unfinished_run_gives_a_page(make_run, tmp_path):
    text = Tags(written([make_run("only-one")], tmp_path)).text
    assert "Unfinished" in text
    assert "only-one" in text
    assert "It has no score yet." in text


def test_a_run_without_a_log_gives_a_page(make_run, tmp_path):
    page = written([make_run("a", lines=())], tmp_path)
    assert not {"Curves", "Shares"} & set(re.findall("<h2>(.*?)</h2>", page))


def test_numbers_that_are_none_are_left_out(make_run, tmp_path):
    broken = [
        eval_line(0, left=(2.0, 0.1), right=(3.0, 0.2)),
        eval_line(2, left=(None, None), right=(2.0, 0.4)),
        {**eval_line(4, left=(None, 0.3), right=(None, None)), "mixture": None},
    ]
    run = make_run("a", lines=broken, average=0.5)
    history = read_history(run)
    assert history.loss == {"left": {0: 2.0}, "right": {0: 3.0, 2: 2.0}, AVERAGE: {0: 2.5}}
    assert "NaN" not in written([run], tmp_path).split("</main>")[0]


def test_many_methods_with_different_steps_and_tasks_give_a_page(make_run, tmp_path):
    runs = [make_run(f"m{k}", f"method-{k}", average=0.5 + k / 100, steps=4 + k) for k in range(11)]
    runs.append(make_run("z", "joint", lines=[joint_line(0, "other")], tasks={"other": False}))
    text = Tags(written(runs, tmp_path)).text
    assert all(f"method-{k}" in text for k in range(11))
    assert "4–14 updates a run" in text
    styles = method_styles(f"method-{k}" for k in range(12))
    assert len(set(styles.values())) == 12


def test_no_runs_and_a_place_that_cannot_be_written_are_refused(make_run, tmp_path):
    with pytest.raises(RotaError, match="at least one run"):
        write_report([], tmp_path / "report.html")
    with pytest.raises(RotaError, match="expects a file that it can write"):
        write_report([make_run("a")], tmp_path)


def test_without_plotly_the_report_says_what_to_install(make_run, tmp_path, monkeypatch):
    real = builtins.__import__

    def without_plotly(name, *args, **kwargs):
        if name.startswith("plotly"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_plotly)
    with pytest.raises(RotaError, match=r"needs the package plotly.*rota\[report\]"):
        write_report([make_run("a")], tmp_path / "report.html")


def test_importing_the_report_loads_neither_torch_nor_plotly():
    code = "import sys, rota.report; print([name for name in ('torch', 'plotly') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
