"""The workers of a Ray cluster that are there, and what they are doing."""

from __future__ import annotations

import contextlib
import os
import platform
import time
from collections.abc import Callable
from typing import Any

from rota.errors import RotaError
from rota.workers._attempts import MOST
from rota.workers._labour import TICK, Assignment, HowItEnded
from rota.workers._packed import Errand

ALONE = 600.0  # seconds without a single worker, after which nobody is waited for any more


class Crew:
    """Workers that are there, and what they are doing. One that was lost is replaced where there is room."""

    def __init__(self, ray: Any, needs: dict[str, float], size: int) -> None:
        self._ray = ray
        self._remote = ray.remote(_Trainer).options(**needs)
        self._workers = [_RayWorker(self._remote) for _ in range(size)]
        self.fault = ""  # of the worker that was lost last
        self._failed = 0  # starts, one after the other
        self._seen = time.monotonic()  # when there was a worker

    @property
    def busy(self) -> bool:
        return any(worker.assignment is not None for worker in self._workers)

    def free(self) -> _RayWorker | None:
        """One that is there and has nothing to do."""
        return next((worker for worker in self._workers if worker.pending is None), None)

    def next_end(self) -> tuple[Assignment | None, HowItEnded | None, bytes]:
        """What has ended, how, and what it sent; without how it ended where its worker was lost; nothing where nothing
        has happened for a while."""
        by_pending = {worker.pending: worker for worker in self._workers if worker.pending is not None}
        ready, _ = self._ray.wait(list(by_pending), num_returns=1, timeout=TICK)
        if not ready:
            self._lose_patience()
            return None, None, b""
        worker = by_pending[ready[0]]
        assignment, worker.pending, worker.assignment = worker.assignment, None, None
        try:
            said = self._ray.get(ready[0])
        except self._ray.exceptions.RayError as error:
            self.fault = last_line(str(error))
            self._replace(worker, at_start=assignment is None)
            return assignment, None, b""
        self._failed, self._seen = 0, time.monotonic()
        if assignment is None:
            worker.where = said
            return None, None, b""
        return assignment, *said

    def dismiss(self) -> None:
        """Nothing is done any more."""
        for worker in self._workers:
            self._ray.kill(worker.actor)

    def _replace(self, worker: _RayWorker, at_start: bool) -> None:
        self._failed += at_start
        if self._failed > MOST:
            raise RotaError(f"--on ray expects workers that can begin. Found none: {self.fault}")
        self._workers.remove(worker)
        self._ray.kill(worker.actor)  # it may only be out of reach
        self._workers.append(_RayWorker(self._remote))

    def _lose_patience(self) -> None:
        if any(worker.where for worker in self._workers):
            self._seen = time.monotonic()
        if time.monotonic() - self._seen > ALONE:
            raise RotaError(
                f"--on ray expects room for at least one worker within {ALONE / 60:.0f} minutes. Found none. The same "
                f"command goes on where this one ends."
            )


class _RayWorker:
    def __init__(self, remote: Any) -> None:
        self.actor = remote.remote(os.getcwd(), {name: own for name, own in os.environ.items() if name[:5] == "ROTA_"})
        self.pending: Any = self.actor.where.remote()
        self.assignment: Assignment | None = None
        self.where = ""  # until it is there

    def begin(
        self, errand: Assignment | Errand, assignment: Assignment, work: Callable[[Assignment], HowItEnded]
    ) -> None:
        self.assignment, self.pending = assignment, self.actor.work.remote(errand, work)


class _Trainer:
    """A process of a node. Files that a plan names are looked for where the command was given, if that is there."""

    def __init__(self, place: str, environment: dict[str, str]) -> None:
        for name, own in environment.items():
            os.environ.setdefault(name, own)
        with contextlib.suppress(OSError):
            os.chdir(place)

    def where(self) -> str:
        import ray

        node = ray.get_runtime_context().get_node_id()
        return f"process {os.getpid()} on {platform.node()}, node {node}"

    def work(self, errand: Assignment | Errand, work: Callable[[Assignment], HowItEnded]) -> tuple[HowItEnded, bytes]:
        return errand.work(work) if isinstance(errand, Errand) else (work(errand), b"")


def last_line(text: str) -> str:
    """The last line that says something: what Ray tells ends with the reason."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1].rstrip(".")[:300] if lines else "nothing was said"
