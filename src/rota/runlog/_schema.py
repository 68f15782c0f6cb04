"""What a run folder holds.

    run.json        what was asked for: schema version, run id, plan, tasks, versions
    log.jsonl       what happened: one JSON object per line, each with a `kind` and a `step`
    summary.json    how it ended: scores, cost, time (absent while the run is not finished)

A method that trains several times also has

    plan.json       the plan, from before its first inner run (`run.json` comes with its own training)
    runs/NAME       its inner runs, which are run folders

The inner runs of method autosem are `runs/select`, a run of method thompson that also has

    selection.json  which tasks were chosen by it, and why

and those of the search in `runs/search`. A search for a ratio is no run, but a folder with

    search.json     what was tried and found so far, and what is believed about other ratios
    runs/NAME       its trainings

`log.jsonl` holds no times and no machine names, so that two equal runs have equal bytes.

Kinds of lines:
    step    task, probability, round, loss (before the update), value (the signal; null: none), n, ids
            (in a joint step nobody is chosen: task and probability are null, and the rest is in
            tasks: {task: {weight, loss, value, n, ids}})
    eval    split, average, loss, tasks: {task: {loss, score, metrics, n}}, mixture: {task: probability}
    survey  tasks: {task: {value (what its policy heard), uncertainty (as measured; null: none), loss}}, mixture
    pool    after a step whose rows were picked: tasks: {task: {candidates, picked, uncertainty (mean; null: none)}}
    arm     a round of turns is over: round, task, probability, score (of the target's dev rows), value (what the
            policy heard)
    observed  what somebody measured between updates of a loop of his own: about (the word), tasks: {task: value}
    skip    a step whose loss was not a number and was left out: tasks: {task: ids}
    round   a round of branches is decided: round, method, target, steps: {branch: updates}, weights: {task: weight
            after it}, diverged: [task]; of αVIL also alpha, norm, cosine, alignment: {task: …}, loss: {before, after};
            of DIW scores: {task: …}, tries: [score], kept (number of a try)
Later kinds (trial) are added beside these; readers ignore kinds that they do not know.
"""

from __future__ import annotations

SCHEMA = 1
RUN, LOG, SUMMARY, PLAN, INNER = "run.json", "log.jsonl", "summary.json", "plan.json", "runs"
PRUNED = "pruned"  # why a run ended that a search gave up
SEARCH, SELECTION = "search.json", "selection.json"
STAGE_1, STAGE_2 = "select", "search"
