"""Runs that tests write by hand, line by line, so that numbers can be checked by hand."""

from __future__ import annotations

from rota.runlog import LOG, RUN, SCHEMA, SUMMARY, Ledger, LogWriter, Run, write_json

TASKS = {"left": False, "right": False, "noise": True}


def evaluation(split="dev", **results):
    """Results by task as (loss, score)."""
    tasks = {name: {"loss": loss, "score": score, "metrics": {}, "n": 10} for name, (loss, score) in results.items()}
    own = [score for name, (_, score) in results.items() if not TASKS.get(name)]
    average = None if not own or None in own else sum(own) / len(own)
    return {"split": split, "average": average, "loss": None, "tasks": tasks}


def eval_line(step, mixture=None, **results):
    return {"kind": "eval", "step": step, **evaluation(**results), "mixture": mixture or {}}


def step_line(step, task):
    return {"kind": "step", "step": step, "task": task, "probability": 0.5, "loss": 1.0, "n": 2, "ids": [0, 1]}


def joint_line(step, *tasks):
    parts = {task: {"weight": 0.5, "loss": 1.0, "n": 2, "ids": [0]} for task in tasks}
    return {"kind": "step", "step": step, "task": None, "probability": None, "tasks": parts}


LOG_LINES = (
    eval_line(0, {"left": 0.5, "right": 0.5}, left=(2.0, 0.1), right=(3.0, 0.2), noise=(2.0, 0.1)),
    step_line(0, "left"),
    step_line(1, "right"),
    eval_line(2, {"left": 0.7, "right": 0.3}, left=(1.0, 0.5), right=(2.0, 0.4), noise=(2.2, 0.1)),
    step_line(2, "left"),
    step_line(3, "left"),
    eval_line(4, {"left": 0.9, "right": 0.1}, left=(1.2, 0.6), right=(1.6, 0.4), noise=(2.4, 0.1)),
)


def write_run(
    place, name, method="uniform", seed=0, average=None, lines=LOG_LINES, tasks=TASKS, cost=None, test=True, **plan
):
    """A run of left, right and the auxiliary noise; finished if it has an average."""
    folder = place / name
    folder.mkdir(parents=True)
    info = {task: {"kind": "x", "auxiliary": aux, "rows": {"train": 9}} for task, aux in tasks.items()}
    plan = {"steps": 4, "seed": seed, "tasks": ["toy"], "method": method, "options": {}, **plan}
    surroundings = {"policy": "Fixed", "device": "cpu", "versions": {"rota": "0.1.0"}}
    write_json(folder / RUN, {"schema": SCHEMA, "id": "x", "plan": plan, "tasks": info, **surroundings})
    log = LogWriter(folder / LOG)
    for line in lines:
        log.write(line)
    log.close()
    if average is not None:
        results = {task: (1.0, 0.1 if aux else average) for task, aux in tasks.items()}
        best = {
            "step": 4,
            "rule": "score",
            "dev": evaluation(**{task: (loss, score - 0.05) for task, (loss, score) in results.items()}),
            "test": evaluation("test", **(results if test else {})),
        }
        cost = (cost or Ledger(updates=4, train=8)).as_dict()
        write_json(folder / SUMMARY, {"steps": 4, "best": best, "updates": {}, "cost": cost, "seconds": 1.5})
    return Run(folder)
