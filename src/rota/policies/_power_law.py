"""A power law with an offset through noisy losses."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rota.arrays import Floats

DELTA = 1e-3  # of the Huber loss, in the logarithm: nearly the sum of absolute differences
SLOWEST, FASTEST = 1e-3, 0.8  # of the exponent
LARGEST_SCALE = 6.5  # of the logarithm of what can still be learned at D = 1
LEAST = 1e-6  # of a loss, whose logarithm is taken
EXPONENTS, OFFSETS = np.linspace(SLOWEST, FASTEST, 21), np.linspace(0.0, 0.98, 15)
REFINED, STUCK = 500, 1e9  # most steps of the refinement, and the damping at which it is at its end


class PowerLaw(NamedTuple):
    """L(D) = exp(a) D^-α + E.

    >>> round(PowerLaw(a=0.0, alpha=0.5, offset=1.0).loss(4.0), 3), round(PowerLaw(0.0, 0.5, 1.0).speed(4.0), 4)
    (1.5, 0.0625)
    """

    a: float
    alpha: float
    offset: float

    def loss(self, seen: float) -> float:
        return float(np.exp(self.a - self.alpha * np.log(seen)) + self.offset)

    def speed(self, seen: float, least_alpha: float = 0.0) -> float:
        """-∂L/∂D, with an exponent of at least so much in the factor."""
        return max(self.alpha, least_alpha) * (self.loss(seen) - self.offset) / seen


def fit_power_law(log_seen: Floats, losses: Floats, weights: Floats, least_offset: float = 0.0) -> PowerLaw:
    """The law with the smallest weighted Huber loss of log L(D) - log L, with α in [0.001, 0.8], a of at most 6.5 and
    an offset of at least `least_offset`: from the best of a grid of exponents and offsets, refined by damped Newton
    steps.

    Args:
        log_seen: log D of each loss.
        losses: The losses.
        weights: How much each counts.
        least_offset: Of E.

    >>> log_seen = np.log(np.arange(1.0, 60.0))
    >>> law = fit_power_law(log_seen, 2.0 * np.exp(-0.4 * log_seen) + 0.5, np.ones(59))
    >>> [round(float(number), 3) for number in (np.exp(law.a), law.alpha, law.offset)]
    [2.0, 0.4, 0.5]
    """
    logs = np.log(np.maximum(losses, LEAST))
    least = np.log(max(least_offset, LEAST))
    best = _best_of_grid(log_seen, logs, weights, least)
    a, alpha, e = _refined(best, log_seen, logs, weights, least)
    return PowerLaw(float(a), float(alpha), float(np.exp(e)) if e > np.log(LEAST) else 0.0)


def _best_of_grid(log_seen: Floats, logs: Floats, weights: Floats, least: float) -> Floats:
    """For each exponent and offset, the scale is the median of what the losses ask for."""
    losses = np.exp(logs)
    offsets = np.maximum(losses.min() * OFFSETS, np.exp(least))
    alpha, offset = (part.reshape(-1, 1) for part in np.meshgrid(EXPONENTS, offsets))
    wanted = np.log(np.maximum(losses - offset, LEAST)) + alpha * log_seen
    a = np.minimum(np.median(wanted, axis=1, keepdims=True), LARGEST_SCALE)
    errors = logs - np.logaddexp(a - alpha * log_seen, np.log(offset))
    k = int((_huber(errors) * weights).sum(axis=1).argmin())
    return np.array([a[k, 0], alpha[k, 0], np.log(offset[k, 0])])


def _refined(start: Floats, log_seen: Floats, logs: Floats, weights: Floats, least: float) -> Floats:
    """Levenberg-Marquardt with the weights of the Huber loss, inside of the bounds."""
    low, high = np.array([-np.inf, SLOWEST, least]), np.array([LARGEST_SCALE, FASTEST, np.inf])
    at, damping = start, 1e-3
    errors, slopes = _errors(at, log_seen, logs)
    cost = float((_huber(errors) * weights).sum())
    for _ in range(REFINED):
        heavy = weights * np.minimum(1.0, DELTA / np.maximum(np.abs(errors), DELTA))
        pull, bend = slopes.T @ (heavy * errors), (slopes.T * heavy) @ slopes
        # A number at its bound stays there, where it would leave.
        free = ~(((at <= low) & (pull < 0)) | ((at >= high) & (pull > 0)))
        if not free.any() or damping > STUCK:
            break
        some = np.ix_(free, free)
        step = np.zeros(3)
        step[free] = np.linalg.solve(bend[some] + damping * np.diag(np.diag(bend)[free] + 1e-12), pull[free])
        tried = np.clip(at + step, low, high)
        new_errors, new_slopes = _errors(tried, log_seen, logs)
        new_cost = float((_huber(new_errors) * weights).sum())
        if new_cost < cost:
            at, errors, slopes, cost, damping = tried, new_errors, new_slopes, new_cost, max(damping / 4, 1e-9)
        else:
            damping *= 4
    return at


def _errors(at: Floats, log_seen: Floats, logs: Floats) -> tuple[Floats, Floats]:
    """log L - log L(D), and the slopes of log L(D) in a, α and e."""
    a, alpha, e = at
    falling = a - alpha * log_seen
    predicted = np.logaddexp(falling, e)
    part = np.exp(falling - predicted)  # of the loss that is not the offset
    return logs - predicted, np.stack([part, -part * log_seen, 1.0 - part], axis=1)


def _huber(errors: Floats) -> Floats:
    size = np.abs(errors)
    return np.where(size > DELTA, DELTA * (size - DELTA / 2), size**2 / 2)
