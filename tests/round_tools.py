"""Runs that work in rounds of branches, written by hand."""

from __future__ import annotations

from rota.runlog import LOG, RUN, SCHEMA, SUMMARY, Ledger, LogWriter, Run, write_json


def results(scores):
    tasks = {task: {"loss": 1.0, "score": score, "metrics": {}, "n": 5} for task, score in scores.items()}
    return {"split": "dev", "average": sum(scores.values()) / len(scores), "loss": 1.0, "tasks": tasks}


def write_rounds_run(
    place,
    name,
    lines=(),
    method="alphavil",
    seed=0,
    target="left",
    tasks=("left", "right"),
    dev=None,
    test=None,
    **best,
):
    """A run with these lines; finished if it has dev scores."""
    folder = place / name
    folder.mkdir()
    known = {task: {"auxiliary": False, "rows": {"train": 8}} for task in tasks}
    plan = {"method": method, "seed": seed, "steps": 4, "tasks": ["toy"]} | ({"target": target} if target else {})
    trial = {"method": method, "target": target} if method in ("alphavil", "diw") else None
    info = {"schema": SCHEMA, "id": name, "plan": plan, "tasks": known, "trial": trial}
    write_json(folder / RUN, info)
    log = LogWriter(folder / LOG)
    for line in lines:
        log.write(line)
    log.close()
    if dev is not None:
        found = {"step": 4, "dev": results(dev), "test": results(test) if test else None, **best}
        cost = Ledger(updates=4).as_dict()
        write_json(folder / SUMMARY, {"steps": 4, "best": found, "updates": {}, "cost": cost, "seconds": 1.0})
    return Run(folder)


def alphavil(at, alpha, weights, norm=(2.0, 1.0), cosine=0.5, loss=(0.9, 0.8), diverged=(), tasks=("left", "right")):
    """A round of two tasks, of which the first is the target."""

    def each(values):
        return dict(zip(tasks, values, strict=True))

    return {
        **{"kind": "round", "step": 4 * (at + 1), "round": at, "method": "alphavil", "target": tasks[0]},
        **{"steps": each((2, 2)), "alpha": each(alpha), "weights": each(weights), "norm": each(norm)},
        **{"cosine": each((1.0, cosine)), "loss": dict(zip(("before", "after"), loss, strict=True))},
        "diverged": list(diverged),
    }


def diw(at, scores, tries, kept, weights):
    return {
        **{"kind": "round", "step": 4 * (at + 1), "round": at, "method": "diw", "target": "left"},
        **{"steps": {"left": 2, "right": 2}, "scores": dict(zip(("left", "right"), scores, strict=True))},
        **{"tries": tries, "kept": kept, "weights": dict(zip(("left", "right"), weights, strict=True))},
    }


COURSE = (
    alphavil(0, (1.25, 0.75), (1.25, 0.75)),
    alphavil(1, (1.5, 0.5), (1.75, 0.25), (1.0, 0.5), -0.25, (0.7, 0.5)),
)

OTHER = (
    alphavil(0, (1.75, 0.75), (1.75, 0.75), (4.0, 3.0), 0.25, (1.1, 1.0)),
    alphavil(1, (1.0, 1.0), (1.75, 0.75), (1.0, None), None, (None, None), ["right"]),
)

TRIED = (
    diw(0, (0.5, 0.25), [0.25, 0.5, 0.75], 2, (3.0, 1.0)),
    diw(1, (0.75, 0.5), [0.5], 0, (1.0, 1.0)),
)
