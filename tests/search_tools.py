"""Searches for a ratio, and runs with one inside of them, written by hand."""

from __future__ import annotations

from rota.runlog import INNER, LOG, RUN, SCHEMA, SEARCH, LogWriter, Run, write_json

TASKS = ("left", "right")


def trial(number, ratio, value, state="done", acquisition=None, values=None, tasks=TASKS):
    own = values if values is not None else [] if state == "pruned" else [value]
    return {
        **{"number": number, "ratio": dict(zip(tasks, ratio, strict=True)), "value": value, "values": own},
        **{"state": state, "acquisition": acquisition, "steps": 10, "seconds": 0.5, "runs": []},
    }


TRIED = (
    trial(0, (1, 1), 0.5),
    trial(1, (3, 1), 0.75, acquisition="EI"),
    trial(2, (1, 3), 0.625, acquisition="UCB"),
    trial(3, (4, 1), 0.9, "pruned", "PI"),
    trial(4, (5, 0), None, "pruned", "PI"),
)
SLICES = {
    "left": {"at": [1.0, 2.0, 3.0], "share": [0.5, 0.667, 0.75], "mean": [0.5, 0.6, 0.7], "deviation": [0.1] * 3},
    "right": {"at": [0.0, 1.0], "share": [0.0, 0.25], "mean": [0.6, 0.7], "deviation": [0.05, 0.1]},
}


def write_search(folder, tried=TRIED, best=1, sampler="gp-hedge", tasks=TASKS, slices=SLICES, random=(), trials=6):
    folder.mkdir(parents=True, exist_ok=True)
    about = {"name": "ratio", "tasks": list(tasks), "trials": trials, "steps": 100, "sampler": sampler, "seed": 1}
    found = {"tried": list(tried), "best": best, "slices": slices, "random": list(random)}
    write_json(folder / SEARCH, {**about, **found})


def write_search_run(place, name, method="autosem", tasks=TASKS, **found):
    """A run, with this search inside of it if it is of method autosem."""
    folder = place / name
    folder.mkdir(parents=True, exist_ok=True)
    plan = {"method": method, "seed": 0, "steps": 4, "tasks": ["toy"]}
    known = {task: {"auxiliary": False, "rows": {"train": 8}} for task in tasks}
    write_json(folder / RUN, {"schema": SCHEMA, "id": name, "plan": plan, "tasks": known})
    LogWriter(folder / LOG).close()
    if method == "autosem":
        write_search(folder / INNER / "search", tasks=tasks, **found)
    return Run(folder)
