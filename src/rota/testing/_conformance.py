"""The promises that every policy keeps, as checks for your own policy."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Sequence

import numpy as np

from rota.errors import RotaError
from rota.feedback import Feedback
from rota.policies import Policy
from rota.testing._conformance_tools import advance, assert_distribution, choose, history, memory, value

MakeAnyPolicy = Callable[..., Policy]
MakePolicy = Callable[[Sequence[str]], Policy]


def check_policy(
    make_policy: MakeAnyPolicy, tasks: Sequence[str] = ("d", "b", "a", "c"), updates: int = 10_000
) -> None:
    """Run the conformance suite; raise one AssertionError that lists every promise that is broken.

    Args:
        make_policy: Makes a fresh policy from a list of task names. (A function without arguments works, too;
            then the order of the tasks cannot be changed and that check is left out.)
        tasks: The names to make it with.
        updates: How many updates it must survive; a million for a thorough check.

    >>> import rota
    >>> check_policy(lambda tasks: rota.Exp3S(tasks, eta=0.1), updates=1000)
    """
    if inspect.signature(make_policy).parameters:
        make: MakePolicy = make_policy
        checks = [*_CHECKS, _order_of_tasks_does_not_matter, _tasks_come_and_go]
    else:
        checks = _CHECKS

        def make(_: Sequence[str]) -> Policy:
            return make_policy()

        tasks = make_policy().tasks

    broken = []
    for check in [*checks, _survives(updates)]:
        try:
            check(make, tasks)
        except Exception as error:
            said = str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
            broken.append(f"{check.__name__.strip('_').replace('_', ' ')}: {said}")
    if broken:
        name = type(make(tasks)).__name__
        raise AssertionError(f"{name} breaks {len(broken)} promise(s):\n  " + "\n  ".join(broken))


def _is_a_distribution(make: MakePolicy, tasks: Sequence[str]) -> None:
    policy = make(tasks)
    assert policy.tasks == tuple(tasks) or set(policy.tasks) == set(tasks), f"tasks are {policy.tasks}"
    for step in range(60):
        assert_distribution(policy, step)
        advance(policy, step, np.random.default_rng(step))
    for step in (10**3, 10**6, 10**9):
        assert_distribution(policy, step)


def _reading_is_pure(make: MakePolicy, tasks: Sequence[str]) -> None:
    policy = make(tasks)
    for step in range(20):
        before, world = memory(policy), np.random.get_state()[1].tolist()  # type: ignore[index]
        first = policy.probabilities(step)
        copy = np.array(first)
        assert np.array_equal(copy, policy.probabilities(step)), f"two readings of step {step} differ"
        policy.probabilities(step + 1000)
        assert np.array_equal(copy, policy.probabilities(step)), f"reading another step changed step {step}"
        assert memory(policy) == before, "reading changed the memory"
        assert np.random.get_state()[1].tolist() == world, "reading drew from the global generator"  # type: ignore[index]
        if first.flags.writeable:
            first[:] = -1.0
            assert np.array_equal(copy, policy.probabilities(step)), "it hands out its own memory to write in"
        advance(policy, step, np.random.default_rng(step))


def _a_choice_carries_its_probability(make: MakePolicy, tasks: Sequence[str]) -> None:
    policy, rng = make(tasks), np.random.default_rng(0)
    rounds: dict[int, tuple[str, float]] = {}
    for step in range(60):
        probabilities = policy.shares(step)
        choice = policy.choose(step, rng)
        assert choice.step == step, f"a choice of step {step} says it is of step {choice.step}"
        expected = choice.task, probabilities[choice.task]
        if choice.round is not None:  # held: every choice carries the draw that opened its round
            expected = rounds.setdefault(choice.round, expected)
        assert (choice.task, choice.probability) == expected, f"expected {expected}, found {choice}"
        assert choice.probability > 0, f"{choice.task} was drawn with probability zero"
        policy.observe(choice.scored(value(choice)))


def _same_seed_same_choices(make: MakePolicy, tasks: Sequence[str]) -> None:
    histories = []
    for noise in (1, 2):
        np.random.seed(noise)
        histories.append(history(make(tasks), range(80), np.random.default_rng(5)))
    assert histories[0] == histories[1], "two equal policies with equal generators chose differently"


def _a_saved_policy_resumes_exactly(make: MakePolicy, tasks: Sequence[str]) -> None:
    whole = history(make(tasks), range(120), np.random.default_rng(7))
    policy, rng, resumed = make(tasks), np.random.default_rng(7), []
    for start, stop in ((0, 1), (1, 7), (7, 8), (8, 53), (53, 120)):
        resumed += history(policy, range(start, stop), rng)
        saved = json.loads(json.dumps(policy.state_dict(), allow_nan=False))
        policy = make(tasks)
        policy.load_state_dict(saved)
        assert memory(policy) == json.dumps(saved, sort_keys=True), f"step {stop}: loaded, it says something else"
    assert resumed == whole, "a policy that was saved and loaded chose differently"


def _state_is_a_snapshot(make: MakePolicy, tasks: Sequence[str]) -> None:
    policy = make(tasks)
    history(policy, range(5), np.random.default_rng(0))
    state = policy.state_dict()
    before = json.dumps(state, sort_keys=True, allow_nan=False)
    history(policy, range(5, 40), np.random.default_rng(1))
    assert json.dumps(state, sort_keys=True) == before, "a saved state changed when the policy went on"
    fresh = make(tasks)
    fresh.load_state_dict(state)
    history(fresh, range(5, 40), np.random.default_rng(1))
    assert json.dumps(state, sort_keys=True) == before, "a loaded state changed when the policy went on"


def _feedback_may_be_late_and_out_of_order(make: MakePolicy, tasks: Sequence[str]) -> None:
    policy, rng, waiting = make(tasks), np.random.default_rng(3), []
    for step in range(60):
        waiting.append(policy.choose(step, rng))
        if step % 7 == 6:
            for choice in reversed(waiting):
                policy.observe(choice.scored(value(choice)))
            waiting.clear()
        assert_distribution(policy, step + 1)


def _surveys_are_heard(make: MakePolicy, tasks: Sequence[str]) -> None:
    policy = make(tasks)
    for step in range(20):
        for k, task in enumerate(policy.tasks):
            policy.observe(Feedback(task, 0.1 * (k + 1), probability=None, step=step))
        assert_distribution(policy, step)


def _says_what_it_hears(make: MakePolicy, tasks: Sequence[str]) -> None:
    policy = make(tasks)
    assert policy.hears is not None, 'it learns and does not say from what: declare it, such as hears = ("loss",)'
    assert isinstance(policy.hears, tuple), f"expected a tuple of words, found hears = {policy.hears!r}"
    assert len(set(policy.hears)) == len(policy.hears), f"a word stands twice in {policy.hears}"
    for word in policy.hears:
        policy.observe(Feedback(policy.tasks[0], 0.5, probability=None, step=0, about=word))
    try:
        policy.observe(Feedback(policy.tasks[0], 0.5, probability=None, step=0, about="no such word"))
    except RotaError:
        return
    raise AssertionError("it accepted feedback about something that it does not hear")


def _refuses_what_is_not_a_number_or_a_task(make: MakePolicy, tasks: Sequence[str]) -> None:
    policy = make(tasks)
    history(policy, range(10), np.random.default_rng(0))
    choice = policy.choose(10, np.random.default_rng(0))
    before = memory(policy)
    wrong = {
        "NaN": choice.scored(math.nan),
        "infinity": choice.scored(math.inf),
        "an unknown task": Feedback("no such task", 0.5, 0.5, 10),
        "a probability of zero": Feedback(choice.task, 0.5, 0.0, 10),
        "a probability above one": Feedback(choice.task, 0.5, 1.5, 10),
    }
    for what, feedback in wrong.items():
        try:
            policy.observe(feedback)
        except RotaError:
            assert memory(policy) == before, f"it refused {what}, but remembers it"
        else:
            raise AssertionError(f"it accepted {what}")


def _refuses_the_state_of_another(make: MakePolicy, tasks: Sequence[str]) -> None:
    policy = make(tasks)
    state = policy.state_dict()
    for what, foreign in {
        "another policy": {**state, "policy": "Somebody"},
        "other tasks": {**state, "tasks": [*tasks[:-1], "no such task"]},
    }.items():
        try:
            policy.load_state_dict(foreign)
        except RotaError:
            continue
        raise AssertionError(f"it loaded the state of {what}")


def _order_of_tasks_does_not_matter(make: MakePolicy, tasks: Sequence[str]) -> None:
    one, other = make(tasks), make([*tasks[1:], tasks[0]])
    if one.ordered:
        return
    for step in range(60):
        here = one.shares(step)
        there = other.shares(step)
        for task in tasks:
            assert math.isclose(here[task], there[task], rel_tol=1e-6, abs_tol=1e-9), (
                f"step {step}: '{task}' has probability {here[task]:.6g} in one order of the tasks and "
                f"{there[task]:.6g} in another; a policy that means this says `ordered = True`"
            )
        possible = sorted(task for task in tasks if here[task] > 1e-9)
        wanted = possible[step * 7 % len(possible)]
        for policy in (one, other):
            choice = choose(policy, wanted, step)
            policy.observe(choice.scored(value(choice)))
        if step % 20 == 7:  # and the state of one is the state of the other
            other = make(other.tasks)
            other.load_state_dict(one.state_dict())


def _makes(make: MakePolicy, *sets: Sequence[str]) -> bool:
    """Whether it makes a policy over each of these sets of tasks."""
    try:
        return all(set(make(tasks).tasks) == set(tasks) for tasks in sets)
    except RotaError:
        return False


def _tasks_come_and_go(make: MakePolicy, tasks: Sequence[str]) -> None:
    before, after = list(tasks[:-1]), [tasks[-1], *tasks[1:-1]]
    if len(tasks) < 3 or not _makes(make, before, after):
        return  # too few for one to leave, or a maker that knows certain names only

    def changed(steps: int, resumed: bool) -> Policy:
        old = make(before)
        history(old, range(steps), np.random.default_rng(9))
        if resumed:
            saved, old = json.loads(json.dumps(old.state_dict())), make(before)
            old.load_state_dict(saved)
        before_it, new = memory(old), make(after)
        new.take_over(old)
        assert memory(old) == before_it, "the policy that was taken over from has changed"
        if resumed:
            saved, new = json.loads(json.dumps(new.state_dict(), allow_nan=False)), make(after)
            new.load_state_dict(saved)
        return new

    for steps in (0, 1, 20, 61):
        whole, stopped = changed(steps, resumed=False), changed(steps, resumed=True)
        assert whole.tasks == make(after).tasks, f"its tasks are {whole.tasks}"
        histories = []
        for policy in (whole, stopped):
            assert_distribution(policy, steps)
            histories.append(history(policy, range(steps, steps + 40), np.random.default_rng(1)))
            assert_distribution(policy, steps + 40)
        assert histories[0] == histories[1], "saved and loaded around a change of its tasks, it chose differently"
        assert {choice.task for choice in histories[0]} <= set(after), "it drew a task that has left"
    same = make(tasks)
    same.take_over(make(tasks))
    assert np.allclose(same.probabilities(0), make(tasks).probabilities(0)), "without a change, something changed"


def _survives(updates: int) -> Callable[[MakePolicy, Sequence[str]], None]:
    def survives_many_updates_in_bounded_memory(make: MakePolicy, tasks: Sequence[str]) -> None:
        policy, rng = make(tasks), np.random.default_rng(11)
        sizes = []
        for step in range(updates):
            choice = policy.choose(step, rng)
            policy.observe(choice.scored(value(choice)))
            if step + 1 in (updates // 2, updates):
                assert_distribution(policy, step)
                sizes.append(len(memory(policy)))
        full = updates >= 5000  # a memory of fixed size needs some time to fill
        assert not full or sizes[1] <= 1.5 * sizes[0] + 1000, (
            f"its state grows with the steps: {sizes[0]}, {sizes[1]} characters"
        )

    return survives_many_updates_in_bounded_memory


_CHECKS: list[Callable[[MakePolicy, Sequence[str]], None]] = [
    _is_a_distribution,
    _reading_is_pure,
    _a_choice_carries_its_probability,
    _same_seed_same_choices,
    _a_saved_policy_resumes_exactly,
    _state_is_a_snapshot,
    _feedback_may_be_late_and_out_of_order,
    _surveys_are_heard,
    _says_what_it_hears,
    _refuses_what_is_not_a_number_or_a_task,
    _refuses_the_state_of_another,
]
