"""A task whose losses stop being numbers is not drawn any more."""

from __future__ import annotations

import pytest
from fit_tools import NAMES, QUICK, crash_at, make_tasks, train
from run_tools import assert_same_run

from rota.callbacks import Callback
from rota.errors import RotaError
from rota.policies import Cycle, Exp3S, Fixed, Union, uniform
from rota.streams import JointStream

PARKS = QUICK.model_copy(update={"on_nan": "skip", "park_after": 3})
BROKEN = make_tasks(nan_rows=range(30))  # every row of b


class Notices(Callback):
    def __init__(self):
        self.said = []

    def on_notice(self, sentence):
        self.said.append(sentence)


def test_the_others_share_its_updates(tmp_path):
    notices = Notices()
    run = train(tmp_path / "r", uniform(NAMES), PARKS, tasks=BROKEN, callbacks=[notices])
    (line,) = run.lines("parked")
    assert (line["task"], line["reason"]) == ("b", "its last 3 losses are no numbers (nan)")
    skipped = [own["step"] for own in run.lines("skip")]
    assert (len(skipped), line["step"]) == (3, skipped[-1] + 1)
    since = [own for own in run.lines("step") if own["step"] >= line["step"]]
    assert {own["probability"] for own in since} == {0.5}
    assert {own["task"] for own in since} == {"a", "aux"}
    assert {own["probability"] for own in run.lines("step") if own["step"] < line["step"]} == {1 / 3}
    assert run.lines("eval")[-1]["mixture"] == {"a": 0.5, "b": 0.0, "aux": 0.5}
    assert any("Source 'b' is parked from update" in sentence for sentence in notices.said)


def test_losses_that_are_numbers_between_them_begin_the_count_anew(tmp_path):
    some = make_tasks(nan_rows=[3])  # one batch in four
    run = train(tmp_path / "r", uniform(NAMES), PARKS, tasks=some)
    assert run.lines("skip")
    assert not run.lines("parked")


@pytest.mark.parametrize("cut", [3, 9, 17, 30])
@pytest.mark.parametrize("make", [uniform, lambda names: Exp3S(names, reservoir=20)], ids=["uniform", "exp3s"])
def test_resumed_is_never_stopped(tmp_path, make, cut):
    train(tmp_path / "whole", make(NAMES), PARKS, tasks=BROKEN)
    crash_at(cut, tmp_path / "cut", make(NAMES), PARKS, tasks=BROKEN)
    train(tmp_path / "cut", make(NAMES), PARKS, tasks=BROKEN, resume=True)
    assert_same_run(tmp_path / "whole", tmp_path / "cut")


def test_where_all_are_parked_the_run_ends_with_a_sentence(tmp_path):
    tasks = [task for task in BROKEN if task.name == "b"]
    with pytest.raises(RotaError, match="Found all of them parked: b"):
        train(tmp_path / "r", Fixed({"b": 1}), PARKS, tasks=tasks)


def test_a_parked_task_that_leaves_is_forgotten(tmp_path):
    settings = PARKS.model_copy(update={"park_after": 1})
    crash_at(20, tmp_path / "r", uniform(NAMES), settings, tasks=BROKEN)
    stay = [task for task in BROKEN if task.name != "b"]
    run = train(
        tmp_path / "r", uniform(["a", "aux"]), settings, tasks=stay, resume=True, takes_over=uniform(list(NAMES))
    )
    assert run.lines("tasks")[0]["mixture"] == {"a": 0.5, "aux": 0.5}
    assert {own["task"] for own in run.lines("step") if own["step"] >= 20} == {"a", "aux"}


def test_refused(tmp_path):
    with pytest.raises(RotaError, match="expects steps of one task"):
        train(tmp_path / "r", uniform(NAMES), PARKS, stream=JointStream)
    for policy in (Union(dict.fromkeys(NAMES, 3)), Cycle(dict.fromkeys(NAMES, 1))):
        with pytest.raises(RotaError, match="expects a policy that may be mixed"):
            train(tmp_path / "r", policy, PARKS)
    with pytest.raises(RotaError, match="park_after with on_nan 'skip'"):
        type(QUICK)(park_after=3)
    assert not (tmp_path / "r").exists()
