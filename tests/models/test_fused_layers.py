"""Layers made of few kernels say what the layers made of torch's say. The kernels run in Python here."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from rota.models import Dropping, StackedLayers, packing
from rota.models.core import _fused_kernels as kernels
from rota.models.core._fused_text_layers import FusedLayers, why_not_fused

sys.path.insert(0, str(Path(__file__).parent.parent / "engine"))  # for `kernel_tools.py`

from kernel_tools import run_in_python

NAMES = ["norm_forward", "norm_backward", "attention_forward", "attention_backward"]


@pytest.fixture
def layers(monkeypatch):
    run_in_python(monkeypatch, kernels, NAMES)
    where = packing(torch.tensor([[3, 40, 1], [5, 0, 17]]), tokens=64, width=40)
    return StackedLayers(where), FusedLayers(where)


def both(layers, work, *shapes):
    """What the two say, with gradients of all inputs."""
    torch.manual_seed(0)
    inputs = [torch.randn(shape) for shape in shapes]
    found = []
    for own in layers:
        leaves = [tensor.clone().requires_grad_() for tensor in inputs]
        out = work(own, *leaves) * own.where.real[..., None]  # what stands where no token is, nobody reads
        torch.manual_seed(1)
        found.append([out, *torch.autograd.grad((out * torch.randn_like(out)).sum(), leaves)])
    return zip(*found, strict=True)


DROPPINGS = [None, Dropping(torch.tensor([7, 123456789]), 0.25)]


@pytest.mark.parametrize("dropping", DROPPINGS)
def test_norms(layers, dropping):
    shapes = (2, 64, 24), (2, 64, 24), (2, 24), (2, 24)
    for one, other in both(layers, lambda own, *parts: own.norm(*parts, 1e-5, dropping), *shapes):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
    shapes = shapes[1:]
    for one, other in both(layers, lambda own, *parts: own.first_norm(*parts, 1e-5, dropping), *shapes):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dropping", DROPPINGS)
def test_attention(layers, dropping):
    for one, other in both(layers, lambda own, packed: own.attention(packed, 2, dropping), (2, 64, 96)):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_reasons():
    if not kernels.THERE:
        assert why_not_fused(12, 384, 128) == "triton is not installed"
