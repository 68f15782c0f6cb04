"""The command of a run gives its plan again."""

from __future__ import annotations

import itertools
import json
import shlex

import pytest

from rota.analysis import train_command
from rota.errors import RotaError
from rota.plans import Plan, make_plan
from rota.settings import Settings

PLANS = [
    {},
    {"tasks": ["left", "right"], "method": "exp3s", "options": {"eta": 1e-5, "importance": "rho", "alpha": None}},
    {"clip": None, "lr": 5e-5, "seed": 7, "clip_each": False, "eval_every": 10, "freeze": "half", "halve_dev": True},
    {"options": {"logs": ["a b", "c,d"], "weights": {"left": 2, "right": 1.5}, "text": "it's: 1"}},
    {"rows": {"left": 5, "right": 6}, "parts": {"norm": False, "attention": "trainable"}, "freeze": 3},
    {"per_task": {"rte": {"batch_size": 16, "loss_weight": 2e-5, "auxiliary": True}}, "data": "my data", "longest": 64},
]


@pytest.mark.parametrize("fields", PLANS)
def test_the_command_makes_the_same_plan(fields, monkeypatch, tmp_path):
    from typer.testing import CliRunner

    from rota import cli

    plan = make_plan(fields)
    made = []
    monkeypatch.setattr("rota.runs.run_plan", lambda plan, *_, **__: made.append(plan), raising=False)
    told = shlex.split(train_command(json.loads(plan.model_dump_json())))
    assert told[:2] == ["rota", "train"]
    CliRunner().invoke(cli.app, [*told[1:], "--quiet", "--out", str(tmp_path / "run")])
    assert made == [plan]


def test_what_flags_cannot_say_has_no_command():
    assert train_command({"tasks": ["a,b"], "method": "uniform"}) is None
    assert train_command({"steps": 4}) is None  # a program started it


def test_what_the_command_leaves_out_is_a_default():
    own = {name: field for name, field in Plan.model_fields.items() if name not in Settings.model_fields}
    full = [name for name, field in own.items() if field.default not in (None, {}, (), False)]
    for name, empty in itertools.product(full, (None, False, {}, [])):
        with pytest.raises(RotaError):  # so that leaving it out cannot be mistaken for it
            make_plan({name: empty})
    flags = [field for field in Plan.model_fields.values() if field.annotation is bool]
    assert all(field.default is False for field in flags)  # there is no flag to switch one off
