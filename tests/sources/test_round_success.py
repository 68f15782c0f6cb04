"""What a policy hears at the end of a round of turns."""

from __future__ import annotations

import itertools
import json

import pytest
import torch

from rota.feedback import Choice
from rota.models import MultiTaskModel, SmallConv
from rota.policies import Hold, Thompson
from rota.runlog import LOG
from rota.settings import Settings
from rota.sources import Moment, RoundSuccess
from rota.tasks import Classification, Task, TensorRows
from rota.training import fit


@pytest.mark.parametrize(
    ("rule", "down", "same", "up"), [("ge", 0.0, 1.0, 1.0), ("gt", 0.0, 0.0, 1.0), ("gain", 0.4, 0.5, 0.6)]
)
def test_what_counts_as_good(rule, down, same, up):
    reward = RoundSuccess(rule=rule)
    assert reward.value(0.50, 0.49) == pytest.approx(down)
    assert reward.value(0.50, 0.50) == pytest.approx(same)
    assert reward.value(0.50, 0.51) == pytest.approx(up)
    assert 0 <= reward.value(0.0, 1.0) <= 1
    assert 0 <= reward.value(1.0, 0.0) <= 1


def test_a_round_is_compared_with_the_one_before_whoevers_turn_that_was():
    class Run:
        """A run whose target scores this and that."""

        evaluated = ()
        scores = iter([0.4, 0.2, 0.2, 0.1])

        def evaluate(self, tasks):
            return {"average": next(self.scores)}

        def charge(self, rows):
            assert rows == 0

    feed = RoundSuccess(every=10).open(Run())
    assert feed.at_evaluation(Moment(0, evaluation={"average": 0.3})) is None
    assert feed.at_step_end(Moment(9, choice=Choice("a", 0.5, 8, 0))) is None
    said = [feed.at_step_end(Moment(10 * k + 10, choice=Choice(task, 0.5, 9, k))) for k, task in enumerate("abcd")]
    assert [own.line["value"] for own in said] == [1.0, 0.0, 1.0, 0.0]
    assert [own.feedback[0].value for own in said] == [1.0, 0.0, 1.0, 0.0]
    assert {own.feedback[0].about for own in said} == {"success"}


def test_the_policy_hears_what_the_log_says(tmp_path):
    generator = torch.Generator().manual_seed(0)
    tasks = []
    for name in ("a", "b", "c"):
        splits = {}
        for split, count in (("train", 40), ("dev", 20)):
            images, labels = torch.rand(count, 1, 4, 4, generator=generator), torch.arange(count) % 2
            images[:, 0, :2] += labels[:, None, None]
            splits[split] = TensorRows({"image": images}, labels)
        tasks.append(Task(name, Classification(2), splits, auxiliary=name != "a"))
    torch.manual_seed(0)
    policy = Hold(Thompson(["a", "b", "c"], primary="a"), 5)
    settings = Settings(steps=60, batch_size=8, eval_every=60, lr=0.01, threads=1)
    model = MultiTaskModel(SmallConv(4, width=8), tasks)
    run = fit(model, tasks, policy, tmp_path / "r", settings, progress=False)
    logged = [json.loads(line) for line in (tmp_path / "r" / LOG).read_text().splitlines()]
    arms = [line for line in logged if line["kind"] == "arm"]
    assert [line["round"] for line in arms] == list(range(12))
    assert arms[0]["task"] == "a"
    assert arms[0]["probability"] == 1.0
    scores = [next(line for line in logged if line["kind"] == "eval")["average"], *(line["score"] for line in arms)]
    assert [line["value"] for line in arms] == [float(now >= before) for before, now in itertools.pairwise(scores)]
    again = Thompson(["a", "b", "c"], primary="a")
    for line in arms:
        again.observe(Choice(line["task"], line["probability"], 0).scored(line["value"]))
    assert again.utilities == policy.policy.utilities
    trained = {line["round"]: line["task"] for line in logged if line["kind"] == "step"}
    assert {line["round"]: line["task"] for line in arms} == trained
    assert run.summary["cost"]["scored"] == 12 * 20
    assert run.info["listen"] == [{"source": "round success", "rule": "ge", "every": 5, "says": "success"}]
