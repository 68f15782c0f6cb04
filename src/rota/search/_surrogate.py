"""A Gaussian process: predictions at points that were not tried."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rota.arrays import Floats
from rota.errors import RotaError

AMPLITUDE = (0.01, 1000.0)  # as in scikit-optimize
LENGTHS = (0.01, 100.0)
NOISE = (1e-6, 1.0)
LIKELY_NOISE, WIDTHS = 0.01, (1.5, 1.0, 2.0)
"""What is believed before the first value: all three are log-normal. An amplitude of 1 and a noise of 0.01, and
length-scales that grow with the number of features, as distances between points do. WIDTHS are the deviations of their
logarithms: of the amplitude, of a length-scale and of the noise."""
JITTER = 1e-8

Matern = Callable[[Floats], tuple[Floats, Floats]]


def _rough(r: Floats) -> tuple[Floats, Floats]:
    """Matérn 3/2, and what a length-scale's derivative is proportional to."""
    r = math.sqrt(3.0) * r
    return (1 + r) * np.exp(-r), 3.0 * np.exp(-r)


def _smooth(r: Floats) -> tuple[Floats, Floats]:
    """Matérn 5/2, likewise."""
    r = math.sqrt(5.0) * r
    return (1 + r + r * r / 3) * np.exp(-r), 5.0 / 3.0 * (1 + r) * np.exp(-r)


SHAPES: dict[float, Matern] = {1.5: _rough, 2.5: _smooth}


@dataclass(frozen=True)
class Kernel:
    """amplitude · Matérn(distance, each feature divided by its length-scale) + noise of one evaluation.

    >>> kernel = Kernel(amplitude=2.0, noise=0.1, lengths=np.array([1.0]), nu=2.5)
    >>> kernel.between(np.array([[0.0]]), np.array([[0.0], [1.0]])).round(3)
    array([[2.   , 1.048]])
    """

    amplitude: float
    noise: float
    lengths: Floats
    nu: float

    def between(self, some: Floats, others: Floats) -> Floats:
        """Covariances of the function, without noise."""
        a, b = some / self.lengths, others / self.lengths
        squares = (a * a).sum(axis=1)[:, None] + (b * b).sum(axis=1) - 2 * a @ b.T
        found: Floats = self.amplitude * SHAPES[self.nu](np.sqrt(np.maximum(squares, 0.0)))[0]
        return found


class Surrogate:
    """A Gaussian process with one length-scale per feature (Matérn × amplitude + white noise). Its hyper-parameters are
    the most probable ones (L-BFGS, with restarts): with five values and seven hyper-parameters, those of largest
    likelihood alone would take chance for knowledge.

    Means and deviations are in units of the values' own standard deviation, from their mean, and describe the
    function itself, without the noise of one more evaluation.

    Args:
        features: One row per tried point, scaled to [0, 1].
        values: What each scored.
        nu: Smoothness of the Matérn kernel, 1.5 or 2.5.
        restarts: How often the fit starts again from random hyper-parameters.
        seed: Of these restarts.

    >>> x = np.linspace(0, 1, 6)[:, None]
    >>> found = Surrogate(x, np.sin(3 * x[:, 0]))
    >>> mean, deviation = found.predict(np.array([[0.5]]))
    >>> bool(abs(found.center + found.scale * mean[0] - np.sin(1.5)) < 0.05)
    True
    """

    def __init__(self, features: Floats, values: Floats, nu: float = 2.5, restarts: int = 2, seed: int = 0) -> None:
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

        if nu not in SHAPES:
            raise RotaError(f"A Gaussian process expects nu of {' or '.join(map(str, SHAPES))}. Found {nu}.")
        self.center = float(values.mean())
        self.scale = float(values.std()) or 1.0
        self._features, known = features, self.normalised(values)
        # One thread: the matrices are tiny, more threads only wait for each other, and sums come out the same.
        with threadpool_limits(limits=1):
            self.kernel = most_probable(features, known, nu, restarts, np.random.default_rng(seed))
            covariances = self.kernel.between(features, features) + (self.kernel.noise + JITTER) * np.eye(len(known))
            self._root = np.linalg.cholesky(covariances)
            self._weights = np.linalg.solve(covariances, known)

    def normalised(self, values: Floats) -> Floats:
        """Values in the unit of this belief."""
        return (values - self.center) / self.scale

    @property
    def noise(self) -> float:
        """Variance of one evaluation around the function."""
        return self.kernel.noise

    def predict(self, features: Floats) -> tuple[Floats, Floats]:
        """Mean and deviation of the function at these points."""
        from threadpoolctl import threadpool_limits

        with threadpool_limits(limits=1):
            shared = self.kernel.between(features, self._features)
            explained = (np.linalg.solve(self._root, shared.T) ** 2).sum(axis=0)
            mean: Floats = shared @ self._weights
        return mean, np.sqrt(np.maximum(self.kernel.amplitude - explained, 1e-12))


