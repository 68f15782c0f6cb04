"""What does a survey cost?  Passes with dropout next to one plain evaluation of the same rows, and their memory.

python benchmarks/survey.py [--data DIR]     # minilm on RTE's dev rows; without DIR a small encoder on pictures
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from collections.abc import Callable

import torch

from rota.models import MultiTaskModel, encoder_for
from rota.plans import make_plan, tasks_of
from rota.sources import Moment, Survey
from rota.testing import access_to
from rota.training import evaluate

ROUNDS, CAP, SOME = 3, 2**28, 40


def seconds(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="folder with RTE")
    arguments = parser.parse_args()
    plan = make_plan({"tasks": ["rte"], "data": arguments.data} if arguments.data else {"tasks": ["digits"]})
    tasks = tasks_of(plan)[:1]
    torch.manual_seed(0)
    model = MultiTaskModel(encoder_for(tasks, "auto"), tasks)
    rows = tasks[0].size("dev")

    def survey(**options: object) -> Callable[[], object]:
        feed = Survey("bald", every=1, **options).open(access_to(model, tasks))  # type: ignore[arg-type]
        return lambda: feed.at_step_end(Moment(1))

    survey(passes=2, rows=1)()  # what the first pass allocates for good
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    survey(passes=100, memory=CAP, rows=SOME)()
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**10
    print(f"{tasks[0].name}: 100 passes over {min(SOME, rows)} rows within {CAP / 2**20:.0f} MiB took {grown:.0f} MiB")
    scopes = {"all layers": "all", "last 2 layers": 2, "head": "head"} if arguments.data else {"all layers": "all"}
    acts = {"plain evaluation": lambda: evaluate(model, tasks)} | {
        f"8 passes, {name}": survey(passes=8, scope=scope) for name, scope in scopes.items()
    }
    for act in acts.values():
        act()
    times: dict[str, list[float]] = {name: [] for name in acts}
    for _ in range(ROUNDS):
        for name, act in acts.items():
            times[name].append(seconds(act))
    base = times["plain evaluation"]
    print(f"{tasks[0].name}, {rows} dev rows, {ROUNDS} rounds in turn")
    for name, own in times.items():
        ratios = [one / other for one, other in zip(own, base, strict=True)]
        spread = f"{min(ratios):.2f}–{max(ratios):.2f}"
        print(f"  {name:26} {statistics.median(own):7.3f} s  {statistics.median(ratios):5.2f}x ({spread})")


if __name__ == "__main__":
    main()
