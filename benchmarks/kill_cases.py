"""What `kills.py` kills: every method, in a training that takes a second or two."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rota.methods import METHODS

SMALL = "--tasks left,right --rows left=48,right=40 --batch-size 8 --steps 24 --eval-every 6 --eval-rows 20"
OFTEN = "--checkpoint-every 5 --device cpu -q"
OPTIONS = {
    "fixed": "--option weights=left=2,right=1",
    "steered": f"--option file={Path(__file__).with_name('steered.json')} --option every=3",
    "cycle": "--option weights=left=2,right=1",
    "active": "--option every=6 --option passes=2 --option rows=10",
    "active@paper": "--option every=6 --option passes=2 --option rows=10",
    "active@released": "--option every=6 --option passes=2 --option rows=10 --option scope=all",
    "active-weights": "--option every=6 --option passes=2 --option rows=10",
    "counterfactual@paper": "--option entropies=0.2,1",
    "counterfactual@bandit": "--option entropies=1",
    "auto": "--option every=4",
    "auto-dev": "--option every=4",
    "mt-uncertainty": "--option every=2 --option candidates=8",
    "alphavil": "--option fraction=0.5 --option alpha_steps=2",
    "alphavil-aligned": "--option fraction=0.5",
    "diw": "--option fraction=0.5 --option tries=2",
    "thompson": "--option round=3",
    "autosem": "--option rounds=4 --option round=2 --option trials=2 --option trial_steps=6 --option pruning=false",
    "autosem@paper": "--option rounds=4 --option round=2 --option trials=2 --option trial_steps=6",
    "educated-guess": "--option auxiliaries=right --option trials=2 --option trial_steps=6 --option pruning=false",
    "pike": "--option every=6 --option rows=8",
    "dga": "--option every=6 --option rows=8",
    "ado": "--option every=4",
}
"""So that something happens in a few steps."""
TARGETED = {name for name, method in METHODS.items() if "target" in method.needs}


@dataclass(frozen=True)
class Case:
    """What is trained: the flags of `rota train`, in so many processes."""

    name: str
    flags: tuple[str, ...]
    processes: int = 1


def case(name: str, method: str, more: str = "", tasks: str = SMALL, processes: int = 1) -> Case:
    target = "--target left" if method in TARGETED else ""
    flags = f"{tasks} {OFTEN} --method {method} {OPTIONS.get(method, '')} {target} {more}"
    return Case(name, tuple(flags.split()), processes)


TEXTS = "--tasks toytext --batch-size 4 --steps 16 --eval-every 8 --eval-rows 5"
CASES = [
    *(case(name, name) for name in METHODS),
    case("uniform, workers", "uniform", "--num-workers 1"),
    case("alphavil, workers", "alphavil", "--num-workers 1"),
    case("exp3s, late", "exp3s", "--delay 3"),
    case("exp3s, plateau", "exp3s", "--schedule plateau --decay-after 1"),
    case("exp3s, trouble", "exp3s", "--per-task left.shuffled=true"),
    case("exp3s, texts", "exp3s", tasks=TEXTS),
    case("exp3s, two ranks", "exp3s", processes=2),
    case("joint, two ranks", "joint", processes=2),
    case("mt-uncertainty, two ranks", "mt-uncertainty", "--batch-size 4", processes=2),
]
