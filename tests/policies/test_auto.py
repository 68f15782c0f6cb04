"""`Auto`: who learns gets more, who is done or never begins gets less, and nobody is starved."""

from __future__ import annotations

import numpy as np
import pytest

from rota.curves import Bank, History, fit_curve
from rota.curves._bank import LINES, PRIOR
from rota.errors import RotaError
from rota.feedback import Feedback
from rota.policies import Auto, AutoDev, uniform
from rota.simulation import KINDS, Game


def told(policy, losses, steps):
    """Tell a policy of `steps` visits of every task in turn; losses by task, as functions of the visit."""
    for visit in range(steps):
        for task, loss in losses.items():
            policy.observe(Feedback(task, float(loss(visit))))
    return policy.shares(0)


def falling(visit):
    return 1 - visit / 2400  # still far from its end when the budget is spent


def done(visit):
    return max(0.2, 1 - visit / 20)


def never(visit):
    return 1 + 0.1 * np.cos(7.0 * visit**2)


def test_a_task_that_learns_gets_more_than_one_that_is_done():
    shares = told(Auto(["a", "b"], horizon=1200), {"a": falling, "b": done}, 300)
    assert shares["a"] > 0.6
    assert shares["b"] >= 0.29  # never below 60 % of its prior share


def test_a_task_that_never_learns_is_waited_for_and_then_halved():
    policy = Auto(["a", "b"], horizon=1600)
    early = told(policy, {"a": falling, "b": never}, 150)
    late = told(policy, {"a": lambda visit: falling(visit + 150), "b": never}, 400)
    assert early["b"] > 0.45
    assert late["b"] < 0.36


def test_a_task_that_begins_late_is_not_given_up():
    def late(visit):
        return 1.0 if visit < 150 else 1 - (visit - 150) / 1000

    shares = told(Auto(["a", "b"], horizon=1000), {"a": done, "b": late}, 250)
    assert shares["b"] > 0.6


SMALL = {"horizon": 1200, "sizes": {"a": 300, "b": 15}, "batch_size": 1, "prior": "uniform"}


