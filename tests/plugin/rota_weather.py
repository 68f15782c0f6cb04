"""A policy, a method, a suite of tasks and a section of the report, in a package that rota has never seen."""

from __future__ import annotations

import numpy as np
import torch

from rota import Classification, Policy, Task, Tempered
from rota.data import Suite
from rota.methods import Method, Options, Recipe, RunContext
from rota.report import Section
from rota.tasks import Pictures, TensorRows


class Chaser(Policy):
    """Prefers tasks with a high loss."""

    hears, state = ("loss",), ("losses",)

    def __init__(self, tasks, gamma: float = 0.9):
        super().__init__(tasks)
        self.gamma, self.losses = gamma, np.zeros(len(self.tasks))

    def probabilities(self, step):
        return np.exp(self.losses) / np.exp(self.losses).sum()

    def learn(self, k, feedback):
        self.losses[k] = self.gamma * self.losses[k] + (1 - self.gamma) * min(feedback.value, 5)


class WindyOptions(Options):
    power: float = 0.5


def windy(options: WindyOptions, context: RunContext) -> Recipe:
    return Recipe(Tempered(context.sizes, options.power), "joint")


def load(names, reading):
    rows = TensorRows({"image": torch.rand(40, 1, 12, 12)}, torch.arange(40) % 2)
    return [Task(name, Classification(2), {"train": rows, "dev": rows}, Pictures(12)) for name in names]


WINDY = Method("windy", "all tasks in every step, by a power of their sizes", windy)
WEATHER = Suite("weather", "rain and sun, in grey pictures", ("rain", "sun"), load)
FORECAST = Section("Forecast", lambda page: f"{len(page.runs)} run(s) <b>tomorrow</b>.")
