"""Do runs still write the same bytes?  Trains two dozen small plans with another commit and with the working tree.

    python benchmarks/golden.py             # against HEAD
    python benchmarks/golden.py main~5      # against another commit
    python benchmarks/golden.py HEAD auto   # plans whose name begins so

Logs (of inner runs, too) and the weights of the best models are compared byte by byte, on this machine: another one
rounds differently, so none of them are kept in the repository. What a commit wrote is kept in runs/golden.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "runs" / "golden"
DIGITS = "--tasks digits --eval-every 40 --steps 120"
TEXTS = "--tasks toytext --eval-every 30 --steps 60 --threads 1"
PLANS = {
    "uniform": f"{DIGITS} --method uniform",
    "union-workers": f"{DIGITS} --method union --num-workers 2",
    "temperature-texts": f"{TEXTS} --method temperature --group-lengths",
    "annealed": f"{DIGITS} --method annealed --per-task left.stop_after=20,noise.loss_weight=0.5",
    "cycle-patience": f'{DIGITS} --method cycle --option weights={{"left":2,"right":1,"larger":1,"parity":1,"noise":0}}'
    " --patience 1",
    "exp3s-delay": f"{DIGITS} --method exp3s --option eta=0.1 --delay 3",
    "exp3s-texts": f"{TEXTS} --method exp3s --option eta=0.1",
    "exp3s-visits-accumulate": f"{DIGITS} --method exp3s-visits --option eta=0.1 --accumulate 2 --batch-size 16",
    "auto": f"{DIGITS} --method auto --steps 600 --checkpoint-every 250",
    "auto-delay": f"{DIGITS} --method auto --steps 400 --delay 5 --option every=20",
    "auto-dev": f"{DIGITS} --method auto-dev --steps 400 --option every=20",
    "active": f"{DIGITS} --method active --option every=25 --option rows=100",
    "active-weights-texts": f"{TEXTS} --method active-weights --option every=20 --option rows=60",
    "counterfactual": f"{DIGITS} --method counterfactual --steps 300 --option rounds=2",
    "thompson": f"{DIGITS} --method thompson --target left --option round=5",
    "autosem": f"{DIGITS} --method autosem --target left --option rounds=8 --option trials=3 --option trial_steps=40",
    "alphavil": f"{DIGITS} --method alphavil --target left --option fraction=0.2",
    "alphavil-joint": f"{DIGITS} --method alphavil-aligned --target left --option fraction=0.2 --option merge=both",
    "diw": f"{DIGITS} --method diw --target left --option fraction=0.2 --option tries=2",
    "mixed": f"{TEXTS} --method mixed --option power=0.5",
    "mt-uncertainty": f"{TEXTS} --method mt-uncertainty --option every=2",
    "mt-uncertainty-loss": f"{TEXTS} --method mt-uncertainty --option regression=loss --option returned=true",
    "joint": f"{DIGITS} --method joint --optimizer sgd --lr 0.05",
    "multitask": f"{DIGITS} --method multitask",
    "singletask": f"{DIGITS} --method singletask --target right --optimizer adamax",
    "two-processes": f"{DIGITS} --method auto --option every=20",
    "two-processes-joint": f"{DIGITS} --method active-weights --option every=25 --option rows=100",
}


def commit_of(name: str) -> str:
    return subprocess.run(
        ["git", "rev-parse", "--short=12", name], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()


def train(name: str, source: Path, out: Path) -> str | None:
    """One plan by the code in `source`; what went wrong."""
    launcher = ["-m", "rota"]
    if name.startswith("two-processes"):
        launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", *launcher]
    # Flags that stand twice: the last one counts.
    command = [sys.executable, *launcher, "train", *PLANS[name].split(), "--seed", "3", "--out", str(out / name), "-q"]
    environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=out, capture_output=True, text=True, env=environment)
    return None if done.returncode == 0 else done.stderr.strip()[-2000:]


def train_all(names: list[str], source: Path, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    missing = [name for name in names if not (out / name / "summary.json").is_file()]
    for name in missing:
        shutil.rmtree(out / name, ignore_errors=True)
    with ThreadPoolExecutor(2) as pool:
        for name, wrong in zip(missing, pool.map(lambda name: train(name, source, out), missing), strict=True):
            if wrong:
                print(f"{name} failed with the code in {source}: {wrong}")


def written(folder: Path) -> dict[str, str]:
    """A hash of everything that must be equal, by its path."""
    paths = [*folder.rglob("log.jsonl"), *folder.rglob("best/*/model.safetensors")]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(paths)}


def first_difference(one: Path, other: Path) -> str:
    if not (one.is_file() and other.is_file()):
        return "only one of them is there"
    if one.suffix != ".jsonl":
        return "weights differ"
    lines = [path.read_text().splitlines() for path in (one, other)]
    for number, (before, now) in enumerate(zip(*lines, strict=False), start=1):
        if before != now:
            old, new = json.loads(before), json.loads(now)
            fields = [
                f"{name}: {old.get(name)} -> {new.get(name)}"[:160]
                for name in {**old, **new}
                if old.get(name) != new.get(name)
            ]
            return f"line {number}: {'; '.join(fields)}"
    return f"{len(lines[0])} and {len(lines[1])} lines"


def main(base: str = "HEAD", prefix: str = "") -> int:
    names = [name for name in PLANS if name.startswith(prefix)]
    before = KEPT / commit_of(base)
    with tempfile.TemporaryDirectory() as tree:
        subprocess.run(["git", "worktree", "add", "--detach", tree, base], cwd=ROOT, check=True, capture_output=True)
        try:
            train_all(names, Path(tree) / "src", before)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True, capture_output=True)
    now = KEPT / "now"
    shutil.rmtree(now, ignore_errors=True)
    train_all(names, ROOT / "src", now)
    differ = 0
    for name in names:
        old, new = written(before / name), written(now / name)
        wrong = [path for path in sorted({**old, **new}) if old.get(path) != new.get(path)]
        differ += bool(wrong) or not old
        print(f"{name:28s}", "equal" if old and not wrong else "DIFFERS" if old else "MISSING", f"({len(old)} files)")
        for path in wrong[:3]:
            print(f"    {path}: {first_difference(before / name / path, now / name / path)}")
    print(f"{len(names) - differ} of {len(names)} plans write the bytes of {base}")
    return int(differ > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