def most_probable(features: Floats, values: Floats, nu: float, restarts: int, rng: np.random.Generator) -> Kernel:
    """The hyper-parameters with the largest posterior density, given normalised values."""
    from scipy.optimize import minimize  # late: it takes a moment

    count = features.shape[1]
    bounds = np.log([AMPLITUDE, NOISE, *[LENGTHS] * count])
    likely, width = _prior(count)
    posterior = KernelPosterior(features, values, nu)
    starts = [likely, *(likely + width * rng.normal(size=len(likely)) for _ in range(restarts))]
    fits = [
        minimize(posterior, np.clip(start, *bounds.T), jac=True, method="L-BFGS-B", bounds=bounds) for start in starts
    ]
    best = min(fits, key=lambda fit: float(fit.fun)).x
    return Kernel(float(np.exp(best[0])), float(np.exp(best[1])), np.exp(best[2:]), nu)


def _prior(count: int) -> tuple[Floats, Floats]:
    """Means and deviations of the logarithms of amplitude, noise and `count` length-scales."""
    amplitude, length, noise = WIDTHS
    means = np.array([0.0, math.log(LIKELY_NOISE), *[0.5 * math.log(count)] * count])
    return means, np.array([amplitude, noise, *[length] * count])


class KernelPosterior:
    """Minus the logarithm of the posterior density of hyper-parameters (up to a constant), and its gradient.

    Args:
        features: One row per tried point.
        values: Normalised ones.
        nu: Smoothness of the Matérn kernel.
    """

    def __init__(self, features: Floats, values: Floats, nu: float) -> None:
        self._squares = (features[:, None, :] - features[None, :, :]) ** 2
        self._values, self._shape = values, SHAPES[nu]
        self._likely, self._width = _prior(features.shape[1])

    def __call__(self, logs: Floats) -> tuple[float, Floats]:
        amplitude, noise, lengths = np.exp(logs[0]), np.exp(logs[1]), np.exp(logs[2:])
        squares = self._squares / lengths**2
        shape, slope = self._shape(np.sqrt(squares.sum(axis=2)))
        covariances = amplitude * shape + (noise + JITTER) * np.eye(len(shape))
        inverse = np.linalg.inv(covariances)
        weights = inverse @ self._values
        away = (logs - self._likely) / self._width
        volume = np.log(np.diag(np.linalg.cholesky(covariances))).sum()
        cost = 0.5 * self._values @ weights + volume + 0.5 * away @ away
        pull = inverse - np.outer(weights, weights)  # ∂cost = ½ tr(pull · ∂covariances)
        gradient = np.array(
            [
                0.5 * amplitude * (pull * shape).sum(),
                0.5 * noise * np.trace(pull),
                *(0.5 * amplitude * np.einsum("ij,ijk->k", pull * slope, squares)),
            ]
        )
        return float(cost), gradient + away / self._width
