"""A fork leaves everything as it was."""

from __future__ import annotations

import copy
import random

import numpy as np
import pytest
import torch
from torch import nn

from rota.trials import fork


class Tied(nn.Module):
    """Batch norm, dropout, and one weight in two places."""

    def __init__(self):
        super().__init__()
        self.first, self.norm, self.drop, self.second = (
            nn.Linear(4, 4),
            nn.BatchNorm1d(4),
            nn.Dropout(0.5),
            nn.Linear(4, 4),
        )
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.second(self.drop(self.norm(self.first(x))))


OPTIMIZERS = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9),
    "adam": lambda parameters: torch.optim.Adam(parameters, lr=0.1),
    "adamw fused": lambda parameters: torch.optim.AdamW(parameters, lr=0.1, fused=True),
    "rprop": lambda parameters: torch.optim.Rprop(parameters, lr=0.1),
}


def train(model, optimizer, steps=3):
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(8, 4)).square().mean().backward()
        optimizer.step()


def everything(model, optimizer):
    return copy.deepcopy((model.state_dict(), optimizer.state_dict(), [m.training for m in model.modules()]))


def same(one, other):
    if isinstance(one, torch.Tensor):
        return one.equal(other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


@pytest.mark.parametrize("warm", [0, 2], ids=["fresh optimizer", "used optimizer"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_all_is_as_it_was_and_training_goes_on_as_if_nothing_had_been(name, warm):
    def run(forks):
        torch.manual_seed(0)
        random.seed(0)
        np.random.seed(0)
        model = Tied()
        optimizer = OPTIMIZERS[name](model.parameters())
        train(model, optimizer, warm)
        before, gradients = everything(model, optimizer), [p.grad for p in model.parameters()]
        if forks:
            with fork(model, optimizer):
                train(model, optimizer)
                model.eval()
                optimizer.param_groups[0]["lr"] = 7.0
                random.random(), np.random.rand()
                assert not same(everything(model, optimizer), before)
        assert same(everything(model, optimizer), before)
        assert all(p.grad is gradient for p, gradient in zip(model.parameters(), gradients, strict=True))
        assert model.first.weight is model.second.weight
        train(model, optimizer)
        return everything(model, optimizer), random.random(), np.random.rand()

    assert same(run(forks=True), run(forks=False))


def test_an_error_inside_leaves_everything_as_it_was_too():
    model = Tied()
    optimizer = torch.optim.Adam(model.parameters())
    before = everything(model, optimizer)

    def fail():
        with fork(model, optimizer):
            train(model, optimizer)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert same(everything(model, optimizer), before)


def test_forks_nest_and_need_no_optimizer():
    model = nn.Linear(2, 2)
    start = model.weight.detach().clone()
    with fork(model):
        model.weight.data += 1
        with fork(model):
            model.weight.data *= 5
        assert model.weight.equal(start + 1)
    assert model.weight.equal(start)


def test_no_module_is_copied_and_parameters_stay_where_they_are():
    model = nn.Linear(2, 2)
    place = model.weight.data_ptr()
    with fork(model):
        model.weight.data += 1
    assert model.weight.data_ptr() == place
