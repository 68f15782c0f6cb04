"""Gradients of several tasks, each clipped by itself: one by one and all at once."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from test_graph import assert_alike
from test_mixed import SETTINGS, make_model, make_tasks, train
from torch import nn

from rota.engine._clip import ClippedSum
from rota.engine._half_weights import HalfWeights
from rota.streams import MixedStream


def losses_of(model, rows=5):
    tasks = [task for task in make_tasks() if task.kind.sees == "row"]
    batches = [task.splits["train"].batch(np.arange(rows)) for task in tasks]
    width = max(batch.inputs["tokens"].shape[1] for batch in batches)
    tokens = torch.cat(
        [nn.functional.pad(b.inputs["tokens"], (0, width - b.inputs["tokens"].shape[1])) for b in batches]
    )
    owners = torch.arange(len(tasks)).repeat_interleave(rows)
    outputs = model.several([task.name for task in tasks], {"tokens": tokens}, owners)
    found = []
    for k, (task, batch) in enumerate(zip(tasks, batches, strict=True)):
        labels = batch.labels.new_zeros(len(owners), *batch.labels.shape[1:])
        own = owners == k
        labels[own] = batch.labels
        found.append(task.kind.losses(outputs[task.name].float(), labels)[own].mean())
    return torch.stack(found)


def clipped_by_hand(losses, parameters, largest, weights):
    total = [torch.zeros_like(own) for own in parameters]
    for loss, weight in zip(losses, weights, strict=True):
        found = torch.autograd.grad(loss, parameters, retain_graph=True, allow_unused=True)
        norm = sum(float(own.double().square().sum()) for own in found if own is not None) ** 0.5
        for place, own in zip(total, found, strict=True):
            if own is not None:
                place += own * weight * min(1.0, largest / (norm + 1e-6))
    return total


@pytest.mark.parametrize("model", ["TinyText", "camtl", "frozen"])
@pytest.mark.parametrize("largest", [0.05, 1e3])
def test_all_at_once_is_one_by_one(model, largest):
    model = make_model(model).train()
    parameters = [own for own in model.parameters() if own.requires_grad]
    losses = losses_of(model)
    weights = torch.tensor([0.5, 0.3, 0.2, 0.7, 0.1])[: len(losses)]
    expected = clipped_by_hand(losses, parameters, largest, weights.tolist())
    found = ClippedSum(parameters, largest)
    found.add_all(losses, weights)
    found.give()
    for parameter, own in zip(parameters, expected, strict=True):
        grad = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        torch.testing.assert_close(grad, own, rtol=1e-4, atol=1e-7)


def test_linear_layers_in_half_precision_give_all_gradients_at_once():
    model = make_model("camtl").train()
    half = HalfWeights(model, torch.bfloat16)
    with half.used():
        parameters = [own for own in model.parameters() if own.requires_grad]
        with half.autocast():
            losses = losses_of(model)
        expected = clipped_by_hand(losses, parameters, 0.05, [1.0] * len(losses))
        found = ClippedSum(parameters, 0.05)
        found.add_all(losses, torch.ones(len(losses)))
        found.give()
        for parameter, own in zip(parameters, expected, strict=True):
            grad = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
            torch.testing.assert_close(grad.float(), own.float(), rtol=0.05, atol=2e-4)
    half.bring_gradients()
    assert all(own.grad is None or own.grad.dtype == torch.float32 for own in model.parameters())


class Twice(torch.autograd.Function):
    """What nobody can batch."""

    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, gradient):
        return torch.from_numpy(2 * gradient.numpy())


def doubled(features):
    return features._replace(rows=Twice.apply(features.rows))


def test_what_cannot_be_batched_is_clipped_one_by_one(tmp_path, captured):
    runs = []
    for engine in ("eager", "graph"):
        model = make_model("TinyText")
        forward = model.encoder.forward
        model.encoder.forward = lambda *inputs, forward=forward: doubled(forward(*inputs))
        settings = SETTINGS.model_copy(update={"engine": engine, "clip_each": True, "clip": 0.1})
        runs.append(train(tmp_path / engine, MixedStream, model, settings=settings))
    assert runs[1].summary["engine"]["fallback"] is None
    assert_alike(*runs, tolerance=1e-4)
