"""`rota simulate`: policies on the MTL bandit, without a network."""

from __future__ import annotations

import functools
import multiprocessing
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.box import SIMPLE_HEAD
from rich.progress import track
from rich.table import Table

from rota.cli._console import open_console
from rota.cli._fields import chosen_methods
from rota.errors import RotaError, unknown_name
from rota.methods import METHODS, Method, Recipe, RunContext
from rota.policies import Policy
from rota.simulation import AS_PRINTED, COUNTERFACTUAL, WORTHS, MTLBandit, Rule, Study, log_gain, score_gain, study

LEARNED = (COUNTERFACTUAL, AS_PRINTED)
"""Methods that learn a mixture from logs, of which a study has games of its own."""
SIGNALS = {"log-gain": log_gain, "score-gain": score_gain}


@dataclass(frozen=True)
class _Game:
    """What is played in each environment; plain, so that it can be sent to other processes."""

    methods: tuple[str, ...]
    arms: int
    steps: int
    seeds: int
    signal: str
    noise: float
    rounds: int
    printed: int


def simulate(
    methods: Annotated[str, typer.Option(metavar="A,B,…", help="which methods play")] = "uniform,exp3s,counterfactual",
    arms: Annotated[int, typer.Option(min=1, max=1_000_000, help="tasks of an environment")] = 8,
    steps: Annotated[int, typer.Option(min=1, max=100_000_000, help="length of a run")] = 10_000,
    environments: Annotated[int, typer.Option(min=1, help="how many different environments")] = 3,
    seeds: Annotated[int, typer.Option(min=1, help="runs in each environment")] = 3,
    first: Annotated[int, typer.Option(min=0, help="number of the first environment")] = 0,
    signal: Annotated[str, typer.Option(metavar="|".join(SIGNALS), help="what a policy hears")] = "log-gain",
    noise: Annotated[float, typer.Option(min=0.0, help="standard deviation of the score that a batch shows")] = 0.0,
    rounds: Annotated[int, typer.Option(min=1, help="how often counterfactual learns from the log before")] = 2,
    jobs: Annotated[int | None, typer.Option(min=1, help="processes [dim](as many as cores)[/dim]")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="the page with the curves")] = Path("runs/simulation.html"),
) -> None:
    """Let methods play the multi-task bandit of Glover & Hokamp (2019): tasks with learning curves and forgetting.

    The score is the mean over the arms at the end of a run. The oracle samples from the mixture that every arm needs to
    reach its best; the best static mixture is found with knowledge of the environment. Gains are differences of scores,
    in the same unit; % of oracle and static is the gain over uniform as a share of theirs.
    """
    names = chosen_methods(methods)
    playable = [name for name, method in METHODS.items() if name in LEARNED or _playable(method)]
    for name in names:
        if name not in playable:
            raise RotaError(
                f"The bandit expects a method that chooses one task at a time and needs no data, weights or surveys. "
                f"Found '{name}'. Try {', '.join(playable)}."
            )
    if signal not in SIGNALS:
        raise unknown_name("signal", signal, SIGNALS)
    listed = tuple(name for name in names if name not in LEARNED)
    ours = rounds if COUNTERFACTUAL in names else 0
    printed = METHODS[AS_PRINTED].checked({}).rounds if AS_PRINTED in names else 0
    game = _Game(listed, arms, steps, seeds, signal, noise, ours, printed)
    worlds = range(first, first + environments)
    played = _played(game, worlds, min(jobs or os.cpu_count() or 1, environments))
    studies = list(
        track(
            played,
            "playing",
            total=environments,
            console=open_console(stderr=True),
            disable=not sys.stderr.isatty(),
            transient=True,
        )
    )
    title = f"{environments} environments × {seeds} seeds, {arms} arms, {steps:,} steps" + (
        f", noise {noise:g}" if noise else ""
    )
    console = open_console()
    console.print(_table(studies, title))
    if game.rounds:
        console.print(_rules(studies))
    from rota.report import write_simulation  # late: it takes a moment

    write_simulation(dict(zip(worlds, studies, strict=True)), title, out)
    console.print(f"The curves are in {out}", highlight=False, markup=False, soft_wrap=True)


