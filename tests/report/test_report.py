"""The page says what the runs say: numbers by hand, and a page that stands alone."""

from __future__ import annotations

import builtins
import json
import re
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest

from rota.errors import RotaError
from rota.report import paired, write_report
from rota.report._groups import group_runs, run_names, tasks_of
from rota.report._history import AVERAGE, read_history
from rota.report._numbers import mean_curve, mixture_tiles, realised_tiles
from rota.report._palette import method_looks
from rota.report._scores import rank, scores
from rota.report._settings import settings_section
from rota.report._tables import cost_table, score_table
from rota.report._words import what_it_shows, what_ran
from rota.runlog import LOG, RUN, SCHEMA, SUMMARY, Ledger, LogWriter, Run, write_json

TASKS = {"left": False, "right": False, "noise": True}


def evaluation(split="dev", **results):
    """Results by task as (loss, score)."""
    tasks = {name: {"loss": loss, "score": score, "metrics": {}, "n": 10} for name, (loss, score) in results.items()}
    own = [score for name, (_, score) in results.items() if not TASKS.get(name)]
    average = None if not own or None in own else sum(own) / len(own)
    return {"split": split, "average": average, "loss": None, "tasks": tasks}


def eval_line(step, mixture=None, **results):
    return {"kind": "eval", "step": step, **evaluation(**results), "mixture": mixture or {}}


def step_line(step, task):
    return {"kind": "step", "step": step, "task": task, "probability": 0.5, "loss": 1.0, "n": 2, "ids": [0, 1]}


def joint_line(step, *tasks):
    parts = {task: {"weight": 0.5, "loss": 1.0, "n": 2, "ids": [0]} for task in tasks}
    return {"kind": "step", "step": step, "task": None, "probability": None, "tasks": parts}


LOG_LINES = (
    eval_line(0, {"left": 0.5, "right": 0.5}, left=(2.0, 0.1), right=(3.0, 0.2), noise=(2.0, 0.1)),
    step_line(0, "left"),
    step_line(1, "right"),
    eval_line(2, {"left": 0.7, "right": 0.3}, left=(1.0, 0.5), right=(2.0, 0.4), noise=(2.2, 0.1)),
    step_line(2, "left"),
    step_line(3, "left"),
    eval_line(4, {"left": 0.9, "right": 0.1}, left=(1.2, 0.6), right=(1.6, 0.4), noise=(2.4, 0.1)),
)


@pytest.fixture
def make_run(tmp_path):
    def make(name, method="uniform", seed=0, average=None, lines=LOG_LINES, tasks=TASKS, cost=None, test=True, **plan):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        info = {task: {"kind": "x", "auxiliary": aux, "rows": {"train": 9}} for task, aux in tasks.items()}
        plan = {"steps": 4, "seed": seed, "tasks": ["toy"], "method": method, "options": {}, **plan}
        surroundings = {"policy": "Fixed", "device": "cpu", "versions": {"rota": "0.1.0"}}
        write_json(folder / RUN, {"schema": SCHEMA, "id": "x", "plan": plan, "tasks": info, **surroundings})
        log = LogWriter(folder / LOG)
        for line in lines:
            log.write(line)
        log.close()
        if average is not None:
            results = {task: (1.0, 0.1 if aux else average) for task, aux in tasks.items()}
            best = {
                "step": 4,
                "rule": "score",
                "dev": evaluation(**{task: (loss, score - 0.05) for task, (loss, score) in results.items()}),
                "test": evaluation("test", **(results if test else {})),
            }
            cost = (cost or Ledger(updates=4, train=8)).as_dict()
            write_json(folder / SUMMARY, {"steps": 4, "best": best, "updates": {}, "cost": cost, "seconds": 1.5})
        return Run(folder)

    return make


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


def test_runs_that_differ_in_their_seed_only_are_one_group(make_run):
    runs = [make_run("a", seed=0), make_run("b", seed=1, device="cuda"), make_run("c", method="exp3s")]
    assert [(group.name, len(group.runs)) for group in group_runs(runs)] == [("uniform", 2), ("exp3s", 1)]


def test_runs_of_a_method_with_different_settings_are_not_averaged(make_run):
    runs = [make_run("a", "exp3s", options={"eta": 0.1}), make_run("b", "exp3s", options={"eta": 0.2})]
    assert [group.name for group in group_runs(runs)] == ["exp3s (eta 0.1)", "exp3s (eta 0.2)"]


def test_runs_of_equal_name_are_told_apart_by_the_folder_above(make_run):
    assert run_names([make_run("x/a"), make_run("y/a"), make_run("y/b")]) == ["x/a", "y/a", "b"]


def test_tasks_are_the_union_and_those_that_count_come_first(make_run):
    runs = [make_run("a", tasks={"noise": True, "left": False}), make_run("b", tasks={"other": False})]
    assert list(tasks_of(runs).items()) == [("left", False), ("other", False), ("noise", True)]


