"""Runs that pick from pools of candidates, written by hand."""

from __future__ import annotations

from rota.runlog import LOG, RUN, SCHEMA, SUMMARY, Ledger, LogWriter, Run, write_json

ROWS = {"cola": 10, "stsb": 4}


def write_pool_run(place, name, lines=(), method="mt", seed=0, rows=ROWS, dev=None, auxiliary=(), steps=4):
    """A run with these lines; finished if it has dev scores."""
    folder = place / name
    folder.mkdir()
    tasks = {task: {"auxiliary": task in auxiliary, "rows": {"train": n}} for task, n in rows.items()}
    plan = {"method": method, "seed": seed, "steps": steps, "tasks": list(rows)}
    write_json(folder / RUN, {"schema": SCHEMA, "id": name, "plan": plan, "tasks": tasks})
    log = LogWriter(folder / LOG)
    for line in lines:
        log.write(line)
    log.close()
    if dev is not None:
        results = {task: {"loss": 1.0, "score": score, "metrics": {}, "n": 5} for task, score in dev.items()}
        counted = [dev[task] for task in dev if task not in auxiliary]
        average = None if None in counted else sum(counted) / len(counted)
        best = {"step": 4, "dev": {"average": average, "tasks": results}, "test": None}
        cost = Ledger(updates=4).as_dict()
        write_json(folder / SUMMARY, {"steps": 4, "best": best, "updates": {}, "cost": cost, "seconds": 1.0})
    return Run(folder)


def mixed(step, **ids):
    parts = {task: {"weight": 0.5, "loss": 1.0, "value": None, "n": len(own), "ids": own} for task, own in ids.items()}
    return {"kind": "step", "step": step, "task": None, "probability": None, "tasks": parts}


def single(step, task, ids):
    return {"kind": "step", "step": step, "task": task, "probability": 0.5, "loss": 1.0, "n": len(ids), "ids": ids}


def pool(step, candidates=4, **found):
    """Of each task how many were picked, and how uncertain its candidates were."""
    tasks = {
        task: {"candidates": candidates, "picked": picked, "uncertainty": unsure}
        for task, (picked, unsure) in found.items()
    }
    return {"kind": "pool", "step": step, "tasks": tasks}


def evaluation(step, **scores):
    tasks = {task: {"loss": 1.0, "score": score, "metrics": {}, "n": 5} for task, score in scores.items()}
    return {"kind": "eval", "step": step, "split": "dev", "average": None, "loss": None, "tasks": tasks, "mixture": {}}


# Four steps of four examples: 10 of 16 are of cola (rows 0, 1, 2, 3, 5), 6 of stsb (rows 0, 1, 2).
COURSE = (
    evaluation(0, cola=0.1, stsb=0.0),
    pool(0, cola=(2, 0.9), stsb=(2, None)),
    mixed(0, cola=[0, 1], stsb=[0, 1]),
    pool(1, cola=(4, 0.8), stsb=(0, None)),
    mixed(1, cola=[0, 1, 2, 3]),
    pool(2, cola=(2, 0.7), stsb=(2, 0.5)),
    mixed(2, cola=[3, 5], stsb=[2, 0]),
    pool(3, cola=(2, 0.6), stsb=(2, 0.4)),
    mixed(3, cola=[0, 5], stsb=[1, 0]),
    evaluation(4, cola=0.5, stsb=0.75),
)
