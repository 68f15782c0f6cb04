"""How similar the inputs of tasks look to a model: covariance similarity (Wu et al. 2020; Pilault et al. 2021)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import torch
from torch import Tensor

from rota.errors import RotaError

KEPT = 0.99  # of the total that the first directions must reach together
SLACK = 1e-12  # rounding must not decide about a direction


def covariance_similarity(
    features: Mapping[str, Tensor], of: Literal["eigenvalues", "singular"] = "eigenvalues"
) -> dict[str, dict[str, float]]:
    """Covariance similarity of each task with each task:

        C_i = X_iᵀ X_i = U D Uᵀ,   A_i = U_r D_r^½,   CovSim_ij = ‖A_iᵀ A_j‖_F / (‖A_i‖_F ‖A_j‖_F)

    where r is the smallest number of leading directions that hold 99 % of the total. It is large where two tasks put
    their rows into the same few directions and 0 where these are orthogonal. Neither a rotation of the features nor
    the scale of a task changes it.

    A task's similarity with itself is ‖D_r‖_F / tr D_r, which is 1 only if all of its rows lie on one line: compare
    values of the same tasks in different models, or of a task with several others, but none with 1.

    Where this differs from the paper: it does not say what a row is nor what the 99 % are of. Here a row is whatever
    the caller made of one example (mean over its tokens, say), not centred; the 99 % are of the eigenvalues of C_i.

    Args:
        features: By task, X_i as [rows, d] with the same d for all.
        of: What must reach 99 %: the "eigenvalues" of C_i, or the "singular" values of X_i, their square roots, which
            keeps more directions.

    >>> table = covariance_similarity({"a": torch.eye(2), "b": torch.tensor([[0.0, 3.0]])})
    >>> round(table["a"]["b"], 4), table["b"]["b"]
    (0.7071, 1.0)
    """
    if of not in ("eigenvalues", "singular"):
        raise RotaError(f"Expected 'eigenvalues' or 'singular' for what must reach 99 %. Found {of!r}.")
    _check(features)
    factors = {task: _factor(X, of) for task, X in features.items()}
    return {
        task: {other: float(torch.linalg.norm(A.T @ B)) for other, B in factors.items()} for task, A in factors.items()
    }


def mean_similarity(table: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """How alike each task is to the others: the mean of its row without itself.

    Args:
        table: As `covariance_similarity` returns it, of at least two tasks.

    >>> mean_similarity({"a": {"a": 0.9, "b": 0.25, "c": 0.75}, "b": {"b": 1.0, "a": 0.25}})
    {'a': 0.5, 'b': 0.25}
    """
    others = {task: [value for other, value in row.items() if other != task] for task, row in table.items()}
    lonely = [task for task, values in others.items() if not values]
    if lonely:
        raise RotaError(f"Expected similarities of at least two tasks. Found no other task beside '{lonely[0]}'.")
    return {task: sum(values) / len(values) for task, values in others.items()}


def _factor(X: Tensor, of: str) -> Tensor:
    """A_r / ‖A_r‖_F, as [d, r]."""
    X = X.detach().cpu().double()
    X = X / X.abs().max()  # squares of very small or very large features must stay numbers
    values, directions = torch.linalg.eigh(X.T @ X)
    values, directions = values.flip(0).clamp_min(0.0), directions.flip(1)
    held = (values.sqrt() if of == "singular" else values).cumsum(0)
    r = int((held < (KEPT - SLACK) * held[-1]).sum()) + 1
    A = directions[:, :r] * values[:r].sqrt()
    return A / torch.linalg.norm(A)


def _check(features: Mapping[str, Tensor]) -> None:
    for task, X in features.items():
        if X.ndim != 2 or not X.is_floating_point() or 0 in X.shape:
            raise RotaError(
                f"Expected features as floats of shape [rows, d], at least one of each. Found {X.dtype} of shape "
                f"{list(X.shape)} for task '{task}'. Make one row of each example, by a mean over its tokens, say."
            )
        if not bool(X.isfinite().all()) or not bool(X.any()):
            raise RotaError(
                f"Expected features that are numbers and not all 0. Found otherwise for task '{task}', which has no "
                f"direction then."
            )
    widths = {task: X.shape[1] for task, X in features.items()}
    if len(set(widths.values())) > 1:
        raise RotaError(f"Expected features of one width d, from one model. Found {widths}.")