def test_score_is_mean_and_sample_deviation_over_seeds(make_run):
    group, *_ = group_runs([make_run("a", average=0.5), make_run("b", seed=1, average=0.8), make_run("c", seed=2)])
    test, dev = scores(group, "test"), scores(group, "dev")
    assert (test.mean, test.n) == (pytest.approx(0.65), 2)
    assert test.std == pytest.approx(0.3 / np.sqrt(2))
    assert dev.mean == pytest.approx(0.60)
    assert scores(group, "test", "noise").mean == pytest.approx(0.1)


def test_paired_difference_uses_shared_seeds_and_its_standard_error():
    difference = paired({0: 0.6, 1: 0.8, 2: 0.7, 9: 0.0}, {0: 0.5, 1: 0.5, 2: 0.5})
    assert difference.mean == pytest.approx(0.2)
    assert difference.error == pytest.approx(0.1 / np.sqrt(3))
    assert difference.n == 3
    assert not difference.tells  # three seeds that spread so far: the interval has zero in it
    assert not paired({0: 0.6, 1: 0.8}, {0: 0.5, 1: 0.5}).tells  # two seeds
    assert not paired({0: 0.6, 1: 0.4, 2: 0.5}, {0: 0.5, 1: 0.5, 2: 0.5}).tells  # mean zero


def test_average_loss_is_over_the_tasks_that_count(make_run):
    history = read_history(make_run("a"))
    assert history.loss[AVERAGE] == {0: 2.5, 2: 1.5, 4: pytest.approx(1.4)}
    assert history.score[AVERAGE] == {0: pytest.approx(0.15), 2: pytest.approx(0.45), 4: pytest.approx(0.5)}


def test_curve_averages_the_runs_that_have_a_step():
    curve = mean_curve([{0: 4.0, 10: 2.0, 20: 1.0}, {0: 2.0, 10: 1.0}, {5: 9.0}])
    assert curve.steps.tolist() == [0, 5, 10, 20]
    assert curve.mean.tolist() == [3.0, 9.0, 1.5, 1.0]
    assert curve.low.tolist() == [2.0, 9.0, 1.0, 1.0]
    assert curve.high.tolist() == [4.0, 9.0, 2.0, 1.0]
    assert curve.runs.tolist() == [2, 1, 2, 1]


def test_minimum_is_the_first_of_the_lowest_means():
    assert mean_curve([{0: 3.0, 10: 1.0, 20: 1.0}]).minimum == (10, 1.0)
    assert mean_curve([]).minimum is None


def test_mixture_tiles_are_means_around_the_evaluations(make_run):
    other = [eval_line(0, {"left": 0.1, "right": 0.9}, left=(1.0, 0.1))]
    tiles = mixture_tiles([read_history(make_run("a")), read_history(make_run("b", lines=other))], ["left", "noise"])
    assert tiles.edges.tolist() == [-1, 1, 3, 5]
    np.testing.assert_allclose(tiles.values, [[0.3, 0.7, 0.9], [np.nan] * 3])


def test_realised_shares_count_the_turns_between_evaluations(make_run):
    tiles = realised_tiles([read_history(make_run("a"))], list(TASKS))
    assert tiles.edges.tolist() == [0, 2, 4]
    assert tiles.labels == ["updates 1–2", "updates 3–4"]
    np.testing.assert_allclose(tiles.values, [[0.5, 1.0], [0.5, 0.0], [0.0, 0.0]])


def test_a_joint_step_is_a_turn_of_every_task_in_it(make_run):
    lines = [joint_line(0, "left", "right"), step_line(1, "left"), eval_line(2, left=(1, 1)), joint_line(2, "noise")]
    tiles = realised_tiles([read_history(make_run("a", lines=lines))], list(TASKS))
    assert tiles.edges.tolist() == [0, 2, 3]  # the update after the last evaluation has its own tile
    np.testing.assert_allclose(tiles.values, [[2 / 3, 0], [1 / 3, 0], [0, 1]])


def test_realised_shares_are_means_over_the_runs_that_got_there(make_run):
    short = [step_line(0, "noise"), step_line(1, "noise"), eval_line(2, left=(1, 1))]
    tiles = realised_tiles([read_history(make_run("a")), read_history(make_run("b", lines=short))], list(TASKS))
    np.testing.assert_allclose(tiles.values, [[0.25, 1.0], [0.25, 0.0], [0.5, 0.0]])


def test_a_task_that_no_run_has_is_not_a_task_without_turns(make_run):
    tiles = realised_tiles([read_history(make_run("a"))], [*TASKS, "elsewhere"])
    assert tiles.values[2].tolist() == [0, 0]
    assert np.isnan(tiles.values[3]).all()


