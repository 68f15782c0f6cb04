"""Workers of a Ray cluster (Moritz et al. 2018): one for each free device or process, which takes one thing after the
other. What is lost with a worker or its node is begun again by another one."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from rota import __version__
from rota.errors import RotaError, missing_package
from rota.runlog import FolderBusyError
from rota.workers._attempts import MOST, mark_end, mark_start
from rota.workers._labour import Assignment, HowItEnded, Labour, LabourEvent
from rota.workers._packed import SENT, SHARED, Errand, kept_at, pack, unpack
from rota.workers._ray_crew import Crew, last_line

ANSWER = 20.0  # seconds in which an address answers
TRIAL = "import sys, ray; ray.init(sys.argv[1], log_to_driver=False)"
LOOK = 60.0  # seconds in which every node says what it sees
APPEARS = 5.0  # seconds after which a new file is seen on a network disk


class RayArguments(BaseModel):
    """What one worker gets, and how results come back."""

    model_config = ConfigDict(extra="forbid")

    cpus: float = Field(1, gt=0)
    gpus: float | None = Field(None, ge=0)
    results: str = SHARED


@contextlib.contextmanager
def ray_workers(address: str, arguments: RayArguments, jobs: int | None, gpu: bool) -> Iterator[RayWorkers]:
    """Connected to a cluster; refuses one that does not answer or is too small.

    Args:
        address: Of a cluster's client server; empty: the cluster that this machine is part of.
        arguments: What one worker gets.
        jobs: Workers; by default as many as there is room for.
        gpu: Whether what is trained can use one.
    """
    ray = _load_ray()
    _connect(ray, address)
    try:
        nodes = [node for node in ray.nodes() if node["Alive"]]
        gpus = arguments.gpus
        if gpus is None:
            gpus = float(gpu and any(node["Resources"].get("GPU") for node in nodes))
        needs = {"CPU": arguments.cpus, "GPU": gpus}
        room = sum(_room(node["Resources"], needs) for node in nodes)
        if room < (jobs or 1):
            raise RotaError(
                f"--on ray expects room for {_counted(jobs or 1, 'worker')} of {arguments.cpus:g} CPUs and {gpus:g} "
                f"GPUs. Found room for {room} on {_counted(len(nodes), 'node')}. Ask for fewer --jobs, or for less of "
                f"each, such as --on ray:cpus=1,gpus=0."
            )
        yield RayWorkers(ray, jobs or room, needs, arguments.results)
    finally:
        ray.shutdown()


class RayWorkers:
    """Workers of a cluster that this process is connected to.

    Args:
        ray: The package.
        jobs: How many.
        needs: What each of them gets.
        results: "shared": they see the folder; "sent": it is packed and sent both ways; else a URL for finished runs.
    """

    def __init__(self, ray: Any, jobs: int, needs: dict[str, float], results: str) -> None:
        self._ray, self.jobs, self._results = ray, jobs, results
        self._needs = needs

    def work_through(self, assignments: Sequence[Assignment], labour: Labour) -> Iterator[LabourEvent]:
        """Do all of them; say what happens."""
        self._refuse_others(Path(assignments[0].folder).parent)
        each = {"num_cpus": self._needs["CPU"], "num_gpus": self._needs["GPU"]}
        crew = Crew(self._ray, each, min(self.jobs, len(assignments)))
        waiting, tries = deque(assignments), Counter[str]()
        try:
            while waiting or crew.busy:
                while waiting and (worker := crew.free()) is not None:
                    assignment = waiting.popleft()
                    tries[assignment.name] += 1
                    mark_start(Path(assignment.folder), worker.where)
                    worker.begin(self._errand(assignment), assignment, labour.work)
                    yield "started", assignment, None
                over, ended, packed = crew.next_end()
                if over is None:
                    yield "waiting", None, None
                elif ended is None:
                    if tries[over.name] < MOST:
                        waiting.appendleft(over)
                    else:
                        yield "died", over, f"its worker was lost {MOST} times, at last: {crew.fault}"
                else:
                    ended = self._fetched(over, ended, packed)
                    mark_end(Path(over.folder), ended[0])
                    if ended[0] == "broken" and tries[over.name] < MOST:
                        waiting.append(over)
                    else:
                        yield "done", over, ended
        finally:
            crew.dismiss()

    def _errand(self, assignment: Assignment) -> Assignment | Errand:
        if self._results == SHARED:
            return assignment
        url = "" if self._results == SENT else self._results
        return Errand(assignment, pack(Path(assignment.folder)), url)

    def _fetched(self, assignment: Assignment, ended: HowItEnded, packed: bytes) -> HowItEnded:
        """How it ended, once the finished run is in its folder."""
        if self._results == SHARED or ended[0] != "done":
            return ended
        try:
            unpack(packed or kept_at(self._results, assignment.name), Path(assignment.folder))
        except FolderBusyError as error:
            return "left", str(error)
        except RotaError as error:
            return "failed", str(error)
        return ended

    def _refuse_others(self, home: Path) -> None:
        """Refuse nodes that would not do the same: with other versions, or that do not see the folder."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        home.mkdir(parents=True, exist_ok=True)
        mark = home / f".seen-{uuid.uuid4().hex}"
        shown = str(mark) if self._results == SHARED else ""
        look = self._ray.remote(_look)
        nodes = [node for node in self._ray.nodes() if node["Alive"] and _room(node["Resources"], self._needs)]
        there = [NodeAffinitySchedulingStrategy(node["NodeID"], soft=False) for node in nodes]
        try:
            mark.touch()
            asked = [look.options(num_cpus=0, scheduling_strategy=own).remote(shown) for own in there]
            found = self._ray.get(asked, timeout=LOOK)
        except self._ray.exceptions.GetTimeoutError as error:
            raise RotaError(
                f"--on ray expects nodes that answer within {LOOK:.0f} s. Found one that does not."
            ) from error
        except self._ray.exceptions.RayError as error:
            raise RotaError(
                f"--on ray expects rota on every node. Found one that cannot begin: {last_line(str(error))}"
            ) from error
        finally:
            mark.unlink(missing_ok=True)
        here = _versions()
        for node, (versions, sees) in zip(nodes, found, strict=True):
            host = node["NodeManagerHostname"]
            if versions != here:
                raise RotaError(
                    f"--on ray expects the same versions everywhere, since others give other numbers. Found "
                    f"{_told(versions)} on {host} and {_told(here)} here."
                )
            if not sees:
                raise RotaError(
                    f"--on ray expects a folder that all nodes share. Found that {host} cannot write into {home}. "
                    f"Choose another --out, or have results sent: --on ray:results=sent."
                )


