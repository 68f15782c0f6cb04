"""Old names work for one version, and say what they are called now."""

from __future__ import annotations

import importlib
import inspect
import json
import warnings

import numpy as np
import pytest
from fit_tools import NAMES, QUICK, make_model, make_tasks, train

import rota.deprecation
from rota.deprecation import renamed_arguments, renamed_names
from rota.methods import METHODS
from rota.policies import Auto, Exp3S, Fixed, Hold, Policy, Thompson, Tracking, uniform
from rota.runlog import LOG
from rota.signals import prediction_gain
from rota.sources import DevScores, RoundSuccess, Survey
from rota.training import fit

MODULES = ["training", "methods", "report", "streams", "tasks", "trials", "curves"]


def old_names(module):
    """The table that its `__getattr__` was made with."""
    found = importlib.import_module(f"rota.{module}").__getattr__
    return inspect.getclosurevars(found).nonlocals["names"]


@pytest.mark.parametrize("module", MODULES)
def test_a_name_that_moved_is_found_and_says_where_it_is(module):
    home = importlib.import_module(f"rota.{module}")
    for old, new in old_names(module).items():
        with pytest.warns(DeprecationWarning, match=f"`rota.{module}.{old}` is called `{new}` now"):
            found = getattr(home, old)
        room, _, name = new.rpartition(".")
        assert found is getattr(importlib.import_module(room), name)
        assert old not in home.__all__
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = home.nonsense


def test_a_name_is_renamed_by_one_line(monkeypatch):
    monkeypatch.setattr(rota.deprecation, "newer", 7, raising=False)
    attribute = renamed_names("some.module", {"older": "rota.deprecation.newer"})
    with pytest.warns(DeprecationWarning, match="`some.module.older` is called `rota.deprecation.newer` now"):
        assert attribute("older") == 7


def test_arguments_are_renamed_merged_and_translated():
    @renamed_arguments(a="x", b="x", c=lambda value: {"y": value + 1}, d=lambda value: {})
    def function(x=0, y=0):
        """Adds nothing."""
        return x, y

    assert function(1, y=2) == (1, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert function(x=3) == (3, 0)
    with pytest.warns(DeprecationWarning, match=r"`a=` of .*function is called `x=` now"):
        assert function(a=4) == (4, 0)
    with pytest.warns(DeprecationWarning, match="is called"):
        assert function(a=4, b=5, c=6) == ([4, 5], 7)
    with pytest.warns(DeprecationWarning, match="is called `nothing` now"):
        assert function(d=True) == (0, 0)
    assert list(inspect.signature(function).parameters) == ["x", "y"]
    assert function.__doc__ == "Adds nothing."


def test_the_old_words_of_auto_mean_the_new_ones():
    with pytest.warns(DeprecationWarning, match="of Auto.__init__ is called `(warmup|momentum|fallen_boost)=` now"):
        policy = Auto(NAMES, horizon=100, warm=0.3, past=0.2, lift=3.0)
    assert (policy.warmup, policy.momentum, policy.fallen_boost) == (0.3, 0.2, 3.0)
    with pytest.warns(DeprecationWarning, match="`lift` of the options of AutoOptions is called `fallen_boost` now"):
        assert METHODS["auto"].checked({"lift": 0.0}).fallen_boost == 0.0


def test_a_policy_that_overrides_old_names_is_still_asked():
    with pytest.warns(DeprecationWarning, match="`took` of .*Counting is called `on_draw` now"):

        class Counting(Policy):
            state = ("draws",)

            def __init__(self, tasks):
                super().__init__(tasks)
                self.draws = 0

            def probabilities(self, step):
                return np.full(len(self.tasks), 1 / len(self.tasks))

            def took(self, k, step):
                self.draws += 1

    policy = Counting(["a", "b"])
    assert policy.counts_draws
    policy.choose(0, np.random.default_rng(0))
    assert policy.draws == 1
    with pytest.warns(DeprecationWarning, match="`outlook` of .*Counting is called `expected_shares` now"):
        assert policy.outlook(0) == {"a": 0.5, "b": 0.5}


def log_of(folder):
    return (folder / LOG).read_text()


OLD = {
    "signal": ({"signal": prediction_gain}, {"listen": prediction_gain}, lambda: Exp3S(NAMES, eta=0.5)),
    "survey": ({"survey": Survey(every=10, passes=2)}, {"listen": Survey(every=10, passes=2)}, lambda: Tracking(NAMES)),
    "reward": ({"reward": RoundSuccess(5)}, {"listen": RoundSuccess(5)}, lambda: Hold(Thompson(NAMES), 5)),
    "tell_scores": (
        {"signal": "training_loss", "tell_scores": True},
        {"listen": ["training_loss", DevScores()]},
        lambda: uniform(NAMES),
    ),
}


@pytest.mark.parametrize("case", OLD)
def test_fit_understands_its_old_words(tmp_path, case):
    old, new, policy = OLD[case]
    with pytest.warns(DeprecationWarning, match="of fit is called `listen=` now"):
        train(tmp_path / "old", policy(), **old)
    train(tmp_path / "new", policy(), **new)
    assert log_of(tmp_path / "old") == log_of(tmp_path / "new")
    described = [json.loads((tmp_path / name / "run.json").read_text())["listen"] for name in ("old", "new")]
    assert described[0] == described[1]


def test_a_watch_is_a_callback(tmp_path):
    tasks = make_tasks()
    policy = Fixed(dict.fromkeys(NAMES, 1))
    with pytest.warns(DeprecationWarning, match="`watch=` of fit is called `callbacks=` now"):
        run = fit(
            make_model(tasks), tasks, policy, tmp_path, QUICK, progress=False, watch=lambda step, average: step >= 20
        )
    assert (run.summary["stopped"], run.summary["steps"]) == ("pruned", 20)
