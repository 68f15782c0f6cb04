"""Every exported policy keeps every promise; policies that break one are caught."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import rota.policies
from rota.feedback import Choice
from rota.policies import (
    ADO,
    DGA,
    DUMP,
    DWA,
    FAMO,
    ODM,
    RLW,
    SEC,
    UW,
    UWSO,
    Anchored,
    Auto,
    AutoDev,
    Cycle,
    DynamixSFT,
    Exp3S,
    Fixed,
    Hold,
    PiKE,
    Policy,
    Steered,
    Tempered,
    Thompson,
    Tracking,
    Union,
    WithEnds,
    WithFloor,
    WithStart,
    proportional,
    uniform,
)
from rota.schedules import annealed_power, cosine
from rota.testing import check_policy


def by_name(tasks):
    """A number per task that depends on its name alone."""
    return {task: 1 + ord(task[0]) % 5 for task in tasks}


POLICIES = {
    "ADO": lambda tasks: ADO(tasks, by_name(tasks), warmup=80, every=500),
    "Anchored": lambda tasks: Anchored(Exp3S(tasks, eta=0.01), by_name(tasks), weight=0.3),
    "Auto": lambda tasks: Auto(tasks, horizon=200, every=20),
    "AutoDev": lambda tasks: AutoDev(tasks, horizon=200, every=20),
    "Fixed": lambda tasks: Fixed(by_name(tasks)),
    "Steered": Steered,
    "uniform": uniform,
    "proportional": lambda tasks: proportional(by_name(tasks)),
    "Union": lambda tasks: Union(by_name(tasks)),
    "FAMO": FAMO,
    "ODM": ODM,
    "PiKE": PiKE,
    "RLW": RLW,
    "SEC": SEC,
    "UW": UW,
    "UWSO": UWSO,
    "Tempered": lambda tasks: Tempered(by_name(tasks), power=0.5),
    "Cycle": lambda tasks: Cycle(by_name(tasks)),
    "DGA": DGA,
    "DUMP": DUMP,
    "DWA": lambda tasks: DWA(tasks, every=3),
    "DynamixSFT": lambda tasks: DynamixSFT(tasks, by_name(tasks)),
    "Exp3S": lambda tasks: Exp3S(tasks, eta=0.01),
    "Thompson": Thompson,
    "Tracking": Tracking,
    "Hold": lambda tasks: Hold(Exp3S(tasks, eta=0.01), steps=3),
    "WithEnds": lambda tasks: WithEnds(Exp3S(tasks, eta=0.01), dict.fromkeys(tasks[1:], 40)),
    "WithFloor": lambda tasks: WithFloor(Exp3S(tasks, eta=0.01), epsilon=0.2),
    "WithStart": lambda tasks: WithStart(Exp3S(tasks, eta=0.01), uniform(tasks), steps=20),
}
VARIANTS = {
    "Anchored, all of it": lambda tasks: Anchored(Tracking(tasks), weight=1.0),
    "Anchored, with a floor, held": lambda tasks: Hold(WithFloor(Anchored(Auto(tasks, horizon=99)), 0.1), steps=2),
    "DynamixSFT, greedy": lambda tasks: DynamixSFT(tasks, beta=300, gamma=0.0, alpha=0.0),
    "DUMP, sharp, of the last value": lambda tasks: DUMP(tasks, tau=1e-9, window=1),
    "ODM by sums, after a warmup": lambda tasks: ODM(tasks, rule="sum", warmup=15, prior=by_name(tasks)),
    "ODM by perplexity": lambda tasks: ODM(tasks, rule="perplexity"),
    "FAMO, fast, above a bound": lambda tasks: FAMO(tasks, lr=10.0, least={min(tasks): -1.0}),
    "RLW, dirichlet": lambda tasks: RLW(tasks, "dirichlet", seed=3),
    "UW by sgd": lambda tasks: UW(tasks, rule="sgd", lr=0.1),
    "UW, optimal": lambda tasks: UW(tasks, rule="optimal"),
    "UWSO, sharp": lambda tasks: UWSO(tasks, tau=1e-12),
    "ADO, all counted together": lambda tasks: ADO(tasks, counting="all", warmup=50, every=999, floor=0),
    "PiKE of norms alone, as printed": lambda tasks: PiKE(tasks, noise=0.0, step=None, prior=by_name(tasks)),
    "SEC, sharp": lambda tasks: SEC(tasks, alpha=1.0, tau=1e-9),
    "Exp3S with a prior": lambda tasks: Exp3S(tasks, eta=0.05, prior=by_name(tasks)),
    "Exp3S with a prior, greedy": lambda tasks: Exp3S(tasks, eta=1.0, epsilon=0, alpha=0.5, prior=by_name(tasks)),
    "Auto with sizes": lambda tasks: Auto(tasks, horizon=200, sizes=by_name(tasks), batch_size=1, every=20),
    "Auto, always guarded, prior uniform": lambda tasks: Auto(
        tasks, horizon=200, sizes=by_name(tasks), prior="uniform", guard="always", batch_size=1, every=20
    ),
    "Auto without a horizon, nobody worse": lambda tasks: Auto(tasks, objective="nobody-worse", every=7),
    "Auto by likelihood": lambda tasks: Auto(tasks, horizon=300, score="likelihood", every=3, floor=0.1, momentum=0),
    "Fixed with a zero": lambda tasks: Fixed({task: 0 if task == min(tasks) else 1 for task in tasks}),
    "Tempered, annealed": lambda tasks: Tempered(by_name(tasks), annealed_power(epochs=4, steps_per_epoch=10)),
    "Tempered, cosine": lambda tasks: Tempered(by_name(tasks), cosine(1.0, 0.0, steps=50)),
    "Exp3S, greedy": lambda tasks: Exp3S(tasks, eta=1.0, epsilon=0.01),
    "Exp3S by pi, constant alpha": lambda tasks: Exp3S(tasks, eta=0.05, importance="pi", alpha=0.01),
    "Exp3S, nothing shared": lambda tasks: Exp3S(tasks, eta=0.5, epsilon=0.1, alpha=0.0),
    "Tracking, printed": lambda tasks: WithFloor(Tracking(tasks, gamma=0.2, form="printed"), 0.25),
    "Thompson for a primary task": lambda tasks: Thompson(tasks, decay=0.3, primary=min(tasks)),
    "Thompson that forgets nothing, held": lambda tasks: Hold(Thompson(tasks, decay=0), steps=4),
    "Hold one that hears two words": lambda tasks: Hold(AutoDev(tasks, horizon=200, every=5), steps=3),
    "Exp3S as printed": lambda tasks: Exp3S(tasks, eta=1.0, epsilon=0.01, importance="rho"),
    "Start with a union": lambda tasks: WithStart(Tracking(tasks), Union(by_name(tasks)), steps=7),
    "Hold a union": lambda tasks: Hold(Union(by_name(tasks)), steps=2),
    "Hold with a floor": lambda tasks: Hold(WithFloor(Exp3S(tasks, eta=0.1), 0.3), steps=5),
}


def test_every_exported_policy_is_in_the_suite():
    assert set(POLICIES) == set(rota.policies.__all__) - {"Policy", "Stateful"}


@pytest.mark.parametrize("name", POLICIES | VARIANTS)
def test_conforms(name):
    check_policy((POLICIES | VARIANTS)[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", POLICIES | VARIANTS)
def test_survives_a_million_updates(name):
    updates = 100_000 if "Thompson" in name else 1_000_000  # where each feedback takes an integral
    check_policy((POLICIES | VARIANTS)[name], updates=updates)


EXTREMES = {
    "huge": lambda step, k: 1e300,
    "tiny": lambda step, k: 1e-300,
    "alternating": lambda step, k: 1e300 if step % 2 else -1e300,
    "constant": lambda step, k: 0.7,
    "one-sided": lambda step, k: -1e300 if k else 1e-300,
}


def after_extremes(policy, updates):
    """The probabilities after each of the extremes, which come one after the other; the memory is plain JSON."""
    rng, found = np.random.default_rng(0), []
    for part, reward in enumerate(EXTREMES.values()):
        for step in range(part * updates // len(EXTREMES), (part + 1) * updates // len(EXTREMES)):
            choice = policy.choose(step, rng)
            policy.observe(choice.scored(reward(step, policy.tasks.index(choice.task))))
        found.append(policy.probabilities(step + 1))
    json.dumps(policy.state_dict(), allow_nan=False)  # refuses what is not finite
    return np.array(found)


@pytest.mark.parametrize("name", POLICIES | VARIANTS)
def test_extreme_rewards_leave_it_finite(name):
    found = after_extremes((POLICIES | VARIANTS)[name](["d", "b", "a", "c"]), 3000)
    assert np.isfinite(found).all()
    assert found.sum(axis=1) == pytest.approx(1)


@pytest.mark.slow
@pytest.mark.parametrize("name", POLICIES | VARIANTS)
def test_a_million_extreme_rewards_leave_it_finite(name):
    updates = 100_000 if "Thompson" in name else 1_000_000
    found = after_extremes((POLICIES | VARIANTS)[name](["d", "b", "a", "c"]), updates)
    assert np.isfinite(found).all()
    assert found.sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize("tasks", [("only",), ("a", "b")])
@pytest.mark.parametrize("name", POLICIES)
def test_conforms_with_few_tasks(name, tasks):
    check_policy(POLICIES[name], tasks=tasks, updates=500)


def test_a_maker_without_arguments_is_accepted():
    check_policy(lambda: uniform(["x", "y"]), updates=500)


class Good(Policy):
    """An honest little learner; the broken ones below differ from it in one point each."""

    hears = ("gain",)
    state = ("scores",)

    def __init__(self, tasks):
        super().__init__(tasks)
        self.scores = np.zeros(len(self.tasks))

    def probabilities(self, step):
        weights = np.exp(np.clip(self.scores, -5, 5))
        return weights / weights.sum()

    def learn(self, k, feedback):
        self.scores[k] = 0.9 * self.scores[k] + 0.1 * math.tanh(feedback.value)


class NotADistribution(Good):
    def probabilities(self, step):
        return super().probabilities(step) * 1.01


class Negative(Good):
    def probabilities(self, step):
        p = super().probabilities(step)
        p[0], p[-1] = p[0] + p[-1] + 0.1, -0.1
        return p


class Impure(Good):
    def probabilities(self, step):
        self.scores *= 0.99
        return super().probabilities(step)


class DrawsFromTheWorld(Good):
    def learn(self, k, feedback):
        super().learn(k, feedback)
        self.scores[k] += 0.01 * np.random.rand()


class ForgetsItsState(Good):
    state = ()


class RemembersPlaces(Good):
    """Its state says where a task stood in the list, not what it was called."""

    state = ("scores", "favourite")

    def __init__(self, tasks):
        super().__init__(tasks)
        self.favourite = None

    def probabilities(self, step):
        p = super().probabilities(step)
        if self.favourite is not None:
            p[self.favourite] *= 2
        return p / p.sum()

    def learn(self, k, feedback):
        super().learn(k, feedback)
        self.favourite = k


class DependsOnOrder(Good):
    def probabilities(self, step):
        p = super().probabilities(step) * np.arange(1, len(self.tasks) + 1)
        return p / p.sum()


class AcceptsNaN(Good):
    def observe(self, feedback):
        self.learn(self.tasks.index(feedback.task), feedback)


class AcceptsAnyTask(Good):
    def observe(self, feedback):
        if feedback.task in self.tasks:
            super().observe(feedback)


class ForgetsHowLikely(Good):
    def _choice(self, k, probability, step):
        return Choice(self.tasks[k], 1.0, step)


class Overflows(Good):
    """Weights multiplied for ever, never normalised."""

    def __init__(self, tasks):
        super().__init__(tasks)
        self.scores = np.ones(len(self.tasks))

    def probabilities(self, step):
        return self.scores / self.scores.sum()

    def learn(self, k, feedback):
        self.scores[k] = self.scores[k] * math.exp(0.5 + 0.5 * math.tanh(feedback.value))


class RemembersEverything(Good):
    state = ("scores", "history")

    def __init__(self, tasks):
        super().__init__(tasks)
        self.history = []

    def learn(self, k, feedback):
        super().learn(k, feedback)
        self.history = [*self.history, feedback.value] if len(self.history) < 8000 else self.history


class LendsItsMemory(Good):
    def __init__(self, tasks):
        super().__init__(tasks)
        self.p = np.full(len(self.tasks), 1 / len(self.tasks))

    def probabilities(self, step):
        return self.p


class StateIsNotPlain(Good):
    state = ("scores", "seen")

    def __init__(self, tasks):
        super().__init__(tasks)
        self.seen = set()

    def learn(self, k, feedback):
        super().learn(k, feedback)
        self.seen.add(k)


class StateIsAlive(Good):
    """Its saved state goes on changing with the policy."""

    def __init__(self, tasks):
        super().__init__(tasks)
        self.alive = dict.fromkeys(self.tasks, 0.0)

    def learn(self, k, feedback):
        super().learn(k, feedback)
        self.alive[self.tasks[k]] = self.scores[k]

    def state_dict(self):
        return super().state_dict() | {"memory": {"scores": self.alive}}


class IgnoresItsTasks(Good):
    def load_state_dict(self, state):
        self.scores = np.array([state["memory"]["scores"].get(task, 0.0) for task in self.tasks])


class DoesNotSayWhatItHears(Good):
    hears = None


class SaysOneWordTwice(Good):
    hears = ("gain", "gain")


BROKEN = {
    DoesNotSayWhatItHears: "does not say from what",
    SaysOneWordTwice: "stands twice",
    NotADistribution: "the sum is",
    Negative: "negative",
    Impure: "two readings of step",
    DrawsFromTheWorld: "chose differently",
    ForgetsItsState: "chose differently",
    DependsOnOrder: "order of the tasks",
    RemembersPlaces: "order of the tasks",
    AcceptsNaN: "accepted NaN",
    AcceptsAnyTask: "accepted an unknown task",
    ForgetsHowLikely: "expected",
    Overflows: "probabilities that are numbers",
    RemembersEverything: "grows with the steps",
    LendsItsMemory: "its own memory",
    StateIsNotPlain: "not JSON serializable",
    StateIsAlive: "changed when the policy went on",
    IgnoresItsTasks: "it loaded the state of",
}


def test_the_honest_one_passes():
    check_policy(Good)


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
@pytest.mark.parametrize("broken", BROKEN, ids=lambda c: c.__name__)
def test_broken_policies_are_caught_and_named(broken):
    with pytest.raises(AssertionError, match=BROKEN[broken]):
        check_policy(broken)
