"""Streams: order, passes, shards, workers, state."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rota.draws import Queue, Shard
from rota.errors import RotaError
from rota.policies import Cycle, Exp3S, Fixed, Hold, Union, WithFloor, uniform
from rota.streams import JointStream, TaskStream, batches_per_pass
from rota.tasks import Classification, Task, TensorRows

SIZES = {"a": 10, "b": 7, "c": 3}


def tasks():
    return [
        Task(name, Classification(2), {"train": TensorRows({"x": torch.arange(n)}, torch.arange(n) % 2)})
        for name, n in SIZES.items()
    ]


@given(rows=st.integers(1, 40), batch_size=st.integers(1, 50), seed=st.integers(0, 5))
def test_every_pass_holds_every_row_once_and_never_straddles(rows, batch_size, seed):
    queue = Queue("t", rows, batch_size, seed)
    for _ in range(3):
        batches = [queue.next() for _ in range(queue.batches)]
        assert sorted(np.concatenate(batches).tolist()) == list(range(rows))
        assert all(len(batch) == batch_size for batch in batches[:-1])


def test_passes_differ_and_depend_on_seed_and_task_alone():
    def first(task, seed, number=0):
        return Queue(task, 50, 50, seed).at(number).tolist()

    assert first("a", 0) == first("a", 0)
    assert first("a", 0) != first("a", 0, number=1)
    assert first("a", 0) != first("b", 0)
    assert first("a", 0) != first("a", 1)


def test_looking_ahead_consumes_nothing():
    queue = Queue("t", 10, 3, 0)
    queue.next()
    ahead = queue.copy()
    seen = [ahead.at(number).tolist() for number in range(1, 10)]
    assert queue.consumed == 1
    assert [queue.next().tolist() for _ in range(9)] == seen


def test_a_stream_draws_the_policys_choice_and_the_tasks_next_rows():
    stream = TaskStream(tasks(), Cycle({"a": 1, "b": 2, "c": 0}), batch_size=4, seed=1)
    turns = [stream.next(step) for step in range(6)]
    assert [plan.parts[0].task for plan in turns] == ["a", "b", "b", "a", "b", "b"]
    for plan in turns:
        part = plan.parts[0]
        assert part.batch.inputs["x"].tolist() == part.ids.tolist()
        assert plan.choice.probability == 1.0
    of_b = [plan.parts[0].ids.tolist() for plan in turns if plan.parts[0].task == "b"]
    assert sorted(of_b[0] + of_b[1]) == list(range(7))  # one pass: 4 and 3 rows


def test_union_over_a_stream_visits_every_row_once_per_epoch():
    batches = batches_per_pass(SIZES, dict.fromkeys(SIZES, 4))
    stream = TaskStream(tasks(), Union(batches), batch_size=4)
    for epoch in range(5):
        seen = {name: [] for name in SIZES}
        for k in range(sum(batches.values())):
            part = stream.next(epoch * 6 + k).parts[0]
            seen[part.task] += part.ids.tolist()
        assert {name: sorted(ids) for name, ids in seen.items()} == {n: list(range(s)) for n, s in SIZES.items()}


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("kind", [TaskStream, JointStream])
def test_stopped_and_resumed_is_never_stopped(kind, workers):
    def make():
        return kind(tasks(), Exp3S(list(SIZES), eta=0.5), 4, seed=3, workers=workers)

    def walk(stream, steps):
        turns = [stream.next(step) for step in steps]
        return [[(p.task, p.ids.tolist(), p.batch.inputs["x"].tolist()) for p in plan.parts] for plan in turns]

    whole = walk(make(), range(30))
    resumed, state, policy_state = [], None, None
    for start, stop in ((0, 1), (1, 11), (11, 30)):
        stream = make()
        if state is not None:
            stream.load_state_dict(json.loads(json.dumps(state)))
            stream.policy.load_state_dict(policy_state)
        resumed += walk(stream, range(start, stop))
        state, policy_state = stream.state_dict(), stream.policy.state_dict()
    assert resumed == whole


def test_workers_do_not_touch_the_global_generator():
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    stream = TaskStream(tasks(), uniform(list(SIZES)), 4, workers=1)
    for step in range(5):
        stream.next(step)
    assert torch.rand(3).equal(expected)


def test_a_joint_step_holds_every_task_that_has_weight():
    stream = JointStream(tasks(), Fixed({"a": 1, "b": 0, "c": 3}), 4)
    plan = stream.next(0)
    assert plan.choice is None
    assert [(part.task, part.weight) for part in plan.parts] == [("a", 0.25), ("c", 0.75)]


@pytest.mark.parametrize("policy", [Union(SIZES), Hold(uniform(list(SIZES)), 2)], ids=lambda p: type(p).__name__)
def test_joint_streams_refuse_policies_that_count_their_draws(policy):
    with pytest.raises(RotaError, match=f"Found {type(policy).__name__}"):
        JointStream(tasks(), policy, 4)


def test_joint_streams_accept_a_floor_around_a_policy_that_does_not_count():
    stream = JointStream(tasks(), WithFloor(Exp3S(list(SIZES)), 0.1), 4)
    assert len(stream.next(0).parts) == 3


def test_a_policy_over_other_tasks_is_refused():
    with pytest.raises(RotaError, match="Found one over a, x"):
        TaskStream(tasks(), uniform(["a", "x"]), 4)


@given(n=st.integers(1, 20), world=st.integers(1, 6))
def test_shards_share_every_batch_and_pad_inside_it(n, world):
    ids = np.arange(100, 100 + n)
    parts = [Shard(rank, world).of(ids) for rank in range(world)]
    assert sorted(i for own, counted in parts for i in own[:counted]) == ids.tolist()
    assert all(len(own) >= 1 and set(own) <= set(ids) for own, _ in parts)
    sizes = [counted for _, counted in parts]
    assert max(sizes) - min(sizes) <= 1