def by_heart(visit):
    """Falls at the borders of passes of 15 visits alone."""
    return 1 - (visit // 15) * 15 / 2400


def test_rows_that_were_seen_often_count_less_where_they_are_memorised():
    memory = told(Auto(["a", "b"], **SMALL), {"a": falling, "b": by_heart}, 300)
    assert memory["a"] > memory["b"] + 0.2
    taught = told(Auto(["a", "b"], **SMALL), {"a": falling, "b": falling}, 300)
    assert taught["a"] == pytest.approx(0.5)


def test_a_further_pass_over_memorised_rows_promises_less_though_all_losses_are_heard():
    """Both fall alike, and nothing is left unheard: only the passes that are to come tell them apart."""
    heard = {"guard": "always", "max_heard_passes": 1e9}
    worn = told(Auto(["a", "b"], **heard, **SMALL), {"a": falling, "b": falling}, 300)
    assert worn["a"] == pytest.approx(0.7, abs=0.01)  # b is at its floor
    many_rows = {**SMALL, "sizes": {"a": 3000, "b": 1200}}  # nobody comes to a second pass
    fresh = told(Auto(["a", "b"], **heard, **many_rows), {"a": falling, "b": falling}, 300)
    assert fresh["a"] == pytest.approx(0.5)


@pytest.mark.parametrize(("slower", "share"), [(0.25, 0.75), (0.4, 0.25)])
def test_after_three_passes_a_memorised_row_counts_a_third(slower, share):
    """With three passes behind it, a visit of b counts exp(-(3 - 1) / 2) or less: 0.35 at the first of the fifty that
    are left, 0.31 at the last. So a, whose rows never come again, gets the rest if it learns 0.4 times as fast as b,
    and not if it learns a quarter as fast."""
    sizes = {"sizes": {"a": 1e6, "b": 100}, "batch_size": 1, "prior": "uniform"}
    policy = Auto(["a", "b"], horizon=600, **sizes, guard="always", max_heard_passes=1e9, momentum=0, blend=0)
    shares = told(policy, {"a": lambda visit: 1 - slower * visit / 600, "b": lambda visit: 1 - visit / 600}, 300)
    assert shares["b"] == pytest.approx(share)


def test_who_is_deaf_knows_what_it_knew_after_two_passes():
    """However long it goes on: passes of 20 visits, so 40 of them are heard."""

    def curves(visits):
        policy = Auto(["a"], sizes={"a": 20}, batch_size=1, guard="always")
        for visit in range(visits):
            policy.losses.add(0, np.exp(-visit / 30))
        return policy.losses.curves(policy.memorised())[0]

    asked = np.array([[10.0, 40.0, 80.0]])
    np.testing.assert_array_equal(curves(300).scores(asked), curves(40).scores(asked))
    assert abs(curves(39).scores(asked) - curves(40).scores(asked)).max() > 1e-6


def test_who_is_half_guarded_hears_everything():
    policy, all_of_it = (Auto(["a"], sizes={"a": 20}, batch_size=1, guard=guard) for guard in ("always", "never"))
    for visit in range(300):
        policy.losses.add(0, np.exp(-visit / 30))
        all_of_it.losses.add(0, np.exp(-visit / 30))
    asked, half = np.array([[10.0, 40.0, 400.0]]), np.array([0.5])
    heard = all_of_it.losses.curves(all_of_it.memorised())[0].scores(asked)
    np.testing.assert_array_equal(policy.losses.curves(half)[0].scores(asked), heard)
    assert abs(policy.losses.curves(half + 0.1)[0].scores(asked) - heard).max() > 0.01


def test_losses_of_later_passes_over_memorised_rows_are_not_heard(monkeypatch):
    """Without what a further pass promises less: who hears everything takes memory for learning."""
    monkeypatch.setattr("rota.policies._auto.WORN_PASSES", 1e9)
    deaf = told(Auto(["a", "b"], **SMALL), {"a": falling, "b": by_heart}, 300)
    heard = told(Auto(["a", "b"], max_heard_passes=1e9, **SMALL), {"a": falling, "b": by_heart}, 300)
    assert deaf["a"] > 0.65
    assert heard["a"] < 0.55


def test_a_guard_can_be_always_there_or_never():
    always = told(Auto(["a", "b"], guard="always", **SMALL), {"a": falling, "b": falling}, 300)
    assert always["a"] > always["b"] + 0.2
    never = told(Auto(["a", "b"], guard="never", **SMALL), {"a": falling, "b": by_heart}, 300)
    assert never["a"] == pytest.approx(0.5, abs=0.05)


def test_a_task_that_has_fallen_below_its_best_is_lifted():
    def harmed(visit):
        return 1 - min(visit, 150) / 200 + max(visit - 150, 0) / 300

    losses = {"a": falling, "b": harmed}
    lifted = told(Auto(["a", "b"], horizon=1200), losses, 300)
    left = told(Auto(["a", "b"], horizon=1200, fallen_boost=0), losses, 300)
    assert left["b"] < 0.4
    assert lifted["b"] > 0.6


def test_the_least_shares_by_hand():
    """Six tasks, of which each has a prior share of 1/6 and had 100 visits of the 1200 that are planned. A flat curve,
    and one whose rise may be chance, are waited for; so is not who rises for sure, nor who had half of its fair share.
    """
    policy = Auto(list("abcdef"), horizon=1200, kept=["f"])
    for k, visits in enumerate([99, 99, 99, 99, 101, 200]):
        for visit in range(visits):
            policy.losses.add(k, float(k == 3 and abs(visit - 50)))  # d was better once
    weights, rises = np.zeros((6, len(PRIOR))), np.zeros((6, len(PRIOR)))
    weights[:, 1], rises[:, 1] = 1.0, [0.25, 0.15, 0.25, 0.25, 0.0, 0.0]
    weights[0, :2] = 0.6, 0.4
    nothing = np.zeros((6, len(PRIOR)))
    bank = Bank(policy.losses.visits, weights, nothing, rises, np.zeros(6), nothing, nothing)
    least = policy._least(bank, np.full(6, 0.1), horizon=1200, left=600)
    # a: flat; b: 0.15 < 2 · 0.1; c: 0.25 > 2 · 0.1; d: fallen; e: had its half; f: kept.
    expected = np.array([1, 1, 0.5, 2, 0.5, 1]) / 6
    np.testing.assert_allclose(least, expected)
    policy = Auto(list("abcdef"), horizon=1200, floor=1.0, fallen_boost=3)
    assert policy._least(bank, np.full(6, 0.1), horizon=1200, left=600).sum() == pytest.approx(1)


def test_the_least_shares_where_nobody_may_be_worse_by_hand():
    """Two lines that go on to somewhere below 1, with 150 visits more as a fair share. a would rise from 0.1 to 0.149,
    by 0.0008 with the last of sixty parts, so that it is not worse without the last two; b, from 0.5, by 0.0021."""
    policy = Auto(["a", "b"], objective="nobody-worse")
    for visit in range(300):
        for k in range(2):
            policy.losses.add(k, 1 - visit / 600)
    line, nothing = np.zeros((2, len(PRIOR))), np.zeros((2, len(PRIOR)))
    line[:, LINES.start] = 1.0
    bank = Bank(np.full(2, 300.0), line, nothing, line * [[0.1], [0.5]], np.zeros(2), nothing, nothing)
    least = policy._least(bank, np.zeros(2), horizon=900, left=300)
    np.testing.assert_allclose(least, [0.5 * 58 / 60, 0.5])


def test_the_first_plan_comes_as_soon_as_enough_was_heard():
    """A tenth of the horizon; without one, ten losses of each task."""
    for options in ({"horizon": 1000, "every": 50}, {"every": 10}):
        policy = Auto(["a", "b"], **options)
        heard = 100 if "horizon" in options else 20
        told(policy, {"a": falling, "b": done}, heard // 2 - 1)
        policy.observe(Feedback("a", 0.9))
        assert policy.shares(0) == {"a": 0.5, "b": 0.5}
        policy.observe(Feedback("b", 0.1))
        assert policy.shares(0)["a"] != 0.5


def test_who_does_not_count_is_not_lifted_when_it_falls():
    def harmed(visit):
        return 1 - min(visit, 150) / 200 + max(visit - 150, 0) / 300

    policy = Auto(["a", "b"], horizon=1200, importance={"a": 1, "b": 0})
    assert told(policy, {"a": falling, "b": harmed}, 300)["b"] < 0.4


def test_the_past_counts_as_much_as_its_momentum_says():
    losses = {"a": falling, "b": done}
    new = told(Auto(["a", "b"], horizon=100, every=100, momentum=0.0), losses, 50)["a"]
    assert new > 0.6
    assert told(Auto(["a", "b"], horizon=100, every=100, momentum=0.75), losses, 50)["a"] == pytest.approx(
        0.75 * 0.5 + 0.25 * new
    )


def test_the_prior_decides_between_equals_alone():
    """The prior is for a, by nine to one; b gets the rest of the budget as soon as it learns a little faster."""
    options = {"horizon": 1200, "prior": {"a": 9, "b": 1}, "momentum": 0, "blend": 0}
    slower = told(Auto(["a", "b"], **options), {"a": lambda visit: 1 - 0.8 * visit / 2400, "b": falling}, 300)
    assert slower["b"] == pytest.approx(0.55)  # half of its prior share, and the half that is shared out
    equal = told(Auto(["a", "b"], **options), {"a": done, "b": done}, 300)
    assert equal["a"] > 0.65


def test_nobody_worse_takes_nothing_from_who_is_done_but_what_it_does_not_need():
    losses = {"a": falling, "b": done}
    best = told(Auto(["a", "b"], horizon=1200), losses, 300)
    fair = told(Auto(["a", "b"], horizon=1200, objective="nobody-worse"), losses, 300)
    assert fair == pytest.approx(best)


def test_plans_come_every_fifty_steps_or_sixty_times_a_run():
    assert [Auto(["a"], horizon=horizon).every for horizon in (None, 60, 3000, 3060, 6000)] == [50, 50, 50, 51, 100]
    assert Auto(["a"], horizon=6000, every=7).every == 7
    assert Auto(["a"], horizon=1, every=1).every == 1


def test_a_pass_has_as_many_visits_as_batches():
    policy = Auto(["a", "b"], sizes={"a": 640, "b": 96})
    assert policy.batches.tolist() == [20, 3]  # of 32 rows
    assert Auto(["a", "b"], sizes={"a": 0, "b": 96}).batches[0] > 0
    assert Auto(["a", "b"], sizes={"a": 640, "b": 96}, batch_size=16).batches.tolist() == [40, 6]


def test_the_reference_is_the_mean_of_the_first_ten_losses():
    policy = Auto(["a", "b", "c"], references={"b": 0.5})
    policy.losses.add(0, 3.0)
    assert policy.losses.references.tolist() == [3.0, 0.5, 1.0]
    for loss in (1.0, 2.0, *range(7), 100.0, 200.0):
        policy.losses.add(0, loss)
    assert policy.losses.references[0] == (3 + 1 + 2 + 21) / 10


def test_a_likelihood_is_at_most_one_and_losses_have_a_limit():
    policy = Auto(["a", "b", "c"], score="likelihood")
    for k, loss in enumerate((0.5, -3.0, 1e9)):
        policy.losses.add(k, loss)
        policy.losses.add(k, loss)
    bank, _ = policy.losses.curves(np.zeros(3))
    assert bank.scores(np.full((3, 1), 2.0))[:, 0] == pytest.approx([np.exp(-0.5), 1.0, 0.0])
    assert policy.losses.references.tolist() == [0.5, 1.0, 1e6]


def test_importance_and_kept_shares():
    losses = {"a": falling, "b": falling, "c": falling}
    shares = told(Auto(list("abc"), horizon=1200, importance={"a": 1, "b": 0, "c": 0}), losses, 200)
    assert shares["a"] > 0.55
    shares = told(Auto(list("abc"), horizon=1200, kept=["c"]), {**losses, "b": done}, 200)
    assert shares["c"] == pytest.approx(1 / 3)
    assert shares["a"] > shares["b"]


def test_nobody_is_predicted_to_end_lower_than_with_an_equal_share():
    losses = {"a": falling, "b": lambda visit: 1 - visit / 4800}
    best = told(Auto(["a", "b"], horizon=1200), losses, 300)
    fair = told(Auto(["a", "b"], horizon=1200, objective="nobody-worse"), losses, 300)
    assert best["a"] > 0.6
    assert abs(fair["a"] - 0.5) < 0.05


def test_units_of_losses_do_not_matter():
    plain = told(Auto(["a", "b"], horizon=1200), {"a": falling, "b": done}, 200)
    scaled = told(Auto(["a", "b"], horizon=1200), {"a": lambda v: 1000 * falling(v), "b": done}, 200)
    assert scaled["a"] == pytest.approx(plain["a"], abs=1e-6)
    given = Auto(["a"], references={"a": 2.0})
    unknown = Auto(["a"], references={"a": None})
    assert (given.losses.references.tolist(), unknown.losses.references.tolist()) == ([2.0], [1.0])


@pytest.mark.parametrize(("prior", "share"), [("sqrt", 0.75), ("mixed", 0.625), ("uniform", 0.5)])
def test_the_prior_knows_the_sizes_where_there_are_any(prior, share):
    assert Auto(["a", "b"], sizes={"a": 90, "b": 10}, batch_size=1, prior=prior).shares(0)["a"] == pytest.approx(share)
    assert Auto(["a", "b"], prior=prior).shares(0)["a"] == 0.5
    assert Auto(["a", "b"], prior={"a": 3, "b": 1}).shares(0)["a"] == 0.75


def test_a_history_of_fixed_size_says_what_all_scores_say():
    rng = np.random.default_rng(0)
    scores = 0.8 * (1 - np.exp(-np.arange(3000) / 500)) + 0.1 * rng.normal(size=3000)
    history = History(["a", "b"])
    for score in scores:
        history.add(1, float(score))
    bank, unsure = history.fitted()
    whole = fit_curve(scores)
    assert history.noise()[1] == pytest.approx(whole.noise)
    assert unsure[1] == pytest.approx(2 * whole.noise / np.sqrt(3000))
    asked = np.array([100.0, 1000.0, 3000.0, 9000.0])
    np.testing.assert_allclose(bank.scores(np.stack([asked, asked]))[1], whole(asked), atol=0.02)
    assert np.isfinite(bank.scores(np.stack([asked, asked]))).all()  # of a task that nobody has seen, too
    again = History(["b", "a"])
    again.load_state_dict(history.state_dict())
    np.testing.assert_array_equal(again.visits, [3000, 0])


def test_curves_say_how_far_they_may_be_off():
    hits = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        rate = rng.uniform(100, 800)
        truth = rng.uniform(0.4, 0.9) * (1 - np.exp(-np.arange(801) / rate))
        curve = fit_curve(truth[:400] + 0.1 * rng.normal(size=400))
        hits.append(abs(curve(400) - truth[400]) <= 2 * curve.spread(400))
        assert curve.spread(800) >= curve.spread(400) - 1e-9
    assert np.mean(hits) >= 0.9


def final(game, policy, seed=0):
    game.reset(seed)
    rng = np.random.default_rng(seed)
    for step in range(game.steps):
        choice = policy.choose(step, rng)
        loss = game.train(np.array([game.tasks.index(choice.task)]))[0]
        policy.observe(choice.scored(float(loss)))
    return game.scores.mean()


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"interfere", "memory"}))
def test_it_is_above_uniform_in_simulated_trainings(kind):
    gains = []
    for seed in range(3):
        game = Game(kind, tasks=6, steps=1500, seed=seed, noise=0.15)
        gains.append(
            final(game, Auto(game.tasks, game.steps, game.batches, batch_size=1)) - final(game, uniform(game.tasks))
        )
    assert np.mean(gains) > 0


