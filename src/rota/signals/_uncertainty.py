"""How uncertain predictions are, one example at a time.

Axes are in the names: N examples, K passes with dropout (or members of an ensemble), C classes.
"""

from __future__ import annotations

import torch
from torch import Tensor

from rota.errors import RotaError

SLACK = 1e-2  # how far from 1 a sum may be: half precision rounds


def entropy(p_NC: Tensor) -> Tensor:
    """Entropy of each row in nats, -Σ_c p_c log p_c. A class of probability 0 adds nothing.

    >>> entropy(torch.tensor([[0.5, 0.5], [1.0, 0.0]])).tolist()
    [0.6931471805599453, 0.0]
    """
    return _entropy(probabilities(p_NC, "NC"))


def expected_entropy(p_NKC: Tensor) -> Tensor:
    """Mean over the K passes of their entropies: what would stay uncertain if the parameters were known.

    >>> expected_entropy(torch.tensor([[[0.5, 0.5], [1.0, 0.0]]])).round(decimals=3)
    tensor([0.3470], dtype=torch.float64)
    """
    return _entropy(probabilities(p_NKC)).mean(1)


def bald(p_NKC: Tensor) -> Tensor:
    """Mutual information of an example's label and the parameters (BALD; Houlsby et al. 2011):

        I(y; ω) = H[p̄] - 1/K Σ_k H[p_k],   p̄ = 1/K Σ_k p_k

    It is what the passes disagree about: 0 where all of them agree, at most log K and at most log C.

    Where this differs from the paper: Fang & Alqatari print the second term without its 1/K, which their code has.

    >>> agree, differ = [[0.5, 0.5], [0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]]
    >>> bald(torch.tensor([agree, differ])).tolist()
    [0.0, 0.6931471805599453]
    """
    p = probabilities(p_NKC)
    # Rounding may leave something just below zero.
    return (_entropy(p.mean(1)) - _entropy(p).mean(1)).clamp_min(0.0)


def probabilities(p: Tensor, axes: str = "NKC") -> Tensor:
    """Checked and in float64. What half precision has rounded sums to 1 again: the joint of many examples would
    multiply the difference."""
    if p.ndim != len(axes) or not p.is_floating_point() or 0 in p.shape[1:]:
        raise RotaError(
            f"Expected probabilities as floats of shape [{', '.join(axes)}], where N are examples, K passes (at least "
            f"one) and C classes (at least one). Found {p.dtype} of shape {list(p.shape)}. "
            f"Stack the softmax of each pass along axis 1; one pass alone has K = 1."
        )
    p = p.double()
    sums = p.sum(-1, keepdim=True)
    if not bool(((sums - 1).abs() <= SLACK).all() & (p >= 0).all()):  # also true of NaN
        raise RotaError(
            f"Expected probabilities of at least 0 that sum to 1 over the {axes[-1]} classes. Found values from "
            f"{p.min():.3g} to {p.max():.3g} and sums from {sums.min():.3g} to {sums.max():.3g}. "
            f"Apply softmax to logits, or exp to log-probabilities."
        )
    return p / sums


def _entropy(p: Tensor) -> Tensor:
    return torch.special.entr(p).sum(-1)
