"""Would the tests notice?  Small mistakes are put into the mathematics, one at a time, and its tests are run.

    python benchmarks/mutate.py                             # 600 mutants of all rooms, half an hour
    python benchmarks/mutate.py --room policies --count 50
    python benchmarks/mutate.py --again LOG                 # only those that the output in LOG names as survivors
    python benchmarks/mutate.py --list-equivalent           # mutants that nobody could notice, and why

Mutants (benchmarks/mutants.py) are drawn by a seed. Each is written into a copy of the package; a forked child of this
process, which has imported what is slow to import, runs the tests of its room that call the changed function, quick
ones first, up to the first failure. Survivors are printed as file, line, and what was changed. Mutants that compute
what the original does are listed in benchmarks/equivalent-mutants.txt, and are not counted.
"""

from __future__ import annotations

import argparse
import importlib
import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from mutants import ROOMS, ROOT, Mutant, mutants_of

EQUIVALENT = Path(__file__).with_name("equivalent-mutants.txt")
TESTS = {  # of each room, beside its doctests
    "policies": ["tests/policies", "tests/simulation", "tests/test_deprecation.py"],
    "offpolicy": ["tests/offpolicy"],
    "signals": ["tests/signals", "tests/sources/test_survey.py"],
    "trials": ["tests/trials"],
    "curves": ["tests/curves", "tests/policies/test_auto.py"],
}
PYTEST = ["-x", "-q", "-p", "no:cacheprovider", "-n", "0", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
# What it measures, a fork of a large process spoils.
PYTEST += ["--deselect", "tests/sources/test_survey.py::test_many_passes_stay_within_their_memory"]
WARM = ("torch._dynamo", "accelerate", "hypothesis", "pytest", "pydantic", "scipy.stats", "sklearn.datasets", "rich")
MEMORY = 16 * 2**30  # of addresses: a mutant that asks for more has failed


class Chosen:
    """For pytest: these tests, in this order; where there are none, all of them, and it writes down who calls what."""

    def __init__(self, order: list[str], tree: Path) -> None:
        self.order, self.prefix, self.calls = {name: k for k, name in enumerate(order)}, f"{tree}/", set[Any]()
        self.tests: dict[str, tuple[float, list[Any]]] = {}
        if not order:
            sys.settrace(self.hear)

    def hear(self, frame: Any, event: str, _: Any) -> None:
        if (path := frame.f_code.co_filename).startswith(self.prefix):
            self.calls.add((path.removeprefix(self.prefix), frame.f_code.co_firstlineno))

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        if self.order:
            items[:] = sorted(
                (one for one in items if one.nodeid in self.order), key=lambda one: self.order[one.nodeid]
            )
        self.since = time.perf_counter()
        self.pytest_runtest_logfinish("")  # what was called while tests were imported

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.tests[nodeid] = time.perf_counter() - self.since, list(self.calls)
        self.since, self.calls = time.perf_counter(), set()

    def pytest_unconfigure(self) -> None:
        if not self.order:
            Path(self.prefix, "tests.json").write_text(json.dumps(self.tests))


def run_tests(tree: Path, paths: list[str], order: list[str], limit: float) -> bool:
    """Whether they pass, in a forked child."""

    def child() -> None:
        os.setsid()
        for stream in (1, 2):
            os.dup2(os.open(tree / "said.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
        os.chdir(tree)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        sys.exit(importlib.import_module("pytest").main([*PYTEST, *paths], plugins=[Chosen(order, tree)]))

    (tree / "said.txt").unlink(missing_ok=True)
    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join(limit)
    if process.exitcode is None and process.pid:  # it hangs
        os.killpg(process.pid, signal.SIGKILL)
    return process.exitcode in (0, 5)  # 5: there are none


def tests_of(room: str, tree: Path) -> dict[str, Any]:
    """The tests of a room, quick ones first: how long each takes and what it calls; "" is what imports call."""
    sys.dont_write_bytecode = False
    if not run_tests(tree, [*TESTS[room], f"src/rota/{room}"], [], 3600):
        sys.exit(f"Tests fail without any mutant:\n{(tree / 'said.txt').read_text()[-3000:]}")
    sys.dont_write_bytecode = True  # nobody may find a mutant in a cache
    return dict(sorted(json.loads((tree / "tests.json").read_text()).items(), key=lambda one: one[1][0]))


def survives(mutant: Mutant, tests: dict[str, Any], tree: Path) -> bool:
    def calls(name: str) -> bool:
        return any(f == mutant.file and mutant.function[0] <= k <= mutant.function[1] for f, k in tests[name][1])

    every = mutant.function == (0, 0) or calls("")
    order = [name for name in tests if name and (every or calls(name))]
    path = tree / mutant.file
    path.write_bytes(mutant.source)
    for cached in path.parent.glob(f"__pycache__/{path.stem}.*"):
        cached.unlink()
    files = list(dict.fromkeys(name.split("::")[0] for name in order))
    alive = not order or run_tests(tree, files, order, 30 + 5 * sum(tests[name][0] for name in order))
    shutil.copy(ROOT / mutant.file, path)
    return alive


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--room", choices=ROOMS, action="append", help="one of them, or several times")
    parser.add_argument("--count", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--again", type=Path, metavar="LOG", help="only survivors that this file names")
    parser.add_argument("--list-equivalent", action="store_true")
    asked = parser.parse_args()
    paragraphs = [text.strip().split("\n") for text in EQUIVALENT.read_text().split("\n\n")]
    equivalent = {(file, text, change): why for file, text, change, why in paragraphs}
    if asked.list_equivalent:
        sys.exit("\n".join(f"{file}: {text}\n    {change}: {why}" for (file, text, change), why in equivalent.items()))
    rooms = asked.room or ROOMS
    everything = [mutant for room in rooms for mutant in mutants_of(room)]
    random.Random(asked.seed).shuffle(everything)
    drawn = everything[: asked.count]
    counted = [one for one in drawn if (one.file, one.text, one.change) not in equivalent]
    print(f"{len(drawn)} of {len(everything)} mutants; {len(drawn) - len(counted)} are equivalent and left out")
    if asked.again:
        counted = [mutant for mutant in counted if str(mutant) in asked.again.read_text().splitlines()]
    os.environ |= {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    for name in WARM:
        importlib.import_module(name)
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder).resolve()
        for part in ("src", "tests", "docs", "examples"):
            shutil.copytree(ROOT / part, tree / part, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", tree)
        sys.path.insert(0, str(tree / "src"))
        os.environ["PYTHONPATH"] = str(tree / "src")
        for room in rooms:
            own = [mutant for mutant in counted if mutant.file.split("/")[2] == room]
            tests = tests_of(room, tree) if own else {}
            killed = 0
            for mutant in own:
                alive = survives(mutant, tests, tree)
                killed += not alive
                if alive:
                    print(mutant, flush=True)
            print(f"{room}: {killed} of {len(own)} killed, {killed / max(len(own), 1):.1%}", flush=True)


if __name__ == "__main__":
    main()
