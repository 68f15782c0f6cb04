"""Policies that tests listen with."""

from __future__ import annotations

import numpy as np

from rota.policies import Policy


class Listener(Policy):
    """A mixture that writes down what it hears."""

    hears = ("gain",)

    def __init__(self, mixture):
        super().__init__(list(mixture))
        self.p = np.array(list(mixture.values()))
        self.heard = []

    def probabilities(self, step):
        return self.p.copy()

    def learn(self, k, feedback):
        self.heard.append(feedback)
