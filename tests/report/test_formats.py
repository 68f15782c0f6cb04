"""The report in other forms has the numbers of the page; curves keep their shape, and colours can be told apart."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

from rota.analysis import MeanCurve, group_runs, mean_curve, paired
from rota.errors import RotaError
from rota.report import report_text, write_report
from rota.report._palette import METHODS, method_styles
from rota.report._panels import COLUMNS, thinned
from rota.runlog import RUN, SCHEMA, SUMMARY, Ledger, Run, write_json

SCORES = {"uniform": (0.50, 0.52, 0.54), "exp3s": (0.60, 0.62, 0.65), "vague": (0.40, 0.66, 0.56)}


def result(split, values):
    tasks = {
        task: {"loss": 1.0, "score": value, "metrics": {"accuracy": value, "f1": value / 2}, "n": 9}
        for task, value in values.items()
    }
    return {"split": split, "average": float(np.mean([*values.values()])), "tasks": tasks}


@pytest.fixture
def make_run(tmp_path):
    def make(name, method="uniform", seed=0, finished=True, train=100, **scores):
        folder = tmp_path / name
        folder.mkdir()
        tasks = {task: {"auxiliary": False, "rows": {"train": 9}} for task in scores}
        plan = {"steps": 4, "seed": seed, "tasks": ["toy"], "method": method, "options": {}}
        write_json(folder / RUN, {"schema": SCHEMA, "id": name, "plan": plan, "tasks": tasks})
        if finished:
            best = {"step": 4, "dev": result("dev", scores), "test": None}
            cost = Ledger(updates=4, train=train).as_dict()
            write_json(folder / SUMMARY, {"steps": 4, "best": best, "updates": {}, "cost": cost, "seconds": 2.0})
        return Run(folder)

    return make


@pytest.fixture
def runs(make_run):
    return [
        make_run(f"{method}-{seed}", method, seed, train=100 if method == "uniform" else 150, left=own, right=own + 0.1)
        for method, scores in SCORES.items()
        for seed, own in enumerate(scores)
    ]


def test_json_has_the_numbers_of_the_page(runs):
    found = json.loads(report_text(runs, "json"))
    assert (found["split"], found["best"], found["baseline"]) == ("dev", "exp3s", "uniform")
    groups = {group["name"]: group for group in found["groups"]}
    assert [group["best"] for group in groups.values()] == [False, True, False]
    assert groups["uniform"]["difference"] is None
    assert groups["exp3s"]["average"]["mean"] == pytest.approx(np.mean(SCORES["exp3s"]) + 0.05)
    by_seed = [
        np.std([own, own / 2, own + 0.1, (own + 0.1) / 2]) for own in SCORES["exp3s"]
    ]  # two metrics of each task
    assert groups["exp3s"]["task_sigma"] == pytest.approx(np.mean(by_seed))
    clear, vague = (
        paired(dict(enumerate(SCORES[name])), dict(enumerate(SCORES["uniform"]))) for name in ("exp3s", "vague")
    )
    assert groups["exp3s"]["difference"]["interval"] == pytest.approx([clear.low, clear.high])
    assert groups["exp3s"]["difference"]["tells"]
    assert groups["exp3s"]["difference"]["seeds_needed"] is None
    assert groups["vague"]["difference"]["seeds_needed"] == vague.seeds_needed > 3
    assert groups["exp3s"]["cost"]["relative"] == pytest.approx(1.5)
    assert [run["name"] for run in found["runs"]] == [run.folder.name for run in runs]
    assert found["runs"][0]["scores"]["dev"]["left"] == {"score": 0.5, "accuracy": 0.5, "f1": 0.25}


def test_csv_has_a_row_for_each_number(runs):
    rows = list(csv.DictReader(io.StringIO(report_text(runs, "csv"))))
    assert len(rows) == len(runs) * (2 * 3 + 1)
    assert list(rows[0].values()) == ["uniform", "0", "dev", "left", "score", "0.5"]
    assert rows[6]["task"] == "average"
    assert float(rows[6]["value"]) == pytest.approx(0.55)


def test_markdown_has_sentences_and_tables(runs):
    text = report_text(runs, "md")
    lines = text.splitlines()
    assert lines[0] == "# toy: 3 methods, 9 runs"
    assert "**exp3s** has the highest average dev score: 67.3 ± 2.5" in text
    row = next(line for line in lines if line.startswith("| exp3s"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    header = [cell.strip() for cell in next(line for line in lines if "seeds needed" in line).strip("|").split("|")]
    assert len(cells) == len(header)
    assert cells[1] == "**67.3 ± 2.5**"
    assert cells[2].startswith("+10.3 [")
    assert "<" not in text.replace("&lt;", "")
    assert "rota train --tasks toy --method exp3s --steps 4 --seed 0" in lines


def test_a_bar_in_a_name_does_not_end_a_cell(make_run):
    text = report_text([make_run("a", "a|b", left=0.5, right=0.4)], "md")
    assert "| a\\|b |" in text


def test_unfinished_runs_have_no_numbers(make_run):
    runs = [make_run("a", finished=False, left=0.5)]
    assert report_text(runs, "csv") == "method,seed,split,task,metric,value\n"
    found = json.loads(report_text(runs, "json"))
    assert found["best"] is None
    assert found["runs"][0] == {"name": "a", "group": "uniform", "seed": 0, "finished": False, "scores": {}}
    assert found["groups"][0]["average"] == {"mean": None, "std": None, "n": 0}
    assert "No run is finished" in report_text(runs, "md")


def test_the_same_runs_give_the_same_text(runs):
    for form in ("md", "csv", "json"):
        assert report_text(runs, form) == report_text([Run(run.folder) for run in runs], form)


def test_names_of_the_user_make_groups_and_one_is_the_baseline(runs, tmp_path):
    names = {run.folder: "plain" if run.plan["method"] == "uniform" else "other" for run in runs}
    assert [(group.name, len(group.runs)) for group in group_runs(runs, names)] == [("plain", 3), ("other", 6)]
    found = json.loads(report_text(runs, "json", baseline="other", names=names))
    assert found["baseline"] == "other"
    assert [group["difference"] is None for group in found["groups"]] == [False, True]
    page = tmp_path / "page.html"
    write_report(runs, page, baseline="plain", names=names)
    assert "− plain<small>paired, 95 % interval</small>" in page.read_text(encoding="utf-8")


def test_runs_without_a_name_keep_their_method(runs):
    groups = group_runs(runs, {runs[0].folder: "exp3s", runs[1].folder: "mine"})
    assert [group.name for group in groups] == ["exp3s", "mine", "uniform", "exp3s (unnamed)", "vague"]


def test_a_baseline_that_nobody_knows_is_refused_and_one_that_failed_is_not(runs):
    with pytest.raises(RotaError, match=r"Unknown baseline 'unifrm'. Did you mean 'uniform'\?"):
        report_text(runs, "md", baseline="unifrm")
    with pytest.raises(RotaError, match="Unknown format 'pdf'"):
        report_text(runs, "pdf")
    names = {run.folder: run.plan["method"] for run in runs}
    assert json.loads(report_text(runs, "json", baseline="failed", names=names))["baseline"] is None


def test_tasks_that_were_trained_alone_are_a_measure_and_no_rivals(make_run):
    both = [make_run(f"u{seed}", seed=seed, left=0.5, right=0.4 + seed / 5) for seed in range(2)]
    alone = [
        make_run("l", "singletask", left=0.5),
        make_run("r", "singletask", right=0.55),
        make_run("j", "joint", left=0.6, right=0.6),
    ]
    found = json.loads(report_text([*both, *alone], "json"))
    reached = {group["name"]: group["as_good_as_alone"] for group in found["groups"]}
    assert found["best"] == "joint"
    assert reached["uniform"] == 1.5  # left twice, right once
    assert reached["joint"] == 2
    page = report_text([*both, *alone])
    assert "tasks ≥ single task" in page
    assert "<td>1.5 of 2</td>" in page


def test_a_long_curve_keeps_its_peaks_and_ends():
    rng = np.random.default_rng(0)
    values = rng.normal(size=5000)
    values[[1234, 4321]] = 50, -50
    curve = mean_curve([dict(enumerate(values.tolist())), dict(enumerate((values + rng.normal(size=5000)).tolist()))])
    thin = thinned(curve)
    assert len(thin.steps) <= 4 * COLUMNS + 2
    assert len(thinned(curve, 25).steps) <= 4 * 25 + 2
    assert set(thin.steps) >= {0, 1234, 4321, 4999}
    assert (thin.low.min(), thin.high.max()) == (curve.low.min(), curve.high.max())
    at = np.searchsorted(curve.steps, thin.steps)
    np.testing.assert_array_equal(thin.mean, curve.mean[at])


def test_a_short_curve_stays_whole():
    steps = np.arange(COLUMNS)
    curve = MeanCurve(steps, steps / 1.0, steps / 1.0, steps / 1.0, steps)
    assert thinned(curve) is curve


# Machado, Oliveira and Fernandes (2009), severity 1: what people without one kind of cone see, in linear RGB.
BLIND = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


@pytest.mark.parametrize("kind", BLIND)
def test_who_sees_few_colours_can_tell_the_lines_apart(kind):
    def seen(colour):
        rgb = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        x, y, z = (
            np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
            @ np.clip(np.array(BLIND[kind]) @ linear, 0, 1)
            / [0.9505, 1.0, 1.089]
        )
        f = [value ** (1 / 3) if value > 0.008856 else 7.787 * value + 16 / 116 for value in (x, y, z)]
        return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])  # CIELAB

    looks = list(method_styles(f"method-{k}" for k in range(len(METHODS))).values())
    for place, one in enumerate(looks):
        for other in looks[:place]:
            apart = np.linalg.norm(seen(one.colour) - seen(other.colour))
            assert one.dash != other.dash or apart > 10, (one, other, apart)


def test_groups_of_tasks_have_averages_in_every_form(make_run):
    own = [make_run(f"u{seed}", seed=seed, rte=0.5 + seed / 10, sst2=0.7, cb=0.6, digits=0.1) for seed in range(2)]
    several = [*own, make_run("auto", "auto", digits=0.1)]
    found = {group["name"]: group["averages"] for group in json.loads(report_text(several, "json"))["groups"]}
    assert found["auto"] == {}
    assert found["uniform"].keys() == {"GLUE", "SuperGLUE"}
    assert found["uniform"]["GLUE"] == {
        **{"mean": pytest.approx(0.625), "std": pytest.approx(0.05 / np.sqrt(2))},
        **{"n": 2, "entries": 2, "of": 9},
    }
    assert found["uniform"]["SuperGLUE"]["mean"] == pytest.approx(0.575)
    page = report_text(several, "md")
    assert "| method | GLUE dev | SuperGLUE dev |" in page
    assert "| uniform | 62.5 ± 3.5 2 of 9 | 57.5 ± 3.5 2 of 8 |" in page
    assert "| auto | – | – |" in page
    assert "Groups of tasks" not in report_text([several[-1]], "md")


def test_all_of_glue_is_called_by_its_names(make_run):
    run = make_run("all", rte=0.8)
    tests = dict.fromkeys(("qnli", "rte", "sst2"), ("accuracy",)) | {"cola": ("matthews",)}
    tests |= {"mnli": ("accuracy_matched", "accuracy_mismatched"), "mrpc": ("accuracy", "f1")}
    tests |= {"qqp": ("accuracy", "f1"), "stsb": ("pearson", "spearman")}
    content = json.loads((run.folder / SUMMARY).read_text())
    about = json.loads((run.folder / RUN).read_text())
    about["tasks"] = {task: {"auxiliary": False, "rows": {"train": 9}} for task in tests}
    content["best"]["dev"]["tasks"] = {
        task: {"loss": 1.0, "score": 0.7, "n": 9, "metrics": {name: 0.8 - k / 5 for k, name in enumerate(names)}}
        for task, names in tests.items()
    }
    write_json(run.folder / RUN, about)
    write_json(run.folder / SUMMARY, content)
    (group,) = json.loads(report_text([Run(run.folder)], "json"))["groups"]
    assert group["averages"].keys() == {"glue-001", "glue-002"}
    assert group["averages"]["glue-001"]["mean"] == pytest.approx(0.7)
    nine = [0.8, 0.8, 0.6, 0.6, 0.8, 0.6, 0.8, 0.8, 0.6]  # cola, both of mnli, f1, qnli, f1, rte, sst2, spearman
    assert group["averages"]["glue-002"]["mean"] == pytest.approx(np.mean(nine))
    assert group["task_sigma"] == pytest.approx(np.std([0.8] * 4 + [0.8, 0.6] * 4))
