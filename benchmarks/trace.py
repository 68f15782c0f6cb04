"""What happens in one step?  Every call of a function of rota between two steps of a run, in order.

    python benchmarks/trace.py                  # method auto on digits: the counts
    python benchmarks/trace.py --list           # and each call
    python benchmarks/trace.py --method exp3s

Counted are calls from one `Stream.next` to the following one, in the middle of a run, where nothing is evaluated,
surveyed or saved; generators count each time they go on.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import Any

import rota

SOURCE = Path(rota.__file__).parent
STEP = 133  # neither an evaluation nor a plan of Auto falls on it


def calls_of_one_step(method: str) -> list[tuple[str, str]]:
    """File and function of each call, in order."""
    from rota.plans import make_plan
    from rota.runs import run_plan

    steps: list[list[tuple[str, str]]] = [[]]

    def hear(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(str(SOURCE)):
            return
        file = str(Path(code.co_filename).relative_to(SOURCE))
        if file.startswith("streams/") and code.co_name == "next" and "step" in code.co_varnames:
            steps.append([])
        steps[-1].append((file, code.co_qualname))

    plan = make_plan({"tasks": ["digits"], "method": method, "steps": STEP + 7, "eval_every": 70})
    with tempfile.TemporaryDirectory() as folder:
        sys.setprofile(hear)
        try:
            run_plan(plan, Path(folder) / "run", progress=False)
        finally:
            sys.setprofile(None)
    return steps[STEP]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--method", default="auto")
    parser.add_argument("--list", action="store_true", help="print each call")
    asked = parser.parse_args()
    calls = calls_of_one_step(asked.method)
    if asked.list:
        for file, function in calls:
            print(f"{file:36s} {function}")
    files = [file for file, _ in calls]
    hops = sum(one != other for one, other in itertools.pairwise(files))
    print(
        f"one step of {asked.method}: {len(calls)} calls of {len(set(calls))} functions in {len(set(files))} files, "
        f"{hops} hops between files"
    )


if __name__ == "__main__":
    main()