def test_dev_scores_win_over_losses_as_soon_as_there_are_five():
    policy, score = AutoDev(["a", "b"], horizon=1200), {"a": 0.0, "b": 0.0}
    for visit in range(300):
        if visit % 40 == 0:
            if visit == 160:
                assert policy.shares(0)["b"] >= 0.5  # the losses say that a is done
            score["a"] += 0.05
            for task, own in score.items():
                policy.observe(Feedback(task, own))
        for task, loss in {"a": done, "b": falling}.items():
            policy.observe(Feedback(task, loss(visit), 0.5))
    assert policy.shares(0)["a"] > 0.6


def test_where_scores_are_heard_nobody_is_guarded_against_memorising():
    policy = AutoDev(["a", "b"], guard="always", horizon=1200, sizes={"a": 30, "b": 30}, batch_size=1)
    for _ in range(5):
        policy.observe(Feedback("a", 0.5))
    assert policy.memorised().tolist() == [0.0, 1.0]


def test_scores_are_at_most_one_and_at_least_minus_one():
    wild, tame = AutoDev(["a", "b"]), AutoDev(["a", "b"])
    for one, other in ((1.7, 1.0), (-3.0, -1.0), (0.4, 0.4), (1.0, 1.0)):
        wild.observe(Feedback("a", one))
        tame.observe(Feedback("a", other))
    assert wild.state_dict() == tame.state_dict()


def test_a_thousand_tasks_work():
    tasks = [f"t{k}" for k in range(1000)]
    policy, rng = Auto(tasks, horizon=400, every=100), np.random.default_rng(0)
    for step in range(400):
        policy.observe(policy.choose(step, rng).scored(1.0))
    assert policy.probabilities(0).sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"floor": 2}, "floor between 0 and 1"),
        ({"momentum": -0.1}, "momentum between 0 and 1"),
        ({"every": 0}, "horizon and an every of one or more"),
        ({"horizon": 0}, "horizon and an every of one or more"),
        ({"prior": "cube"}, "Unknown prior 'cube'"),
        ({"prior": {"a": 1}}, "Missing: b"),
        ({"importance": {"a": 1, "b": 1, "c": 2}}, "Unknown task 'c'"),
        ({"objective": "fame"}, "Unknown word for Auto 'fame'"),
        ({"guard": "maybe"}, "Unknown word for Auto 'maybe'"),
        ({"sizes": {"a": -1, "b": 2}}, "sizes of zero or more"),
    ],
)
def test_wrong_arguments_are_refused(options, sentence):
    with pytest.raises(RotaError, match=sentence):
        Auto(["a", "b"], **options)
