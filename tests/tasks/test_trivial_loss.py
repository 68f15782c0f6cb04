"""What somebody loses who knows the labels and nothing of the rows."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from rota.tasks import IGNORED, Classification, Regression, Tagging


def test_it_is_the_loss_of_the_best_constant_answer():
    labels = torch.tensor([0, 0, 0, 1, 2, 2])
    logits = torch.tensor([3.0, 1.0, 2.0]).log().expand(6, 3)
    assert Classification(3).trivial_loss(labels) == pytest.approx(F.cross_entropy(logits, labels).item())
    targets = torch.tensor([1.0, 2.0, 6.0])
    assert Regression().trivial_loss(targets) == pytest.approx(((targets - 3.0) ** 2).mean().item())
    tags = torch.tensor([[0, 1, IGNORED], [0, 1, 1]])
    expected = F.cross_entropy(torch.tensor([2.0, 3.0]).log().expand(5, 2), torch.tensor([0, 1, 0, 1, 1])).item()
    assert Tagging(2).trivial_loss(tags) == pytest.approx(expected)
