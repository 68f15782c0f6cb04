"""ODM, SEC and DUMP: golden numbers by hand, and slow loops that share no code with them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rota.errors import RotaError
from rota.feedback import Feedback
from rota.methods import METHODS, RunContext
from rota.policies import DUMP, ODM, SEC, Exp3S
from rota.settings import Settings
from rota.sources import EachStep, sources_for, usual_sources

CONTEXT = RunContext({"a": 100, "b": 900}, {"a": 4, "b": 29}, steps=100, seed=0)


def slow_odm(rule, losses, tasks, alpha=0.9):
    """The released loops: one dictionary of rewards, one pass over the tasks for each number."""
    rewards, found = dict.fromkeys(tasks, 0.0), []
    count, probabilities, before = len(tasks), dict.fromkeys(tasks, 1 / len(tasks)), 1 / len(tasks)
    for t, (task, loss) in enumerate(losses, start=1):
        if rule == "sum":
            rewards[task] += (loss / 10) / probabilities[task]
        elif rule == "average":
            rewards[task] = alpha * rewards[task] + (1 - alpha) * loss / probabilities[task]
        else:
            rewards[task] = alpha * rewards[task] + (1 - alpha) * math.exp(loss)
        now = min(1 / count, math.sqrt(math.log(count) / (count * (t + 1))))
        for name in tasks:
            if rule == "perplexity":
                share = rewards[name] / sum(rewards.values())
            else:
                share = math.exp(before * rewards[name]) / sum(math.exp(before * rewards[other]) for other in tasks)
            probabilities[name] = (1 - count * now) * share + now
        before = now
        found.append([probabilities[name] for name in tasks])
    return found


@pytest.mark.parametrize("rule", ["average", "sum", "perplexity"])
def test_odm_is_the_slow_loop(rule):
    tasks, rng = ["a", "b", "c"], np.random.default_rng(0)
    losses = [(tasks[int(rng.integers(3))], float(rng.uniform(0.1, 3))) for _ in range(400)]
    policy, found = ODM(tasks, rule=rule), slow_odm(rule, losses, tasks)
    for step, (task, loss) in enumerate(losses):
        policy.observe(Feedback(task, loss, policy.shares(step)[task], step))
        np.testing.assert_allclose(policy.probabilities(step + 1), found[step], rtol=1e-9)


def test_odm_by_hand():
    """K = 2, t = 4: ε_4 = √(ln 2 / 8) = .29435, ε_3 = √(ln 2 / 6) = .33989. Printed, α = .9: R = .1 · 2 / .5 = .4."""
    policy = ODM(["a", "b"])
    policy.observe(Feedback("a", 2.0, probability=0.5, step=0))
    assert policy.rewards.tolist() == pytest.approx([0.4, 0.0])
    weight = math.exp(0.33989 * 0.4)
    assert policy.probabilities(3)[0] == pytest.approx((1 - 2 * 0.29435) * weight / (weight + 1) + 0.29435, abs=1e-5)


def test_the_three_rules_of_odm_keep_different_things():
    """Two losses of 1 of a task that is drawn with probability 1/2."""
    kept = {}
    for rule in ("average", "sum", "perplexity"):
        policy = ODM(["a", "b"], rule=rule)
        for step in range(2):
            policy.observe(Feedback("a", 1.0, probability=0.5, step=step))
        kept[rule] = policy.rewards[0]
    assert kept == pytest.approx({"average": 0.38, "sum": 0.4, "perplexity": 0.19 * math.e})


def test_odm_begins_evenly_and_every_task_keeps_its_floor():
    policy = ODM(["a", "b", "c"], rule="sum")
    for step in range(3):  # ε is 1 / K until t exceeds K ln K
        policy.observe(Feedback("a", 5.0, probability=1 / 3, step=step))
        assert policy.probabilities(step) == pytest.approx([1 / 3] * 3)
    for step in range(3, 500):
        policy.observe(Feedback("a", 5.0, probability=1 / 3, step=step))
        floor = math.sqrt(math.log(3) / (3 * (step + 1)))
        assert policy.probabilities(step).min() >= floor - 1e-12


def test_a_warmup_of_odm_is_drawn_from_the_prior_and_heard():
    policy = ODM(["a", "b"], warmup=10, prior={"a": 1, "b": 3})
    policy.observe(Feedback("a", 2.0, probability=0.25, step=0))
    assert policy.probabilities(9).tolist() == [0.25, 0.75]
    assert policy.rewards[0] == pytest.approx(0.8)
    assert policy.probabilities(10)[0] > 0.5
    assert METHODS["odm"].make({"warmup": 5, "prior": "proportional"}, CONTEXT).policy.probabilities(0)[0] == 0.1


def test_a_late_loss_of_odm_is_divided_by_the_probability_of_its_draw():
    early, late = ODM(["a", "b"]), ODM(["a", "b"])
    for policy, order in ((early, (0, 1)), (late, (1, 0))):
        for k in order:
            policy.observe(Feedback("ab"[k], 1.0, probability=(0.25, 0.75)[k], step=k))
    assert early.rewards.tolist() == late.rewards.tolist()


def test_sec_by_hand():
    """α = 1/2, τ = 1/2: Q of b is .4 and then .3, of a .1."""
    policy = SEC(["a", "b"], alpha=0.5, tau=0.5)
    assert policy.probabilities(0).tolist() == [0.5, 0.5]
    for task, value in [("b", 0.8), ("b", 0.2), ("a", 0.2)]:
        policy.observe(Feedback(task, value, probability=0.5))
    assert policy.values.tolist() == pytest.approx([0.1, 0.3])
    a, b = math.exp(0.2), math.exp(0.6)
    np.testing.assert_allclose(policy.probabilities(3), [a / (a + b), b / (a + b)])


def slow_dump(values, sources, window, tau):
    """Lists that are cut at their ends."""
    heard, counts = {source: [] for source in sources}, dict.fromkeys(sources, 0)
    for source, value in values:
        heard[source] = (heard[source] + [value])[-window:]
        counts[source] += 1
    total = sum(counts.values())
    scores = []
    for source in sources:
        mean = sum(heard[source]) / len(heard[source]) if heard[source] else 0.0
        scores.append(mean + math.sqrt(2 * math.log(total + 1) / (counts[source] + 1)))
    weights = [math.exp((score - max(scores)) / tau) for score in scores]
    return [weight / sum(weights) for weight in weights]


@pytest.mark.parametrize("window", [1, 7, 300])
def test_dump_is_the_slow_loop(window):
    sources, rng = ["a", "b", "c"], np.random.default_rng(1)
    policy, values = DUMP(sources, window=window), []
    for step in range(60):
        source, value = sources[int(rng.choice(3, p=[0.7, 0.2, 0.1]))], float(rng.uniform(0, 1))
        values.append((source, value))
        policy.observe(Feedback(source, value, probability=0.3, step=step))
        np.testing.assert_allclose(policy.probabilities(step), slow_dump(values, sources, window, 0.1), rtol=1e-9)


def test_dump_looks_at_what_it_has_seldom_seen_and_forgets_what_left_its_window():
    policy = DUMP(["seen", "new"], tau=0.1, window=5)
    for step in range(50):
        policy.observe(Feedback("seen", 1.0, step=step))
    assert policy.shares(50)["new"] > 0.99
    for step in range(5):
        policy.observe(Feedback("seen", 0.0, step=step))
    assert policy.means.tolist() == [0.0, 0.0]


def test_a_newcomer_begins_with_the_mean_of_the_others():
    for make in (SEC, ODM):
        old, new = make(["a", "b"]), make(["b", "a", "c"])
        old.observe(Feedback("a", 0.8, 1.0))
        old.observe(Feedback("b", 0.4, 1.0))
        new.take_over(old)
        kept = new.values if make is SEC else new.rewards
        assert kept[2] == pytest.approx(kept[:2].mean())


def test_rewards_have_no_usual_source_and_the_methods_name_one():
    """Losses that a host tells a mix are not rewards."""
    with pytest.raises(RotaError, match="for which there is no usual source"):
        usual_sources(SEC(["a"]))
    for name in ("sec", "dump"):
        recipe = METHODS[name].make({}, CONTEXT)
        (source,) = sources_for(recipe.policy, recipe.listen, Settings(steps=100))
        assert source == EachStep("mean_advantage", says="reward")


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: ODM(["a"], rule="mean"), "Unknown rule 'mean'"),
        (lambda: ODM(["a"], alpha=1), r"alpha in \[0, 1\)"),
        (lambda: ODM(["a"], scale=0), "scale above 0"),
        (lambda: ODM(["a"], warmup=-1), "warmup of 0 steps or more"),
        (lambda: SEC(["a"], alpha=0), r"alpha in \(0, 1\]"),
        (lambda: SEC(["a"], tau=0), "tau above 0"),
        (lambda: DUMP(["a"], tau=0), "tau above 0"),
        (lambda: DUMP(["a"], window=0), "window of one value or more"),
    ],
)
def test_wrong_arguments_are_refused_with_a_sentence(make, sentence):
    with pytest.raises(RotaError, match=sentence):
        make()


def test_a_bandit_of_the_family_can_be_anchored():
    for name in ("odm", "sec", "dump"):
        policy = METHODS[name].make({"anchor": 1.0, "anchor_prior": "proportional"}, CONTEXT).policy
        assert policy.probabilities(0).tolist() == pytest.approx([0.1, 0.9])
    assert isinstance(METHODS["exp3s"].make({}, CONTEXT).policy, Exp3S)
