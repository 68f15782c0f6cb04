"""Copies in half precision: the numbers of autocast, and the model as it was."""

from __future__ import annotations

import copy

import torch
from torch import nn

from rota.engine._half_weights import HalfWeights


def make_model():
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(8, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 4, bias=False), nn.Linear(4, 3), nn.Linear(3, 3)
    )
    model[4].weight.requires_grad_(False)
    model[5].weight = nn.Parameter(torch.eye(3))
    model.append(nn.Linear(3, 3))
    model[6].weight = model[5].weight  # shared
    return model


def gradients(model, x, low=None):
    with torch.autocast("cpu", torch.bfloat16):
        if low is None:
            y = model(x)
        else:
            with low.used():
                y = model(x)
    y.float().square().sum().backward()
    if low is not None:
        low.bring_gradients()
    return y, {name: p.grad for name, p in model.named_parameters()}


def test_copies_give_the_numbers_of_autocast():
    for x in (torch.randn(5, 7, 8), torch.randn(6, 8)):
        model, twin = make_model(), make_model()
        y, expected = gradients(model, x)
        z, found = gradients(twin, x, HalfWeights(twin, torch.bfloat16))
        assert y.equal(z)
        assert expected.keys() == found.keys()
        for name, gradient in expected.items():
            if gradient is None:
                assert found[name] is None
            else:
                assert found[name].dtype == torch.float32
                torch.testing.assert_close(found[name], gradient, rtol=1e-2, atol=1e-3)


def test_copies_follow_the_weights_and_leave_the_model_as_it_was():
    model = make_model()
    low = HalfWeights(model, torch.bfloat16)
    x = torch.randn(6, 8)
    with torch.no_grad():
        model[0].weight.mul_(2)
    twin = copy.deepcopy(model)
    before = dict(model.named_parameters())
    assert gradients(model, x, low)[0].equal(gradients(twin, x)[0])
    assert dict(model.named_parameters()).keys() == before.keys()
    assert all(parameter is before[name] for name, parameter in model.named_parameters())
    assert all("forward" not in vars(module) for module in model.modules())


def test_in_full_precision_nothing_is_copied():
    model = make_model()
    low = HalfWeights(model, None)
    with low.used():
        assert model[0].weight.dtype == torch.float32
        model(torch.randn(2, 8)).sum().backward()
    low.bring_gradients()
    assert model[0].weight.grad is not None
