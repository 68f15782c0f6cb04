"""Encoders and heads: shapes, padding, and names."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from rota.data import load_tasks
from rota.errors import RotaError
from rota.models import Encoder, MultiTaskModel, SmallConv, encoder_for


@pytest.fixture(scope="module")
def toytext():
    tasks = load_tasks(["toytext"])
    torch.manual_seed(0)
    return tasks, MultiTaskModel(encoder_for(tasks), tasks).eval()


def test_every_kind_gets_outputs_that_its_loss_accepts(toytext):
    tasks, model = toytext
    for task in tasks:
        batch = task.splits["train"].batch(np.arange(7))
        outputs = model(task.name, batch.inputs)
        losses = task.kind.losses(outputs, batch.labels)
        assert losses.shape == (7,)
        assert torch.isfinite(losses).all()
        losses.sum().backward()
        assert model.heads[task.name].linear.weight.grad.abs().sum() > 0


def test_padding_changes_nothing(toytext):
    tasks, model = toytext
    for task in tasks:
        rows = task.splits["train"]
        together = model(task.name, rows.batch(np.arange(20)).inputs)
        for k in range(20):
            alone = model(task.name, rows.batch(np.array([k])).inputs)[0]
            part = together[k][: len(alone)] if task.kind.sees == "tokens" else together[k]
            torch.testing.assert_close(alone, part, atol=1e-5, rtol=1e-5)


def test_an_answer_never_lies_in_the_padding(toytext):
    tasks, model = toytext
    task = next(task for task in tasks if task.name == "who")
    batch = task.splits["train"].batch(np.arange(50))
    chosen = model(task.name, batch.inputs).argmax(1)
    lengths = (batch.inputs["tokens"] != 0).sum(1)
    assert (chosen < lengths[:, None]).all()


def test_pictures_of_any_size_fit():
    for side in (8, 12, 13, 28):
        features = SmallConv(side).eval()({"image": torch.rand(3, 1, side, side)})
        assert features.rows.shape == (3, 64)


def test_tasks_with_different_inputs_are_refused():
    with pytest.raises(RotaError, match="expect equal inputs"):
        encoder_for(load_tasks(["left", "mood"]))


def test_token_tasks_need_an_encoder_with_tokens():
    tasks = load_tasks(["roles"])
    model = MultiTaskModel(SmallConv(12), tasks)
    with pytest.raises(RotaError, match="one vector per token"):
        model("roles", {"image": torch.rand(1, 1, 12, 12)})


def test_unknown_tasks_are_refused():
    tasks = load_tasks(["left", "right"])
    model = MultiTaskModel(encoder_for(tasks), tasks)
    with pytest.raises(RotaError, match="Did you mean 'left'"):
        model("lef", {})


@pytest.mark.parametrize("name", ["a.b", "keys", ""])
def test_names_that_torch_cannot_hold_are_refused(name):
    tasks = [dataclasses.replace(task, name=name) for task in load_tasks(["left"])]
    with pytest.raises(RotaError, match=f"Found '{name}'"):
        MultiTaskModel(encoder_for(tasks), tasks)


def test_an_encoder_without_a_forward_pass_says_so():
    with pytest.raises(TypeError, match="without a forward pass"):
        Encoder()({})
