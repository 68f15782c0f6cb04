"""Thousands of tasks: the same promises, plans that are spread over steps, states that stay small."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rota.arrays import MANY, from_json, is_packed, to_json
from rota.errors import RotaError
from rota.feedback import Feedback
from rota.policies import Auto, AutoDev, Exp3S, Hold, Thompson, Tracking, WithFloor
from rota.policies._ladder import PACE, RUNGS, SLICE, Ladder
from rota.testing import check_policy

NAMES = [f"{'abcde'[k % 5]}{k}" for k in range(MANY + 44)]
POLICIES = {
    "Auto": lambda tasks: Auto(tasks, horizon=400, every=20),
    "Auto, nobody worse": lambda tasks: Auto(tasks, objective="nobody-worse", horizon=200),
    "AutoDev": lambda tasks: AutoDev(tasks, horizon=200, every=20),
    "Exp3S": lambda tasks: Exp3S(tasks, eta=0.01),
    "Thompson": Thompson,
    "Tracking": Tracking,
    "Hold": lambda tasks: Hold(WithFloor(Exp3S(tasks), 0.1), steps=3),
}


@pytest.mark.parametrize("name", POLICIES)
def test_conforms_with_many_tasks(name):
    check_policy(POLICIES[name], tasks=NAMES, updates=300)


def heard(policy, visits, losses):
    for visit in range(visits):
        for task in policy.tasks:
            policy.observe(Feedback(task, losses(task, visit)))
    return policy.shares(0)


def test_sources_that_learn_get_more_than_those_that_are_done():
    policy = Auto(NAMES, horizon=80 * len(NAMES))
    shares = heard(policy, 40, lambda task, visit: 1 - visit / 160 if task[0] == "a" else max(0.2, 1 - visit / 4))
    learning = [share for task, share in shares.items() if task[0] == "a"]
    done = [share for task, share in shares.items() if task[0] != "a"]
    assert min(learning) > 1.5 * max(done)
    assert max(learning) < 2 * min(learning)  # equals that were looked at one after the other
    assert min(done) > 0.5 / len(NAMES)


def test_stopped_in_the_middle_of_a_plan_and_resumed_is_never_stopped():
    def made():
        return Auto(NAMES, horizon=1000, every=20)

    whole, broken, rng, other = made(), made(), np.random.default_rng(0), np.random.default_rng(0)
    for step in range(400):
        choice = whole.choose(step, rng)
        assert broken.choose(step, other) == choice
        for policy in (whole, broken):
            policy.observe(choice.scored(1 / (1 + step / 50)))
        if step in (100 + PACE, 133):
            state = json.loads(json.dumps(broken.state_dict(), allow_nan=False))
            broken = made()
            broken.load_state_dict(state)


def test_the_state_of_a_version_that_wrote_numbers_by_name_is_loaded():
    policy = Auto(NAMES, horizon=1000)
    for step in range(300):
        policy.observe(Feedback(NAMES[step % 60], 1 / (1 + step)))
    state = policy.state_dict()
    memory = state["memory"]
    old = {name: part for name, part in memory.items() if name != "ladder"}
    old["mixture"] = dict(zip(NAMES, policy.mixture.tolist(), strict=True))
    old["losses"] = {"first": dict(zip(NAMES, policy.losses._first.tolist(), strict=True))}
    for name, part in policy.losses._parts().items():
        arrays = {own.lstrip("_"): value for own, value in part._arrays().items()}
        old["losses"][name] = {
            task: {own: value[k].tolist() for own, value in arrays.items()} for k, task in enumerate(NAMES)
        }
    loaded = Auto(NAMES, horizon=1000)
    loaded.load_state_dict({**state, "memory": old})
    now = loaded.state_dict()["memory"]
    assert {**now, "ladder": None} == {**memory, "ladder": None}


def test_packed_arrays_come_back_to_the_bit_in_any_order_of_the_tasks():
    rng = np.random.default_rng(0)
    values = np.where(rng.random((len(NAMES), 3)) < 0.2, rng.normal(size=(len(NAMES), 3)), 0.0)
    values[0, 0] = -0.0
    content = json.loads(json.dumps(to_json(NAMES, values)))
    assert is_packed(content)
    turned = NAMES[::-1]
    assert from_json(turned, content, np.float64).tobytes() == values[::-1].tobytes()


def test_rungs_go_to_those_that_bring_most_and_late_risers_are_worth_their_part():
    ladder = Ladder(["a", "b", "c", "d"])
    prior = np.full(4, 0.25)
    gains = np.zeros((4, len(RUNGS) - 1))
    gains[0, :2] = 0.3, 0.1
    gains[1, :3] = 0.0, 0.0, 0.2  # nothing at first: 0.05 for each half rung
    ladder.note(np.arange(4), np.full(4, 0.125), gains)
    plan = ladder.filled(prior, np.array([False, False, False, True]))
    assert plan.sum() == pytest.approx(1)
    assert plan == pytest.approx([0.125 + 0.25, 0.125 + 0.25, 0.125, 0.125])
    even = Ladder(["a", "b"])
    even.note(np.arange(2), np.full(2, 0.25), np.full((2, len(RUNGS) - 1), 0.1) * np.diff(RUNGS))
    assert even.filled(np.full(2, 0.5), np.zeros(2, bool)) == pytest.approx([0.5, 0.5])


def test_all_tasks_are_looked_at_once_in_a_round():
    ladder = Ladder(NAMES)
    period = -(-len(NAMES) // SLICE) * PACE
    looks = [ladder.turn(heard, 1, begun=period) for heard in range(2 * period)]
    assert all(look is None for look in looks[:period])
    rows = [NAMES[k] for look in looks if look is not None for k in look]
    assert rows == sorted(NAMES)


GROUPED = {task: task[0] for task in NAMES if task[0] != "e"}


def test_an_unheard_source_borrows_the_curve_of_its_group():
    """Ten sources of each group are heard: one group learns, the others are done."""
    policy = Auto(NAMES, horizon=8000, groups=GROUPED, prior="uniform")
    told = [task for task in NAMES if int(task[1:]) < 50]
    for visit in range(60):
        for task in told:
            policy.observe(Feedback(task, 1 - visit / 160 if task[0] == "a" else max(0.2, 1 - visit / 4)))
    shares = policy.shares(0)
    unheard = {name: [shares[task] for task in NAMES if task not in told and task[0] == name] for name in "abcd"}
    assert min(unheard["a"]) > 1.5 * max(unheard["b"] + unheard["c"] + unheard["d"])
    alone = Auto(NAMES, horizon=8000, prior="uniform")
    for visit in range(60):
        for task in told:
            alone.observe(Feedback(task, 1 - visit / 160 if task[0] == "a" else max(0.2, 1 - visit / 4)))
    ungrouped = alone.shares(0)
    assert ungrouped["a299" if "a299" in ungrouped else NAMES[-5]] == pytest.approx(ungrouped[NAMES[-4]], rel=0.01)


@pytest.mark.parametrize("count", [4, MANY + 44])
def test_a_policy_with_groups_conforms(count):
    check_policy(
        lambda tasks: Auto(tasks, horizon=200, every=20, groups={task: task[0] for task in tasks if task[0] != "e"}),
        tasks=NAMES[:count],
        updates=300,
    )


def test_groups_share_the_prior_and_members_share_their_group():
    policy = Auto(
        ["a1", "a2", "b1", "x"], sizes={"a1": 100, "a2": 300, "b1": 5, "x": 7}, groups={"a1": "a", "a2": "a", "b1": "b"}
    )
    prior = policy.shares(0)
    assert prior["a1"] + prior["a2"] == pytest.approx(1 / 3)
    assert prior["b1"] == prior["x"] == pytest.approx(1 / 3)
    assert prior["a2"] > prior["a1"]
    with pytest.raises(RotaError, match="y"):
        Auto(["x"], groups={"y": "b"})
