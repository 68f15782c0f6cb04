"""One run that goes on in several numbers of processes, for `test_elastic.py`: a program of its own, since pytest's
processes have threads that a fork breaks.

    python elastic.py FOLDER POLICY DROPOUT 1:10 2:20 3:30 1:

trains in one process and dies behind the checkpoint of step 10, goes on in two until step 20, and so on to the end.
"""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from fit_tools import NAMES, make_model, make_tasks

from rota.errors import RotaError
from rota.policies import Exp3S, uniform
from rota.settings import Settings
from rota.signals import prediction_gain
from rota.training import fit

SETTINGS = Settings(steps=40, batch_size=24, eval_every=10, checkpoint_every=10, lr=0.01, device="cpu", log_rows=True)
POLICIES = {"static": lambda: uniform(NAMES), "learning": lambda: Exp3S(NAMES, eta=0.5)}


def train(folder: Path, policy: str, dropout: float, until: str, elastic: bool) -> None:
    """Train in one of the processes."""

    def gain(view):
        if until and view.step == int(until) + 2:
            os._exit(0)  # behind the checkpoint, so that the log is cut back
        return prediction_gain(view)

    tasks = make_tasks()
    fit(
        make_model(tasks, dropout),
        tasks,
        POLICIES[policy](),
        folder,
        SETTINGS,
        listen=gain,
        resume=(folder / "run.json").is_file(),
        elastic=elastic,
        progress=False,
    )


def fork(world: int, *arguments) -> bool:
    """Train in so many processes; whether all went well."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    children = []
    for rank in range(world):
        if child := os.fork():
            children.append(child)
            continue
        group = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": world, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        os.environ.update({name: str(value) for name, value in group.items()} if world > 1 else {})
        try:
            train(*arguments)
        except RotaError as error:
            sys.stderr.write(f"{error}\n")
            sys.stderr.flush()
            os._exit(2)
        sys.exit()
    ends = [os.waitpid(child, 0)[1] for child in children]
    return not any(ends)


def main(folder: str, policy: str, dropout: str, *parts: str) -> None:
    before = None
    for part in parts:
        world, _, until = part.partition(":")
        elastic = before not in (None, world)
        if not fork(int(world), Path(folder), policy, float(dropout), until, elastic):
            sys.exit(1)
        before = world


if __name__ == "__main__":
    main(*sys.argv[1:])
