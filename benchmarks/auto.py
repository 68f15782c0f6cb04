"""`Auto` against other policies in simulated trainings of several kinds: gains over uniform in the final mean score.

    python benchmarks/auto.py [--environments 20] [--first 5000] [--cost]

Every cell: mean gain over uniform sampling, and in how many environments it is above. `static` is the best of 48
mixtures in another run of the same environment; `size^0.5` where there are sizes; Exp3.S hears the true gain of its
step, without noise; `auto-dev` hears the true scores with a little noise twenty times. The worst environment of `Auto`
is in the last column."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from rota.feedback import Feedback
from rota.policies import Auto, AutoDev, Exp3S, Policy, Tempered, uniform
from rota.seeds import generator
from rota.simulation import KINDS, Game

SETTINGS = [(6, 3000, 0.3), (16, 6000, 0.15), (3, 2000, 0.1), (8, 3000, 0.15)]
STATIC = 48
REPEATS = 2  # runs of everybody in an environment: draws vary
EVALUATIONS, DEV_NOISE = 20, 0.02


def final(game: Game, policy: Policy, seed: int, hears: str = "loss") -> float:
    """The mean score at the end; the policy `hears` the loss, how far the true log-loss fell in its step (gain), or now
    and then the scores, too (dev)."""
    game.reset(seed)
    rng, dev = generator(seed, "draws"), generator(seed, "dev")
    for step in range(game.steps):
        if hears == "dev" and step % (game.steps // EVALUATIONS) == 0:
            for task, score in zip(
                game.tasks, game.scores[0] + DEV_NOISE * dev.normal(size=len(game.tasks)), strict=True
            ):
                policy.observe(Feedback(task, float(score)))
        choice = policy.choose(step, rng)
        k = game.tasks.index(choice.task)
        before = float(game.scores[0, k])
        loss = float(game.train(np.array([k]))[0])
        after = float(game.scores[0, k])
        gain = float(np.log(max(after, 1e-3) / max(before, 1e-3)))
        policy.observe(choice.scored(gain if hears == "gain" else loss))
    return float(game.scores.mean())


def static(kind: str, tasks: int, steps: int, noise: float, seed: int, uniform_final: float) -> float:
    """The best of many fixed mixtures in one run, in another."""
    rng = generator(seed, "mixtures")
    mixtures = rng.dirichlet(np.full(tasks, 2.0), STATIC)
    found = [_fixed(Game(kind, tasks, steps, seed, noise, STATIC), mixtures, number) for number in (1, 2)]
    best = int(found[0].argmax())
    return float(found[1][best]) - uniform_final


def _fixed(game: Game, mixtures: np.ndarray, seed: int) -> np.ndarray:
    game.reset(seed)
    rng = generator(seed, "draws")
    cumulative = mixtures.cumsum(axis=1)
    for _ in range(game.steps):
        game.train((cumulative < rng.random((game.runs, 1)) * cumulative[:, -1:]).sum(axis=1))
    return game.scores.mean(axis=1)


def environment(job: tuple[str, int, int, float, int]) -> dict[str, float]:
    kind, tasks, steps, noise, seed = job
    game = Game(kind, tasks, steps, seed, noise)
    makers: dict[str, tuple[str, Callable[[], Policy]]] = {
        "uniform": ("loss", lambda: uniform(game.tasks)),
        "auto": ("loss", lambda: Auto(game.tasks, steps, game.batches, batch_size=1)),
        "unknown horizon": ("loss", lambda: Auto(game.tasks, None, game.batches, batch_size=1)),
        "auto-dev": ("dev", lambda: AutoDev(game.tasks, steps, game.batches, batch_size=1)),
        "exp3s": ("gain", lambda: Exp3S(game.tasks)),
    }
    if game.batches:
        makers["size^0.5"] = ("loss", lambda: Tempered(game.batches, 0.5))
    finals = {
        name: float(np.mean([final(game, make(), number, hears) for number in range(REPEATS)]))
        for name, (hears, make) in makers.items()
    }
    base = finals.pop("uniform")
    found = {name: value - base for name, value in finals.items()}
    return {**found, "static": static(kind, tasks, steps, noise, seed, base)}


def cost() -> None:
    """What a plan and a step take."""
    for tasks in (8, 100, 1000):
        policy = Auto([f"t{k}" for k in range(tasks)], horizon=100_000, every=10**9)
        rng = np.random.default_rng(0)
        for step in range(max(2000, 4 * tasks)):
            choice = policy.choose(step, rng)
            policy.observe(choice.scored(1.0 / (1 + step / 500)))
        plans = []
        for _ in range(30):
            began = time.perf_counter()
            policy._plan()
            plans.append(time.perf_counter() - began)
        began = time.perf_counter()
        for step in range(2000):
            policy.observe(policy.choose(step, rng).scored(0.5))
        each = (time.perf_counter() - began) / 2000
        print(f"{tasks:5d} tasks: a plan {1e3 * np.median(plans):.2f} ms, choose and observe {1e6 * each:.0f} µs")
    demo_cost()


def demo_cost() -> None:
    """What `auto` adds to a step of the demo, all plans included."""
    from rota.plans import make_plan
    from rota.runs import run_plan

    fields = {"tasks": ["digits"], "steps": 600, "eval_every": 600}
    with tempfile.TemporaryDirectory() as folder:
        run = run_plan(make_plan(fields), Path(folder) / "run", progress=False)
        steps, step = run.summary["steps"], run.summary["seconds"] / run.summary["steps"]
        batches = {task: np.ceil(info["rows"]["train"] / 32) for task, info in run.info["tasks"].items()}

    def taken(make: Callable[[], Policy], listens: bool) -> float:
        best = np.inf
        for _ in range(9):
            policy, rng = make(), np.random.default_rng(0)
            began = time.perf_counter()
            for number in range(steps):
                choice = policy.choose(number, rng)
                if listens:
                    policy.observe(choice.scored(1.5 - number / 1000 + 0.1 * rng.normal()))
            best = min(best, time.perf_counter() - began)
        return best / steps

    plain = taken(lambda: uniform(list(batches)), listens=False)
    own = taken(lambda: Auto(list(batches), steps, batches, batch_size=1), listens=True)
    added = own - plain
    print(f"a step of the demo {1e3 * step:.2f} ms; auto adds {1e6 * added:.0f} µs to it, {100 * added / step:.1f} %")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--environments", type=int, default=20)
    parser.add_argument("--first", type=int, default=5000)
    parser.add_argument("--cost", action="store_true")
    arguments = parser.parse_args()
    if arguments.cost:
        cost()
        return
    won, count = 0, 0
    with ProcessPoolExecutor(2) as pool:
        for tasks, steps, noise in SETTINGS:
            print(f"{tasks} tasks, {steps} steps, noise {noise}")
            for kind in KINDS:
                seeds = range(arguments.first, arguments.first + arguments.environments)
                found = list(pool.map(environment, [(kind, tasks, steps, noise, seed) for seed in seeds]))
                cells = []
                for name in found[0]:
                    gains = np.array([own[name] for own in found])
                    cells.append(f"{name} {gains.mean():+.3f} {(gains > 0).sum()}/{len(gains)}")
                auto = np.array([own["auto"] for own in found])
                won, count = won + int((auto > 0).sum()), count + len(auto)
                print(f"  {kind:10s} {' | '.join(cells)} | worst {auto.min():+.3f}", flush=True)
    print(f"Auto is above uniform in {won} of {count} environments")


if __name__ == "__main__":
    main()