def _look(mark: str) -> tuple[dict[str, str], bool]:
    """What a node has, and whether it sees a file and can write beside it."""
    until = time.monotonic() + APPEARS
    while mark and not os.path.exists(mark) and time.monotonic() < until:
        time.sleep(0.1)
    return _versions(), not mark or (os.path.exists(mark) and os.access(os.path.dirname(mark), os.W_OK))


def _versions() -> dict[str, str]:
    found = {"rota": __version__}
    for package in ("torch", "numpy"):
        with contextlib.suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def _load_ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise missing_package("--on ray", "ray", "cluster") from error
    return ray


def _connect(ray: Any, address: str) -> None:
    """Connect, once it is known that there is an answer: Ray itself may wait for one without end."""
    asked = address or os.environ.get("RAY_ADDRESS", "auto")
    try:
        trial = subprocess.run([sys.executable, "-c", TRIAL, asked], capture_output=True, text=True, timeout=ANSWER)
        fault = last_line(trial.stderr) if trial.returncode else ""
    except subprocess.TimeoutExpired:
        fault = f"no answer within {ANSWER:.0f} s"
    if fault:
        raise RotaError(
            f"--on ray expects a cluster {'that this machine is part of' if asked == 'auto' else f'at {asked}'}. Found "
            f"none ({fault}). Start one with `ray start --head`, or give --on ray://HOST:PORT."
        )
    handler = signal.getsignal(signal.SIGTERM)
    ray.init(asked, log_to_driver=False, logging_level="ERROR", configure_logging=False)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, handler)  # Ray would end this process without a word


def _room(has: dict[str, float], needs: dict[str, float]) -> int:
    return min(int(has.get(name, 0) // need) for name, need in needs.items() if need)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _told(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {own}" for name, own in versions.items())
