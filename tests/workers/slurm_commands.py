"""What `sbatch`, `srun`, `sacct` and `scancel` do, on a machine without SLURM: jobs are processes of this machine.

Called by one of these names, or as `array`, which is what `sbatch` leaves behind.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

STATE = Path(os.environ.get("SLURM_STAND_IN", "."))


def sbatch(script: str) -> None:
    job = str(len(list(STATE.glob("*.sh"))) + 1)
    (STATE / f"{job}.sh").write_text(Path(script).read_text())
    subprocess.Popen(
        [sys.executable, __file__, "array", job],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    sys.stdout.write(f"Submitted batch job {job}\n")


def array(job: str) -> None:
    """Do the jobs of an array, as many at a time as it says."""
    script = STATE / f"{job}.sh"
    found = re.search(r"--array=(\d+)-(\d+)%(\d+)", script.read_text())
    first, last, at_once = map(int, found.groups()) if found else (0, 0, 1)

    def do(task: int) -> None:
        names = {"SLURM_JOB_ID": f"{job}{task}", "SLURM_NTASKS": "1", "SLURM_PROCID": "0", "SLURM_LOCALID": "0"}
        names |= {"SLURM_ARRAY_JOB_ID": job, "SLURM_ARRAY_TASK_ID": str(task)} if found else {"SLURM_JOB_ID": job}
        subprocess.run(["bash", script], env={**os.environ, **names})

    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(do, range(first, last + 1)))
    (STATE / f"{job}.over").touch()


def srun(*words: str) -> None:
    """Run a command with its output in files."""
    given = list(words)
    out, error = (given[given.index(flag) + 1] for flag in ("--output", "--error"))
    names = {"%A": "SLURM_ARRAY_JOB_ID", "%a": "SLURM_ARRAY_TASK_ID", "%j": "SLURM_JOB_ID", "%t": "SLURM_PROCID"}
    for sign, name in names.items():
        out, error = (path.replace(sign, os.environ.get(name, "")) for path in (out, error))
    command = given[given.index("--error") + 2 :]
    with open(out, "a") as own, open(error, "a") as faults:
        sys.exit(subprocess.run(command, stdout=own, stderr=faults).returncode)


def sacct(*words: str) -> None:
    """The states of jobs."""
    jobs = [words[k + 1] for k, word in enumerate(words) if word == "-j"]
    rows = [f"{job}|{'COMPLETED' if (STATE / f'{job}.over').exists() else 'RUNNING'}|here" for job in jobs]
    sys.stdout.write("\n".join(["JobID|State|NodeList", *rows]) + "\n")


def scancel(*words: str) -> None:
    (STATE / "cancelled").write_text(" ".join(words))


if __name__ == "__main__":
    name, *words = sys.argv[1:]
    {"sbatch": sbatch, "array": array, "srun": srun, "sacct": sacct, "scancel": scancel}[name](*words)
