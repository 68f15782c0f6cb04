"""`rota simulate`: policies on the MTL bandit, without a network."""

from __future__ import annotations

import sys
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from rota.cli._fields import chosen_methods
from rota.errors import RotaError, unknown_name
from rota.methods import METHODS, Given, Method
from rota.policies import Policy
from rota.simulation import MTLBandit, log_gain, play, score_gain

SIGNALS = {"log-gain": log_gain, "score-gain": score_gain}


def simulate(
    methods: Annotated[str, typer.Option(metavar="A,B,…", help="which methods play")] = "uniform,exp3s",
    arms: Annotated[int, typer.Option(min=1, max=1_000_000, help="tasks of an environment")] = 8,
    steps: Annotated[int, typer.Option(min=1, max=100_000_000, help="length of a run")] = 10_000,
    environments: Annotated[int, typer.Option(min=1, help="how many different environments")] = 3,
    seeds: Annotated[int, typer.Option(min=1, help="runs in each environment")] = 3,
    signal: Annotated[str, typer.Option(metavar="|".join(SIGNALS), help="what a policy hears")] = "log-gain",
) -> None:
    """Let methods play the multi-task bandit of Glover & Hokamp (2019): tasks with learning curves and forgetting.

    The score is the mean over the arms at the end of a run; the oracle knows the best fixed mixture.
    """
    names = chosen_methods(methods)
    playable = [name for name, method in METHODS.items() if _playable(method)]
    for name in names:
        if name not in playable:
            raise RotaError(
                f"The bandit expects a method that chooses one task at a time and needs no data set sizes or weights. "
                f"Found '{name}'. Try {', '.join(playable)}."
            )
    if signal not in SIGNALS:
        raise unknown_name("signal", signal, SIGNALS)
    finals: dict[str, list[list[float]]] = {name: [] for name in [*names, "oracle"]}
    worlds = [MTLBandit(arms, steps, seed) for seed in range(environments)]
    games = [(world, name) for world in worlds for name in finals]
    console = Console(stderr=True)
    for world, name in track(games, "playing", console=console, disable=not sys.stderr.isatty(), transient=True):
        scores = [play(world, _policy(world, name, seed), seed, SIGNALS[signal]).final for seed in range(seeds)]
        finals[name].append(scores)
    Console().print(_table(finals, f"{environments} environments × {seeds} seeds, {arms} arms, {steps:,} steps"))


def _playable(method: Method) -> bool:
    """Whether a bandit, which has tasks but no data, can give it all that it needs."""
    needs = any(field.is_required() for field in method.options.model_fields.values())
    return method.stream == "task" and not method.sized and not needs


def _policy(world: MTLBandit, name: str, seed: int) -> Policy:
    if name == "oracle":
        return world.oracle
    given = Given(dict.fromkeys(world.tasks, 1), dict.fromkeys(world.tasks, 1), world.steps, seed)
    return METHODS[name].policy(given, {})


def _table(finals: dict[str, list[list[float]]], title: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("method")
    for column in ("final score", "± seeds", "gain over uniform", "environments won"):
        table.add_column(column, justify="right")
    base = np.mean(finals["uniform"], axis=1) if "uniform" in finals else None
    for name, scores in finals.items():
        means = np.mean(scores, axis=1)
        spread = float(np.mean(np.std(scores, axis=1, ddof=1))) if len(scores[0]) > 1 else float("nan")
        gain = "–" if base is None or name == "uniform" else f"{float((means - base).mean()):+.4f}"
        won = "–" if base is None or name == "uniform" else f"{int((means > base).sum())} of {len(base)}"
        table.add_row(name, f"{means.mean():.4f}", "–" if np.isnan(spread) else f"{spread:.4f}", gain, won)
    return table
