"""Presets: other defaults under a name of their own, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from rota.errors import RotaError
from rota.feedback import Feedback
from rota.methods import METHODS, RunContext, option_rows
from rota.methods._presets import preset, with_defaults
from rota.names import folder_name
from rota.policies import Tracking, Union, WithFloor, WithStart, uniform

CONTEXT = RunContext({"a": 300, "b": 100}, {"a": 10, "b": 4}, steps=1000, seed=0)
PRESETS = {name: name.split("@")[0] for name in METHODS if "@" in name}


def test_there_are_presets_of_three_papers():
    assert PRESETS == {
        **{"exp3s@paper": "exp3s", "counterfactual@paper": "counterfactual", "counterfactual@bandit": "counterfactual"},
        **{"active@paper": "active", "active@released": "active", "autosem@paper": "autosem"},
    }


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_names_a_folder_and_tells_types_limits_and_reasons(name):
    assert folder_name(name) == name
    rows = {row.name: row for row in option_rows(METHODS[name].options)}
    own = {row.name: row for row in option_rows(METHODS[PRESETS[name]].options)}
    shared = rows.keys() & own.keys()
    assert len(shared) >= 5
    assert all((rows[key].takes, rows[key].reason) == (own[key].takes, own[key].reason) for key in shared)
    assert all(row.reason and row.takes for row in rows.values())


def test_what_is_printed():
    printed = METHODS["exp3s@paper"].checked({})
    assert (printed.eta, printed.epsilon, printed.importance, printed.alpha) == (1e-3, 0.05, "rho", None)
    printed = METHODS["active@paper"].checked({})
    assert (printed.score, printed.passes, printed.gamma, printed.form) == ("joint", 8, 0.5, "printed")
    assert (printed.floor, printed.capped, printed.scope, printed.first, printed.rows) == (
        0,
        False,
        "all",
        "uniform",
        None,
    )
    released = METHODS["active@released"].checked({})
    assert (released.score, released.scope, released.first, released.floor) == ("released", "head", "union", 0)
    glue, bandit = METHODS["counterfactual@paper"].checked({}), METHODS["counterfactual@bandit"].checked({})
    assert (glue.entropies, glue.iterations, glue.population, glue.rounds) == ((0.1, 0.15, 0.2), 50, 64, 1)
    assert (bandit.entropies, bandit.iterations, bandit.rounds) == ((0.1, 0.15, 0.2, 0.25), 20, 2)
    assert glue.estimator == bandit.estimator == "wis"


def test_what_is_printed_of_autosem():
    printed, ours = METHODS["autosem@paper"].checked({}), METHODS["autosem"].checked({})
    assert (printed.rounds, printed.round, printed.top, printed.above) == (200, 10, 2, 0.5)
    assert (printed.prior, printed.primary_prior, printed.decay, printed.floor) == ((1, 1), (1, 1), 0.3, 0)
    assert (printed.utility, printed.reward, printed.measure) == ("last", "ge", "accuracy")
    assert (printed.trials, printed.seeds, printed.space, printed.initial) == (20, 2, "raw", 10)
    assert (printed.sampler, printed.pruning) == ("gp-hedge", False)
    assert (ours.primary_prior, ours.decay, ours.floor) == ((2, 1), 0.05, 0.5)
    assert (ours.utility, ours.measure, ours.seeds, ours.space) == ("averaged", "score", 1, "both")


def test_our_own_forms_are_what_they_were():
    assert METHODS["exp3s"].checked({}).importance == "rho-floored"
    assert METHODS["active"].checked({}).floor == 0.25
    assert METHODS["counterfactual"].checked({}).entropy == "auto"


def test_a_plan_wins_over_a_preset_and_wrong_options_are_refused_by_its_name():
    assert METHODS["exp3s@paper"].make({"importance": "pi"}, CONTEXT).policy.importance == "pi"
    with pytest.raises(RotaError, match="Options of method 'exp3s@paper': 1 wrong field: 'eta' expects"):
        METHODS["exp3s@paper"].checked({"eta": 0})
    with pytest.raises(RotaError, match="Unknown option 'etta'"):
        with_defaults(METHODS["exp3s"].options, {"etta": 1})
    with pytest.raises(RotaError, match="'eta' expects greater than 0"):
        preset(METHODS["exp3s"], "exp3s@wrong", "", "", {"eta": -1.0}).checked({})


def test_a_grid_is_typed_with_commas_and_one_number_is_a_grid_too():
    printed = METHODS["counterfactual@paper"]
    for typed, grid in (("0.1, 0.5", (0.1, 0.5)), (0.5, (0.5,)), ([0.1, 1], (0.1, 1.0)), ("0.5", (0.5,))):
        assert printed.checked({"entropies": typed}).entropies == grid
    with pytest.raises(RotaError, match="'entropies' expects tuple, found True"):
        printed.checked({"entropies": True})


def test_step_sizes_that_sum_to_200_whatever_the_length_of_the_run():
    assert METHODS["exp3s@paper"].make({"eta_steps": 200}, CONTEXT).policy.eta == 0.2
    glue = RunContext({"a": 1, "b": 1}, {"a": 1, "b": 1}, steps=200_000, seed=0)
    assert METHODS["exp3s"].make({"eta_steps": 200}, glue).policy.eta == METHODS["exp3s"].make({}, glue).policy.eta
    assert METHODS["exp3s"].make({"reservoir": 7}, CONTEXT).policy.scaling.size == 7


def test_released_sampling_begins_with_a_union_and_the_printed_one_with_even_shares():
    printed = METHODS["active@paper"].make({}, CONTEXT)
    assert isinstance(printed.policy, Tracking)
    assert printed.policy.shares(0) == {"a": 0.5, "b": 0.5}
    policy = METHODS["active@released"].make({}, CONTEXT).policy
    assert isinstance(policy, WithStart)
    rng = np.random.default_rng(0)
    drawn = [policy.choose(step, rng).task for step in range(14)]
    assert drawn.count("a") == 10  # each batch of both tasks once
    for task, value in {"a": 0.3, "b": 0.1}.items():
        policy.observe(Feedback(task, value))
    assert policy.shares(199) == {"a": 10 / 14, "b": 4 / 14}
    assert policy.shares(200) == pytest.approx({"a": 0.75, "b": 0.25})
    floored = METHODS["active"].make({"first": "union", "every": 30}, CONTEXT).policy
    assert isinstance(floored.policy, WithFloor)
    assert floored.steps == 30


def test_wrong_starts_are_refused():
    with pytest.raises(RotaError, match=r"expects the tasks of what follows, a, b\. Found b, a"):
        WithStart(uniform(["a", "b"]), uniform(["b", "a"]), 5)
    with pytest.raises(RotaError, match=r"a policy that learns nothing\. Found Tracking, which hears uncertainty"):
        WithStart(uniform(["a", "b"]), Tracking(["a", "b"]), 5)
    with pytest.raises(RotaError, match=r"one step or more\. Found 0"):
        WithStart(uniform(["a", "b"]), Union({"a": 1, "b": 1}), 0)
    with pytest.raises(RotaError, match=r"may be mixed\. Found WithStart"):
        WithFloor(WithStart(uniform(["a", "b"]), Union({"a": 1, "b": 1}), 5), 0.1)
