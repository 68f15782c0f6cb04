"""Learning curves foretell the last dev score of each task from the first half of a run: how well?

    python benchmarks/prediction.py FOLDER [FOLDER …] [--by-task]

Reads all finished runs below the folders. For each folder: the mean distance between foretold and real last scores,
that of somebody who says that scores stay as they are at half time, in points; how often the 95 % interval holds; and
how foretold gains go together with real ones."""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np

from rota.analysis import Foresight, foresight, read_history
from rota.runlog import find_runs


def told(name: str, own: list[Foresight]) -> str:
    foretold, before, real, held = (
        np.array([getattr(one, field) for one in own]) for field in ("foretold", "before", "realised", "held")
    )
    together = np.corrcoef(foretold - before, real - before)[0, 1] if len(own) > 2 else np.nan
    return (
        f"{name:28s} {len(own):5d} scores  off by {100 * np.abs(real - foretold).mean():4.1f}  "
        f"(as they are {100 * np.abs(real - before).mean():4.1f})  mean error {100 * (real - foretold).mean():+5.1f}  "
        f"inside {100 * held.mean():3.0f} %  gains together {together:+.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--by-task", action="store_true")
    arguments = parser.parse_args()
    if not arguments.folders:
        print("no runs to look at; give it folders with runs")
        return
    found: dict[str, list[Foresight]] = defaultdict(list)
    for folder in arguments.folders:
        for run in find_runs([folder]):
            if run.finished:
                for task, one in foresight(run, read_history(run)).items():
                    found["all"].append(one)
                    found[folder.name].append(one)
                    if arguments.by_task:
                        found[f"{folder.name} {task}"].append(one)
    for name, own in found.items():
        print(told(name, own))


if __name__ == "__main__":
    main()