def _played(game: _Game, worlds: Sequence[int], jobs: int) -> Iterator[Study]:
    """The study of each environment, in their order."""
    if jobs == 1:
        yield from map(functools.partial(_study, game), worlds)
        return
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(functools.partial(_study, game), worlds)


def _study(game: _Game, world: int) -> Study:
    bandit = MTLBandit(game.arms, game.steps, world)
    makers = {name: functools.partial(_policy, bandit, name) for name in game.methods}
    signal = SIGNALS[game.signal]
    return study(
        bandit, makers, range(game.seeds), signal=signal, noise=game.noise, rounds=game.rounds, printed=game.printed
    )


def _playable(method: Method) -> bool:
    """Whether a bandit, which has tasks but no data, can give it all that it needs, and tell it what it hears."""
    if method.needs or any(field.is_required() for field in method.options.model_fields.values()):
        return False
    try:
        recipe = _recipe(MTLBandit(arms=2, steps=1, seed=0), method, seed=0)
    except RotaError:
        return False
    return recipe.stream == "task" and set(recipe.policy.hears or ()) <= {"gain"}


def _policy(bandit: MTLBandit, name: str, seed: int) -> Policy:
    return _recipe(bandit, METHODS[name], seed).policy


def _recipe(bandit: MTLBandit, method: Method, seed: int) -> Recipe:
    alike = dict.fromkeys(bandit.tasks, 1)
    return method.make({}, RunContext(alike, alike, bandit.steps, seed))


def _table(studies: Sequence[Study], title: str) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("policy", no_wrap=True)
    for column in ("score", "±\nseeds", "over\nuniform", "over\noracle", "% of\noracle", "% of\nstatic", "won"):
        table.add_column(column, justify="right", no_wrap=True)
    base, best = _means(studies, "uniform"), _means(studies, "oracle")
    whole = {other: float((_means(studies, other) - base).mean()) for other in ("oracle", "best static")}
    for name in studies[0].curves:
        means = _means(studies, name)
        row = [f"{means.mean():.3f}", _spread(studies, name)]
        gain = float((means - base).mean())
        shares = [f"{100 * gain / other:.0f}" if other > 0 and name != "uniform" else "–" for other in whole.values()]
        row += [_difference(means - base), _difference(means - best), *shares]
        row += ["–" if name == "uniform" else f"{int((means > base).sum())}/{len(base)}"]
        table.add_row(name, *row)
    return table


def _difference(over: np.ndarray) -> str:
    return f"{over.mean():+.3f}" if over.any() else "–"


def _means(studies: Sequence[Study], name: str) -> np.ndarray:
    """The mean over the seeds of each environment."""
    return np.array([own.finals(name).mean() for own in studies])


def _spread(studies: Sequence[Study], name: str) -> str:
    """The standard deviation over seeds, on average."""
    if len(studies[0].finals(name)) == 1:
        return "–"
    return f"{np.mean([own.finals(name).std(ddof=1) for own in studies]):.3f}"


def _rules(studies: Sequence[Study]) -> Table:
    """One row per weight λ of the entropy and round, one column per reward."""
    title = "counterfactual: gain over uniform (environments won)"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for column in ("λ", "round"):
        table.add_column(column, no_wrap=True)
    for reward in WORTHS:
        table.add_column(f"r =\n{reward}", justify="right", no_wrap=True)
    base = _means(studies, "uniform")
    for entropy in dict.fromkeys(rule.entropy for rule in studies[0].rounds):
        finals = [[own.rounds[Rule(reward, entropy)].mean(axis=1) for own in studies] for reward in WORTHS]
        gains = np.array(finals) - base[:, None]  # by reward, environment and round
        for number in range(gains.shape[-1]):
            table.add_row("" if number else str(entropy), str(number + 1), *map(_gain, gains[:, :, number]))
    return table


def _gain(over: np.ndarray) -> str:
    """Over the environments: the mean, and how many were won."""
    return f"{over.mean():+.3f} ({int((over > 0).sum())})"
