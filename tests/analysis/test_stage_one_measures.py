"""What claims say about the first stage of AutoSeM: whose utility was how high, and who was chosen."""

from __future__ import annotations

import pytest

from rota.analysis import MEASURES
from rota.search import Beliefs, select_from
from rota.testing import written_run

ROUNDS = [("rte", 1.0), ("mnli", 1.0), ("wnli", 0.0), ("mnli", 1.0), ("wnli", 0.0), ("rte", 0.0)]


@pytest.fixture
def bandit():
    lines = [{"kind": "arm", "step": k, "task": task, "value": value} for k, (task, value) in enumerate(ROUNDS)]
    scores = {"rte": [0.6], "mnli": [0.7], "wnli": [0.5]}
    return written_run(scores, "thompson", plan={"target": "rte"}, lines=lines)


def found(run, name):
    measure, _, task = name.partition(":")
    return MEASURES[measure].find(run, "dev", task)


@pytest.mark.parametrize("utility", ["averaged", "last"])
def test_utilities_are_those_by_which_was_chosen(bandit, utility):
    chosen = select_from(bandit, top=1, above=1.0, utility=utility)
    known = getattr(Beliefs.of(bandit), utility)
    assert found(bandit, "utility:rte") == known["rte"]
    assert found(bandit, "ahead:rte") == pytest.approx(known["rte"] - max(known["mnli"], known["wnli"]))
    assert found(bandit, "ahead:mnli") == pytest.approx(known["mnli"] - max(known["rte"], known["wnli"]))
    assert chosen.chosen == ["rte", "mnli"]
    assert [found(bandit, f"chosen:{task}") for task in ("mnli", "wnli")] == [1.0, 0.0]


def test_what_was_no_candidate_has_no_number(bandit):
    assert found(bandit, "chosen:mnli") is None  # nobody has chosen yet
    select_from(bandit)
    for measure in ("utility", "ahead", "chosen"):
        assert found(bandit, f"{measure}:qqp") is None
