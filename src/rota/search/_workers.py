"""Who works on a trial, whether they are still alive, and what becomes of a trial whose worker is dead."""

from __future__ import annotations

import contextlib
import os
import platform
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from optuna.storages import JournalStorage, fail_stale_trials
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState, create_trial

from rota.search._optuna import known_experiment
from rota.search._trial_history import PROPOSAL

WORKER = "worker"  # the user attribute in which a running trial says who works on it
SETTINGS = "rota"  # the study's user attribute with what all its workers must agree on
RETRIES = "retries"  # and how often its worker has died
MOST_RETRIES = 3  # a ratio that kills every worker is given up in the end

_at_work: set[str] = set()  # searches of this process that are under way


@cache
def machine() -> str:
    """Where process numbers mean the same: one boot of one machine, inside one container."""
    parts = [platform.node()]
    with contextlib.suppress(OSError):
        parts += [Path("/proc/sys/kernel/random/boot_id").read_text().strip(), os.readlink("/proc/self/ns/pid")]
    return " ".join(parts)


def born(pid: int) -> str | None:
    """When a process of this machine started, in the kernel's ticks; None if it is dead."""
    stat = Path(f"/proc/{pid}/stat")
    if not Path("/proc/self/stat").exists():  # not Linux
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return None
        except PermissionError:
            pass
        return "alive"
    try:
        after_name = stat.read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if after_name[0] in "ZX" else after_name[19]


@dataclass
class Worker:
    """One call of the search. It signs the trials that it works on, and rescues those of the dead.

    Args:
        heartbeat: Seconds between two signs of life.
        grace: After so many seconds without one, a worker on another machine counts as dead. On this machine the
            operating system is asked.
    """

    heartbeat: int
    grace: int
    name: str = field(default_factory=lambda: uuid.uuid4().hex)

    @contextlib.contextmanager
    def present(self) -> Iterator[None]:
        """While inside, this worker counts as alive."""
        _at_work.add(self.name)
        try:
            yield
        finally:
            _at_work.discard(self.name)

    def signature(self) -> dict[str, Any]:
        """Who is it, and when was it last seen."""
        pid = os.getpid()
        return {"machine": machine(), "pid": pid, "born": born(pid), "name": self.name, "seen": time.time()}

    @contextlib.contextmanager
    def lease(self, study: Study, trial: Trial) -> Iterator[None]:
        """Sign the trial, and in a journal file renew the signature as long as the work lasts."""
        trial.set_user_attr(WORKER, self.signature())
        if not isinstance(study._storage, JournalStorage):  # databases have their own heartbeat
            yield
            return
        over = threading.Event()

        def renew() -> None:
            while not over.wait(self.heartbeat):
                try:
                    study._storage.set_trial_user_attr(trial._trial_id, WORKER, self.signature())
                except RuntimeError:  # others gave this worker up, and the trial is over
                    return

        thread = threading.Thread(target=renew, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def rescue(self, study: Study) -> None:
        """Fail the trials of dead workers and queue them again."""
        with known_experiment():
            fail_stale_trials(study)  # databases: by heartbeat
        for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
            if not self.abandoned(study, trial):
                continue
            try:
                study.tell(trial.number, state=TrialState.FAIL)
            except (ValueError, RuntimeError):
                continue  # finished in the meantime, or rescued by somebody else
            requeue(study, trial)

    def abandoned(self, study: Study, trial: FrozenTrial) -> bool:
        """Is nobody working on this trial any more?"""
        who = trial.user_attrs.get(WORKER)
        if who is None:  # died, if at all, before it could sign
            begun = trial.datetime_start.timestamp() if trial.datetime_start else time.time()
            return time.time() - begun > self.grace
        if who["machine"] == machine():
            if who["pid"] == os.getpid() and who["born"] == born(os.getpid()):
                return who["name"] not in _at_work
            return bool(born(who["pid"]) != who["born"])
        return isinstance(study._storage, JournalStorage) and bool(time.time() - who["seen"] > self.grace)


def requeue(study: Study, trial: FrozenTrial) -> None:
    """Put a failed trial back into the queue, with the same point; or give its point up if it has failed too often."""
    retries = trial.user_attrs.get(RETRIES, 0) + 1
    kept = {name: trial.user_attrs[name] for name in (PROPOSAL,) if name in trial.user_attrs}
    tasks = study.user_attrs.get(SETTINGS, {}).get("tasks", [])
    decided = len(trial.params) == len(tasks)  # otherwise its worker died while writing the point down
    given_up = retries > MOST_RETRIES and decided
    study.add_trial(
        create_trial(
            state=TrialState.PRUNED if given_up else TrialState.WAITING,
            params=trial.params if decided else {},
            distributions=trial.distributions if decided else {},
            user_attrs={**kept, RETRIES: retries},
        )
    )
