"""The averages over GLUE, by hand."""

from __future__ import annotations

import pytest

from rota.averages import GROUPS, group_averages, score_entries
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


# Table 4 of CA-MTL: the averages of the groups, and over all 24 entries.
TABLE_4 = {
    "BERT, MTL": ((83.2, 72.1, 77.8, 42.2), 76.4),
    "BERT, CA-MTL": ((86.6, 74.1, 79.5, 49.0), 79.1),
    "RoBERTa, MTL": ((86.0, 78.6, 80.7, 49.3), 80.7),
    "RoBERTa, CA-MTL": ((89.4, 80.0, 82.4, 55.2), 83.1),
}


def as_if(values):
    """Results of 23 tasks in which a group has one score everywhere; RTE, which is in two, is left to GLUE."""
    found = {}
    for (name, tasks), value in zip(GROUPS.items(), values, strict=True):
        for task, metrics in tasks.items():
            if name != "SuperGLUE" or task != "rte":
                found[task] = {"score": value, "metrics": {metric: value for metric in metrics if metric}}
    return found


@pytest.mark.parametrize("row", TABLE_4)
def test_the_entries_of_all_groups_have_the_average_that_is_printed(row):
    values, printed = TABLE_4[row]
    found = group_averages(as_if(values))
    assert found["GLUE"].mean == pytest.approx(values[0])
    assert found["SuperGLUE"].mean == pytest.approx(values[1] + (values[0] - values[1]) / 8)  # of RTE, that of GLUE
    assert found["MRQA"].mean == pytest.approx(values[2])
    every = found["all four groups"]
    assert every.of == 24
    assert every.mean - (values[0] - values[1]) / 24 == pytest.approx(printed, abs=0.06)


def test_the_nine_entries_of_table_5_and_9():
    nine = [63.8, 86.3, 86.0, 92.9, 93.4, 88.1, 84.5, 94.5, 90.3]
    names = [(task, metric) for task, metrics in GROUPS["GLUE"].items() for metric in metrics]
    order = ["cola", "mnli", "mnli", "mrpc", "qnli", "qqp", "rte", "sst2", "stsb"]
    assert [task for task, _ in names] == order
    found = {task: {"score": 0.0, "metrics": {}} for task in order}
    for (task, metric), value in zip(names, nine, strict=True):
        found[task]["metrics"][metric] = value
    assert group_averages(found)["GLUE"].mean == pytest.approx(86.6, abs=0.05)


def test_a_part_of_a_group_says_so():
    some = {task: results()[task] for task in ("mrpc", "stsb", "rte")}
    found = group_averages({**some, "cb": {"score": 50.0, "metrics": {"accuracy": 60.0, "macro_f1": 40.0}}})
    assert found["GLUE"] == (pytest.approx((88.9 + 85.8 + 66.4) / 3), 3, 9)
    assert not found["GLUE"].whole
    assert found["SuperGLUE"] == (pytest.approx((66.4 + 50.0) / 2), 2, 8)
    assert found.keys() == {"GLUE", "SuperGLUE"}


def test_a_task_that_was_measured_otherwise_has_no_entry():
    some = {task: results()[task] for task in ("mrpc", "rte", "sst2")}
    some["mrpc"] = {"score": 80.0, "metrics": {"accuracy": 80.0}}
    assert group_averages(some)["GLUE"].entries == 2
    assert group_averages({"rte": some["rte"]}) == {}
    unmeasured = {"score": None, "metrics": {}}
    assert group_averages({"cb": unmeasured, "wic": {"score": 1.0, "metrics": {}}}) == {}


def test_rte_may_be_that_of_superglue():
    found = group_averages({"superglue-rte": {"score": 60.0, "metrics": {"accuracy": 60.0}}, "cb": {"score": 80.0}})
    assert found == {"SuperGLUE": (pytest.approx(70.0), 2, 8)}


def test_each_metric_of_a_score_is_an_entry_of_task_sigma():
    own = {"score": 0.8, "metrics": {"accuracy_matched": 0.7, "accuracy_mismatched": 0.9, "log_loss_matched": 0.4}}
    assert score_entries(own) == [0.7, 0.9]
    assert score_entries({"score": 0.8, "metrics": {}}) == [0.8]
    assert score_entries({"score": None}) == [None]
