"""One worker of a search in a process of its own: python search_worker.py STORAGE LOG [TRIAL TO HANG IN]."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from rota.search import search_ratio

TASKS = ["rte", "mnli", "qqp"]
BEST = {"rte": 9 / 14, "mnli": 1 / 14, "qqp": 4 / 14}


def score(ratio):
    total = sum(ratio.values())
    return -sum((ratio[task] / total - BEST[task]) ** 2 for task in TASKS)


def main() -> None:
    storage, log, hang = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else None
    begun = 0

    def objective(ratio, seed, report):
        nonlocal begun
        hangs = begun == hang
        begun += 1
        with log.open("a") as file:
            file.write(json.dumps({"ratio": list(ratio.values()), "hangs": hangs}) + "\n")
        time.sleep(300 if hangs else 0.1)
        return score(ratio)

    found = search_ratio(objective, TASKS, 12, storage)
    sys.stdout.write(json.dumps([[list(t.ratio.values()), t.value, t.state] for t in found.trials]))


if __name__ == "__main__":
    main()
