"""Kill a run and go on: the result is the run that was never stopped, to the last byte.

    python examples/resume.py

A training is started in another process, killed without a warning as soon as it has a checkpoint, and resumed. Beside
it the same training runs through. Their logs and weights are then compared. On the command line it is
`rota train … --out FOLDER`, and later `rota train --resume FOLDER`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rota.plans import make_plan
from rota.runlog import Run
from rota.runs import run_plan

FIELDS = {
    **{"tasks": ["digits"], "method": "exp3s", "options": {"eta": 0.05}},
    **{"steps": 200, "checkpoint_every": 20, "eval_every": 100},
}


def killed_on_the_way(folder: Path) -> None:
    """Start a training, and kill it when it has a checkpoint."""
    file = folder.with_suffix(".yaml")
    file.write_text(json.dumps(FIELDS))  # JSON is YAML
    command = [sys.executable, "-m", "rota", "train", str(file), "--out", str(folder), "--quiet"]
    with subprocess.Popen(command) as process:
        while process.poll() is None and not list(folder.glob("checkpoints/step-*")):
            time.sleep(0.02)
        process.kill()


def main(place: Path) -> None:
    whole, stopped = place / "whole", place / "stopped"
    killed_on_the_way(stopped)
    print(f"killed: finished is {Run(stopped).finished}")
    run_plan(make_plan(FIELDS), stopped, resume=True, progress=False)
    print(f"resumed: finished is {Run(stopped).finished}")
    run_plan(make_plan(FIELDS), whole, progress=False)

    logs = [(folder / "log.jsonl").read_bytes() for folder in (whole, stopped)]
    print(f"{logs[0].count(b'kind')} lines of the log are equal: {logs[0] == logs[1]}")
    weights = [next((folder / "best").rglob("model.safetensors")).read_bytes() for folder in (whole, stopped)]
    print(f"{len(weights[0]):,} bytes of the best model are equal: {weights[0] == weights[1]}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(Path(folder))