def test_best_method_is_named_and_its_lead_is_judged_against_uniform(make_run):
    base = [make_run(f"u{seed}", seed=seed, average=0.5) for seed in range(3)]
    clear = [make_run(f"c{seed}", "clear", seed, average=0.6 + seed / 100) for seed in range(3)]
    vague = [make_run(f"v{seed}", "vague", seed, average=0.51 + (seed - 1) / 5) for seed in range(3)]
    ahead = what_it_shows(group_runs(base + clear))
    assert "<strong>clear</strong> has the highest average test score: 61.0 ± 1.0" in ahead
    assert "+11.00 points against uniform (95 % interval [8.52, 13.48])" in ahead
    assert "cannot tell" not in ahead
    unclear = what_it_shows(group_runs(base + vague))
    assert "+1.00 points against uniform (95 % interval [−48.68, 50.68])" in unclear
    assert "cannot tell" in unclear
    assert "cannot tell" in what_it_shows(group_runs(base[:2] + clear[:2]))


def test_averages_over_different_tasks_are_not_compared(make_run):
    groups = group_runs(
        [make_run("a", average=0.5), make_run("b", "other", average=0.9, tasks={"left": False, "noise": True})]
    )
    assert rank(groups).best is None
    assert "cannot be compared" in what_it_shows(groups)


def test_what_ran_says_tasks_steps_methods_and_seeds(make_run):
    told = what_ran(
        group_runs([make_run("a"), make_run("b", seed=1), make_run("c", "union"), make_run("d", "union", 1)])
    )
    assert "4 runs: 2 methods (uniform, union) with 2 seeds each, 4 updates a run" in told
    assert "2 tasks: left, right" in told
    assert "1 auxiliary task): noise" in told


def test_score_table_has_the_best_in_bold_and_auxiliary_tasks_dimmed(make_run):
    groups = group_runs([make_run("a", average=0.5), make_run("b", "union", average=0.6), make_run("c", "late")])
    told = score_table(groups, method_looks(group.name for group in groups))
    assert "<strong>60.0</strong>" in told
    assert told.count("<strong>") == 1
    assert [part.split("</tr>")[0].count("union") for part in told.split('<tr class="best">')[1:]] == [1]
    assert '<th class="dim">noise<small>test, auxiliary</small></th>' in told
    assert "0 <small>+ 1 unfinished</small>" in told


def test_without_test_rows_dev_scores_are_shown_and_it_is_said(make_run):
    groups = group_runs([make_run("a", average=0.5, test=False)])
    told = score_table(groups, method_looks(["uniform"]))
    assert "There are no test scores" in told
    assert "45.0" in told
    assert "dev score of uniform is 45.0" in what_it_shows(groups)


def test_cost_is_the_mean_over_seeds_and_relative_to_the_cheapest(make_run):
    groups = group_runs(
        [
            make_run("a", average=0.5, cost=Ledger(updates=4, train=100)),
            make_run("b", seed=1, average=0.5, cost=Ledger(updates=4, train=300)),
            make_run("c", "exp3s", average=0.5, cost=Ledger(updates=4, train=200, scored=300)),
        ]
    )
    told = cost_table(groups, method_looks(group.name for group in groups))
    assert "<td>4</td><td>200</td><td>0</td><td>0</td><td>600</td><td>1.00×</td><td>1.5</td>" in told
    assert "<td>4</td><td>200</td><td>300</td><td>0</td><td>900</td><td>1.50×</td><td>1.5</td>" in told
    assert "dev trained" not in told  # nobody did


def test_settings_show_what_differs_and_a_plan_to_run_again(make_run):
    runs = [make_run("a", lr=0.1), make_run("b", "union", 1, lr=0.1)]
    groups = group_runs(runs)
    told = settings_section(groups, method_looks(group.name for group in groups))
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
    from plotly.offline import get_plotlyjs

    page = written([make_run("a", average=0.5), make_run("b", "union", average=0.6)], tmp_path)
    assert page.count(get_plotlyjs()) == 1
    assert (
        page.count('class="plotly-graph-div"') >= 2 * (1 + len(TASKS)) + 1
    )  # scores and losses of each, and the mixtures


def test_a_page_of_many_methods_and_tasks_has_at_most_six_megabytes(make_run, tmp_path):
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
    assert len(written(runs, tmp_path).encode()) <= 6e6


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
    assert "nothing to compare yet" in text


def test_a_run_without_a_log_gives_a_page(make_run, tmp_path):
    assert "No run has been evaluated yet" in written([make_run("a", lines=())], tmp_path)


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
    looks = method_looks(f"method-{k}" for k in range(12))
    assert len(set(looks.values())) == 12


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
    with pytest.raises(RotaError, match="pip install plotly"):
        write_report([make_run("a")], tmp_path / "report.html")


def test_importing_the_report_loads_neither_torch_nor_plotly():
    code = "import sys, rota.report; print([name for name in ('torch', 'plotly') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
