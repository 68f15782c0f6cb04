"""What is known about the law of one task after some mixtures were trained."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rota.arrays import Floats
from rota.surfaces._laws import CEILING, FREE, OTHERS, OWN, PRODUCTS, Law, LawName, LogLinear, Quadratic
from rota.surfaces._residual import RESIDUAL, residual_kernel

STRENGTHS: dict[int, tuple[float, ...]] = {
    OWN: (0.2, 2.0, 12.0),
    OTHERS: (0.1, 1.0, 4.0),
    PRODUCTS: (0.1, 1.0, 4.0),
    RESIDUAL: (0.1, 0.5, 2.0),
}
"""How much the score varies by a group of coefficients, in units of the noise, before anything is known. The first,
hardly at all, is as likely as all others together; what the scores make of that are the weights of the members."""
FLAT = 1e4
"""Strength of the level, of which nothing is known."""
LACKING, CEILING_SPREAD = 3.0, 1.0
"""What a task lacks to its ceiling, in spreads of its scores, and how sure that is: a factor e to either side."""
ROUNDS, TOLERANCE = 40, 1e-9
LEAST_WEIGHT = 1e-3


@dataclass(frozen=True)
class Posterior:
    """Members of one kind of law, which differ in what they expected of its coefficients, weighted by how well they
    explain the scores. Each is a Gaussian process: the law, made linear where it fits best, and what it leaves.

    Args:
        kind: Of the law.
        law: The function of all members.
        own: The number of the task; None where it is not trained itself.
        shares: The mixtures that were trained.
        theta: Coefficients [members, coefficients].
        spread: Of each coefficient before any score, in units of the noise [members, coefficients].
        residual: The same of what the law leaves [members].
        weights: Of the members.
        inverse: Of the covariance of the scores over the variance of the noise.
        response: What the law, made linear, is fitted to [members, mixtures].
        variance: Of the noise of one mixture's score [members].
        left_out: Errors of predictions of each mixture from all others.
    """

    kind: LawName
    law: Law
    own: int | None
    shares: Floats
    theta: Floats
    spread: Floats
    residual: Floats
    weights: Floats
    inverse: Floats
    response: Floats
    variance: Floats
    left_out: Floats

    def mean(self, shares: Floats) -> Floats:
        """The expected score of each mixture."""
        values, slopes = self.law(shares, self.theta)
        pull, moved = self._pulled
        linear = values + np.einsum("hqd,hd->hq", slopes, moved)
        left = residual_kernel(shares, self.shares, self.own) @ (pull.T @ (self.weights * self.residual**2))
        return np.asarray(self.weights @ linear + left)

    @cached_property
    def _pulled(self) -> tuple[Floats, Floats]:
        """What the scores say of the covariance, and of the coefficients beyond those where the law was made linear."""
        _, slopes = self.law(self.shares, self.theta)
        pull = np.einsum("hnm,hm->hn", self.inverse, self.response)
        return pull, self.spread**2 * np.einsum("hnd,hn->hd", slopes, pull) - self.theta

    def draws(self, shares: Floats, noise: Floats, rng: np.random.Generator) -> Floats:
        """Scores of mixtures [draws, mixtures] that are as likely as the posterior says (by Matheron's rule: a draw
        from the prior, corrected by what it says wrongly of the design).

        Args:
            shares: The mixtures.
            noise: Standard normal [draws, mixtures of the design], which may be correlated with that of other tasks:
                in a lucky run several of them go well.
            rng: For the rest.
        """
        count, n = noise.shape
        values, slopes, between = self._at(shares)
        _, at_design = self.law(self.shares, self.theta)
        members = rng.choice(len(self.weights), size=count, p=self.weights)
        sigma = np.sqrt(self.variance[members] * (n - 1) / rng.chisquare(n - 1, size=count))
        both = np.concatenate([self.shares, shares])
        root = np.linalg.cholesky(residual_kernel(both, both, self.own) + 1e-8 * np.eye(len(both)))
        left = rng.standard_normal((count, len(both))) @ root.T
        coefficients = rng.standard_normal((count, self.theta.shape[1]))
        found = np.empty((count, len(shares)))
        for own in np.unique(members):
            at = np.flatnonzero(members == own)
            drawn = coefficients[at] * self.spread[own]
            kept = self.residual[own] * left[at]
            told = drawn @ at_design[own].T + kept[:, :n] + noise[at]
            corrected = drawn @ slopes[own].T + kept[:, n:]
            corrected -= told @ self.inverse[own] @ between[own].T
            centre = values[own] + between[own] @ self.inverse[own] @ self.response[own]
            found[at] = centre + sigma[at, None] * corrected
        return found

    def _at(self, shares: Floats) -> tuple[Floats, Floats, Floats]:
        """The linear law at zero coefficients, its derivatives, and the covariance with the design."""
        values, slopes = self.law(shares, self.theta)
        _, at_design = self.law(self.shares, self.theta)
        between = np.einsum("hqd,hd,hnd->hqn", slopes, self.spread**2, at_design)
        kernel = residual_kernel(shares, self.shares, self.own)
        zero = values - np.einsum("hqd,hd->hq", slopes, self.theta)
        return zero, slopes, between + self.residual[:, None, None] ** 2 * kernel


def posterior(kind: LawName, shares: Floats, scores: Floats, own: int | None) -> Posterior:
    """Fit one kind of law to the scores of one task.

    Args:
        kind: Which.
        shares: The mixtures [mixtures, tasks].
        scores: Of the task, one for each mixture.
        own: The number of the task; None where it is not trained itself.
    """
    n = len(scores)
    middle, wide = float(scores.mean()), max(float(scores.std()), 1e-9)
    law: Law = LogLinear(shares, own, middle, LACKING * wide) if kind == "log-linear" else Quadratic(shares, own)
    groups = [group for group in STRENGTHS if group == RESIDUAL or group in law.groups]
    settings = np.array(list(itertools.product(*(STRENGTHS[group] for group in groups))))
    strength = dict(zip(groups, settings.T, strict=True))
    number = {group: max(1, int((law.groups == group).sum())) for group in groups}
    left = residual_kernel(shares, shares, own)
    theta = np.zeros((len(settings), len(law.groups)))
    if kind == "quadratic":
        theta[:, 0] = middle
    variance = np.full(len(settings), (0.3 * wide) ** 2)
    for _ in range(4 if kind == "log-linear" else 1):
        spread = np.stack([_spread(group, strength, number, variance) for group in law.groups], axis=1)
        if kind == "log-linear":
            theta = _climbed(law, shares, scores, theta, spread)
        values, slopes = law(shares, theta)
        covariance = np.einsum("hnd,hd,hmd->hnm", slopes, spread**2, slopes) + np.eye(n)
        covariance += strength[RESIDUAL][:, None, None] ** 2 * left
        inverse = np.linalg.inv(covariance)
        response = scores - values + np.einsum("hnd,hd->hn", slopes, theta)
        pull = np.einsum("hnm,hm->hn", inverse, response)
        loss = np.maximum((response * pull).sum(axis=1), 1e-18)
        variance = loss / (n - 1)
    evidence = sum(np.where(own == own.min(), 0.0, -np.log(len(np.unique(own)) - 1)) for own in settings.T)
    evidence = evidence - 0.5 * np.linalg.slogdet(covariance)[1] - 0.5 * (n - 1) * np.log(loss)
    weights = np.exp(evidence - evidence.max())
    weights = np.where(weights > LEAST_WEIGHT, weights, 0)
    weights /= weights.sum()
    kept = weights > 0
    left_out = weights @ (pull / np.einsum("hnn->hn", inverse))
    return Posterior(
        kind,
        law,
        own,
        shares,
        theta[kept],
        spread[kept],
        strength[RESIDUAL][kept],
        weights[kept],
        inverse[kept],
        response[kept],
        variance[kept],
        left_out,
    )


def _spread(group: int, strength: dict[int, Floats], number: dict[int, int], variance: Floats) -> Floats:
    if group == FREE:
        return np.full(len(variance), FLAT)
    if group == CEILING:
        return np.asarray(CEILING_SPREAD / np.sqrt(variance))
    return np.asarray(strength[group] / np.sqrt(number[group]))


def _climbed(law: Law, shares: Floats, scores: Floats, theta: Floats, spread: Floats) -> Floats:
    """The most likely coefficients of each member (Levenberg and Marquardt, all members at once)."""
    precision = spread**-2
    damping = np.full(len(theta), 1e-6)
    eye = np.eye(theta.shape[1])

    def loss(at: Floats) -> Floats:
        return np.asarray(((scores - law(shares, at)[0]) ** 2).sum(axis=1) + (precision * at**2).sum(axis=1))

    present = loss(theta)
    for _ in range(ROUNDS):
        values, slopes = law(shares, theta)
        pull = np.einsum("hnd,hn->hd", slopes, scores - values) - precision * theta
        curvature = np.einsum("hnd,hne->hde", slopes, slopes) + precision[:, :, None] * eye
        diagonal = np.einsum("hdd->hd", curvature)
        step = np.linalg.solve(curvature + (damping[:, None] * diagonal)[:, :, None] * eye, pull[:, :, None])[:, :, 0]
        tried = loss(theta + step)
        better = tried <= present
        theta = np.where(better[:, None], theta + step, theta)
        gained = np.where(better, present - tried, np.inf)
        present = np.where(better, tried, present)
        damping = np.where(better, damping / 10, np.maximum(damping, 1e-6) * 10)
        if (gained <= TOLERANCE * (present + 1e-18)).all():
            break
    return theta
