"""An array of SLURM jobs, one for each thing to do, through submitit. A job that hits its time limit or is preempted is
queued again, and goes on from the last checkpoint; one that is lost is submitted again."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from rota.errors import RotaError, missing_package
from rota.workers._attempts import MOST, attempts_at, marked
from rota.workers._labour import TICK, Assignment, HowItEnded, Labour, LabourEvent

REQUEUED = 100  # times, by a time limit; each goes on where the last one ended
AT_ONCE = 256  # jobs of an array that run at a time, unless `jobs` says otherwise


class SlurmArguments(BaseModel):
    """What one job gets."""

    model_config = ConfigDict(extra="forbid")

    time: int = Field(gt=0, description="Minutes.")
    partition: str | None = None
    cpus: int | None = Field(None, ge=1)
    gpus: int | None = Field(None, ge=0)
    mem: float | None = Field(None, gt=0, description="Gigabytes.")
    account: str | None = None
    qos: str | None = None
    constraint: str | None = None
    wait: bool = True


def slurm_workers(arguments: SlurmArguments, jobs: int | None) -> SlurmWorkers:
    """Refuses a machine from which nothing can be submitted."""
    try:
        import submitit  # noqa: F401
    except ImportError as error:
        raise missing_package("--on slurm", "submitit", "cluster") from error
    for command in ("sbatch", "srun"):
        if shutil.which(command) is None:
            raise RotaError(f"--on slurm expects the command {command}, as login nodes have it. Found none.")
    return SlurmWorkers(arguments, jobs)


class SlurmWorkers:
    """An array of jobs.

    Args:
        arguments: What one job gets.
        jobs: At most so many run at a time.
        cluster: Which of submitit's executors: "slurm", or "local" for processes of this machine.
    """

    def __init__(self, arguments: SlurmArguments, jobs: int | None = None, cluster: str = "slurm") -> None:
        self.arguments, self.jobs, self._cluster = arguments, jobs or AT_ONCE, cluster

    def executor(self, folder: Path) -> Any:
        """What submits jobs, with their logs in a folder."""
        import submitit

        asked = self.arguments
        executor = submitit.AutoExecutor(folder, self._cluster, slurm_max_num_timeout=REQUEUED)
        executor.update_parameters(
            name="rota",
            timeout_min=asked.time,
            cpus_per_task=asked.cpus,
            gpus_per_node=asked.gpus,
            mem_gb=asked.mem,
            slurm_partition=asked.partition,
            slurm_account=asked.account,
            slurm_qos=asked.qos,
            slurm_constraint=asked.constraint,
            slurm_array_parallelism=self.jobs,
        )
        return executor

    def work_through(self, assignments: Sequence[Assignment], labour: Labour) -> Iterator[LabourEvent]:
        """Do all of them; say what happens."""
        home = Path(assignments[0].folder).parent
        if self._cluster == "slurm" and home.is_relative_to(tempfile.gettempdir()):
            raise RotaError(f"--on slurm expects a folder that all nodes share. Found {home}. Choose another --out.")
        executor = self.executor(home / "slurm")
        begun = {own.name: attempts_at(Path(own.folder)).starts for own in assignments}
        queued = list(zip(executor.map_array(_Job(labour.work), assignments), assignments, strict=True))
        if not self.arguments.wait:
            for job, assignment in queued:
                yield "done", assignment, ("queued", f"job {job.job_id}")
            return
        tries = Counter(assignment.name for assignment in assignments)
        started: set[str] = set()
        try:
            while queued:
                for job, assignment in list(queued):
                    if (
                        assignment.name not in started
                        and attempts_at(Path(assignment.folder)).starts > begun[assignment.name]
                    ):
                        started.add(assignment.name)
                        yield "started", assignment, None
                    if not job.done():
                        continue
                    queued.remove((job, assignment))
                    ended = _ended(job, home)
                    if ended[0] == "broken" and tries[assignment.name] < MOST:
                        tries[assignment.name] += 1
                        queued.append((executor.submit(_Job(labour.work), assignment), assignment))
                    else:
                        yield "done", assignment, ended
                yield "waiting", None, None
                time.sleep(TICK)
        finally:
            for job, _ in queued:
                with contextlib.suppress(Exception):  # it may have ended by now
                    job.cancel(check=False)


class _Job:
    """What a job does; submitit asks it what is left to do where its time is up."""

    def __init__(self, work: Callable[[Assignment], HowItEnded]) -> None:
        self._work = work

    def __call__(self, assignment: Assignment) -> HowItEnded:
        return marked(self._work, assignment)

    def checkpoint(self, assignment: Assignment) -> Any:
        """The same: it goes on from its last checkpoint."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self, assignment)


def _ended(job: Any, home: Path) -> HowItEnded:
    error = job.exception()
    if error is None:
        found: HowItEnded = job.result()
        return found
    last = [line for line in str(error).splitlines() if line.strip("- ")][-1:]
    hint = f"Its logs are in {home / 'slurm'}, which all nodes have to share"
    return "broken", f"job {job.job_id} ended without a result ({''.join(last).strip()[:200]}). {hint}"
