"""The averages over GLUE, by hand."""

from __future__ import annotations

import pytest

from rota.data import glue_averages

# Table 2 of CA-MTL, BERT-base trained one by one: nine entries whose mean is printed as 79.6.
PRINTED = {
    "cola": {"matthews": 52.1},
    "mnli": {"accuracy_matched": 84.6, "accuracy_mismatched": 83.4},
    "mrpc": {"accuracy": 80.0, "f1": 88.9},
    "qnli": {"accuracy": 90.5},
    "qqp": {"accuracy": 89.0, "f1": 71.2},
    "rte": {"accuracy": 66.4},
    "sst2": {"accuracy": 93.5},
    "stsb": {"pearson": 87.1, "spearman": 85.8},
}


def results(**changes):
    metrics = {**PRINTED, **changes}
    return {task: {"metrics": own, "score": sum(own.values()) / len(own)} for task, own in metrics.items()}


def test_nine_entries_make_the_average_of_002():
    assert glue_averages(results())["glue-002"] == pytest.approx(79.6, abs=0.05)


def test_the_mean_of_each_tasks_metrics_makes_the_average_of_001():
    by_hand = (52.1 + 84.0 + 84.45 + 90.5 + 80.1 + 66.4 + 93.5 + 86.45) / 8
    assert glue_averages(results())["glue-001"] == pytest.approx(by_hand)


def test_wnli_counts_in_neither_and_a_missing_task_leaves_none():
    assert glue_averages(results(wnli={"accuracy": 0.0})) == glue_averages(results())
    some = results()
    del some["qnli"]
    assert glue_averages(some) == {}


def test_an_average_of_other_metrics_is_not_called_by_its_name():
    assert glue_averages(results()).keys() == {"glue-001", "glue-002"}
    assert glue_averages(results(rte={"accuracy": 66.4, "auc": 70.0})).keys() == {"glue-002"}
    assert glue_averages(results(mrpc={"accuracy": 80.0, "auc": 70.0})) == {}
