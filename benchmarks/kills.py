"""Is a run that was killed the run that was never stopped?  Every method, killed again and again.

    python benchmarks/kills.py --count 500 [--seed 0] [--jobs 2] [--cases exp3s,alphavil] [--keep FOLDER]

Kills without warning, at random moments and at (or in the middle of) calls that change the folder of the run; signals
that ask it to end. A killed run is resumed, often killed again, and in the end left alone: then `log.jsonl`, the last
weights and the best ones, of its inner runs too, must have the bytes of a run that nobody touched. All runs are forked
from one process that has imported everything. Exits with 1 on any difference; Ctrl-C shows what there is so far.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import re
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

import torch
from dying import Calls
from kill_cases import CASES, Case

from rota.cli import main as rota_main
from rota.data import load_tasks
from rota.runlog import LOG, PLAN, RUN
from rota.runs import run_plan  # noqa: F401 - imported here, so that no child has to

KINDS = ("killed", "killed at a call", "SIGTERM", "SIGINT")
PATIENCE = 120.0  # seconds that a run may take on a machine that is busy
TORCHRUN = 35.0  # seconds after which torchrun has killed those who were asked to end
MOST = 3  # kills of one run
ORDERLY = {143: "SIGTERM", -signal.SIGTERM: "SIGTERM", 130: "SIGINT"}
"""Exit codes of those who were asked to end; one of them could not hear it yet."""


@dataclass
class Reference:
    """A run that nobody touched: where it is, how long it took, and its calls that change files."""

    folder: Path
    seconds: float
    calls: int


@dataclass
class Result:
    """A run that was killed: how often, and what was wrong in the end."""

    case: str
    seed: int
    kills: list[str] = field(default_factory=list)
    wrong: str | None = None


def start(case: Case, folder: Path, calls: Calls | None = None) -> list[int]:
    """Fork the processes of a run, or of one that goes on; the first one may die at a call."""
    begun = any((folder / name).is_file() for name in (RUN, PLAN))
    arguments = ["--resume", str(folder), "-q"] if begun else [*case.flags, "--out", str(folder)]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    children = []
    for rank in range(case.processes):
        if child := os.fork():
            children.append(child)
            continue
        try:
            os.setsid()
            signal.signal(signal.SIGINT, signal.default_int_handler)
            said = os.open(f"{folder}.said", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(said, 1)
            os.dup2(said, 2)
            group = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": case.processes}
            group |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
            os.environ.update({name: str(value) for name, value in group.items()} if case.processes > 1 else {})
            if calls is not None and rank == 0:
                calls.listen(folder)
            sys.argv = ["rota", "train", *arguments]
            rota_main()
        except SystemExit as end:
            sys.stderr.flush()
            os._exit(int(end.code or 0))
        except BaseException as error:  # a child must not go on as its parent
            os.write(2, f"{error!r}\n".encode())
            os._exit(130 if isinstance(error, KeyboardInterrupt) else 1)
        os._exit(0)
    return children


def ended(children: list[int], seconds: float) -> dict[int, int] | None:
    """The exit codes of all, negative for signals; None if somebody is still there. One that is killed takes the others
    along, as torchrun has it."""
    codes: dict[int, int] = {}
    deadline = time.monotonic() + seconds
    while True:
        for child in children:
            if child not in codes:
                found, status = os.waitpid(child, os.WNOHANG)
                if found:
                    codes[child] = os.waitstatus_to_exitcode(status)
                    if codes[child] == -signal.SIGKILL:
                        end(children, codes)
        if len(codes) == len(children):
            return codes
        if time.monotonic() > deadline:
            children[:] = [child for child in children if child not in codes]
            return None
        time.sleep(0.002)


def end(children: list[int], codes: dict[int, int]) -> None:
    for child in children:
        if child not in codes:
            os.kill(child, signal.SIGKILL)


def refer(case: Case, folder: Path) -> Reference:
    calls = Calls()
    began = time.monotonic()
    codes = ended(start(case, folder, calls), PATIENCE)
    if codes is None or any(codes.values()):
        raise RuntimeError(f"{case.name}: {Path(f'{folder}.said').read_text()[-2000:]}")
    return Reference(folder, time.monotonic() - began, calls.counted(folder))


def kill(case: Case, folder: Path, kind: str, reference: Reference, rng: random.Random) -> str | None:
    """Start a run or go on with it, and stop it; what was wrong, if something was. "ended": it was faster."""
    calls = None
    if kind == "killed at a call":
        calls = Calls(rng.randint(1, max(1, reference.calls)), halfway=rng.random() < 0.5)
    children = start(case, folder, calls)
    if kind == "killed at a call":
        codes = ended(children, PATIENCE)
    else:
        codes = ended(children, rng.uniform(0, reference.seconds))
        if codes is not None:
            return "ended"
        for child in rng.sample(children, len(children)) if kind != "killed" else [rng.choice(children)]:
            os.kill(child, signal.SIGKILL if kind == "killed" else signal.Signals[kind])
            time.sleep(rng.uniform(0, 0.02))
        codes = ended(children, PATIENCE if case.processes == 1 else TORCHRUN)
    if codes is None:
        end(children, {})
        for child in children:
            os.waitpid(child, 0)
        # One of several may wait for another that was asked to end before they had met; torchrun kills it, too.
        return f"{kind}: it did not end" if case.processes == 1 or kind not in ORDERLY.values() else None
    if not any(codes.values()):
        return "ended"
    expected = {code for code, asked in ORDERLY.items() if asked == kind} or {-signal.SIGKILL}
    if not expected & set(codes.values()):
        return f"{kind}: exit codes {sorted(codes.values())}: {Path(f'{folder}.said').read_text()[-600:]}"
    return None


def try_out(case: Case, first: str, reference: Reference, place: Path, seed: int) -> Result:
    """Kill a run one to three times, let it end, and compare it."""
    rng, result = random.Random(seed), Result(case.name, seed)
    folder = place / f"{case.name}-{seed}".replace(", ", "-").replace(" ", "-")
    for number in range(rng.randint(1, MOST)):
        kind = first if number == 0 else rng.choice(KINDS)
        found = kill(case, folder, kind, reference, rng)
        if found not in (None, "ended"):
            result.wrong = found
            return result
        if found is None:
            result.kills.append(kind)
    codes = ended(start(case, folder), PATIENCE)
    # An interrupt in the middle of a `__del__` is told by Python, and comes to the training at its next step.
    said = re.sub(r"Exception ignored in.*\nTraceback", "", Path(f"{folder}.said").read_text())
    if codes is None or any(codes.values()):
        result.wrong = f"could not go on: {said[-600:]}"
    elif case.processes == 1 and "Traceback" in said:
        result.wrong = f"ended in disorder: {said[-600:]}"
    else:
        result.wrong = difference(reference.folder, folder)
    if result.wrong is None:
        shutil.rmtree(folder)
        Path(f"{folder}.said").unlink()
    return result


def difference(one: Path, other: Path) -> str | None:
    """What differs in the logs and weights of two runs and of their inner runs; None if nothing does."""
    logs = [sorted(path.relative_to(folder) for path in folder.rglob(LOG)) for folder in (one, other)]
    if logs[0] != logs[1]:
        return f"logs {logs[0]} and {logs[1]}"
    if unfinished := [str(path.relative_to(other)) for path in other.rglob("tmp-*")]:
        return f"{', '.join(unfinished)} is left"
    for log in logs[0]:
        if (one / log).read_bytes() != (other / log).read_bytes():
            return f"{log} differs"
        for kept in ("checkpoints", "best"):
            last = [sorted((folder / log.parent / kept).glob("step-*"))[-1] for folder in (one, other)]
            if last[0].name != last[1].name or len({(path / "model.safetensors").read_bytes() for path in last}) > 1:
                return f"weights of {log.parent / kept} differ"
    return None


def run_all(cases: list[Case], count: int, seed: int, jobs: int, place: Path) -> list[Result]:
    """Kill until there were so many kills; the cases take turns, and so do the kinds."""
    results: list[Result] = []
    deaf = (signal.signal, (signal.SIGINT, signal.SIG_IGN))  # Ctrl-C is for this process alone
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("fork"), *deaf) as pool:
        names = {own: own.name.replace(", ", "-").replace(" ", "-") for own in cases}
        made = {own: pool.submit(refer, own, place / f"whole-{names[own]}") for own in cases}
        references = {own: future.result() for own, future in made.items()}
        slowest = max(references.values(), key=lambda reference: reference.seconds)
        print(f"{len(cases)} cases; the slowest, {slowest.folder.name}, takes {slowest.seconds:.1f} s", flush=True)
        running: set[Future[Result]] = set()
        turn, began = 0, time.monotonic()
        while sum(len(result.kills) for result in results) < count:
            while len(running) < 2 * jobs:
                around, number = divmod(turn, len(cases))
                own, kind = cases[number], KINDS[(around + number) % len(KINDS)]
                running.add(pool.submit(try_out, own, kind, references[own], place, seed * 1_000_000 + turn))
                turn += 1
            try:
                done, running = wait(running, return_when=FIRST_COMPLETED)
            except KeyboardInterrupt:
                break  # those that run now are the last ones
            results += [future.result() for future in done]
            kills = sum(len(result.kills) for result in results)
            wrong = sum(result.wrong is not None for result in results)
            spent = time.monotonic() - began
            print(f"\r{kills} of {count} kills, {len(results)} runs, {wrong} wrong, {spent:.0f} s", end="", flush=True)
        results += [future.result() for future in running]
    print()
    return results


def show(results: list[Result]) -> None:
    """Kills by case and kind, and what was wrong."""
    kills = Counter((result.case, kind) for result in results for kind in result.kills)
    names = list(dict.fromkeys(result.case for result in results))
    print("".join([f"{'':28}", *(f"{kind:>18}" for kind in KINDS), f"{'runs':>8}{'wrong':>8}"]))
    for name in sorted(names):
        own = [result for result in results if result.case == name]
        counts = "".join(f"{kills[name, kind]:18}" for kind in KINDS)
        print(f"{name:28}{counts}{len(own):8}{sum(result.wrong is not None for result in own):8}")
    counts = "".join(f"{sum(kills[name, kind] for name in names):18}" for kind in KINDS)
    print(f"{'all':28}{counts}{len(results):8}{sum(result.wrong is not None for result in results):8}")
    for result in results:
        if result.wrong is not None:
            print(f"\n{result.case}, seed {result.seed}, {', '.join(result.kills) or 'no kill'}: {result.wrong}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500, help="kills")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    parser.add_argument("--cases", help="some of them, by their beginnings: exp3s,alphavil")
    parser.add_argument("--keep", type=Path, help="a new folder for what differs")
    flags = parser.parse_args()
    beginnings = tuple(flags.cases.split(",")) if flags.cases else ("",)
    cases = [own for own in CASES if own.name.startswith(beginnings)]
    torch.set_num_threads(1)
    load_tasks(["digits"])
    if flags.keep is not None:
        flags.keep.mkdir(parents=True)
        results = run_all(cases, flags.count, flags.seed, flags.jobs, flags.keep)
    else:
        with tempfile.TemporaryDirectory() as place:
            results = run_all(cases, flags.count, flags.seed, flags.jobs, Path(place))
    show(results)
    sys.exit(any(result.wrong is not None for result in results))


if __name__ == "__main__":
    main()
