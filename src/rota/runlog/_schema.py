"""What a run folder holds.

    run.json        what was asked for: schema version, run id, plan, tasks, versions
    log.jsonl       what happened: one JSON object per line, each with a `kind` and a `step`
    starts.jsonl    each start: its time, versions and a fingerprint of the data
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
    step    task, probability, round, loss (before the update), value (the signal; null: none), n, rows
            (in a joint step no task is drawn: task and probability are null, and the rest is in
            tasks: {task: {weight, loss, value, n, rows}})
            rows: [first, behind the last] among the rows of all passes of the task, whose order follows from the seed:
            `Run.row_ids` knows their numbers. Where it does not, or with log_rows, ids: [number] stands in its place
    eval    split, average, loss, tasks: {task: {loss, score, metrics, n}}, mixture: {task: probability}
    survey  tasks: {task: {value (what its policy heard), uncertainty (as measured; null: none), loss}}, mixture
    gradient  tasks: {task: {value (squared norm, or product with the target's), variance (of one row; not with a
            target)}}, mixture
    pool    after a step whose rows were picked: tasks: {task: {candidates, picked, uncertainty (mean; null: none)}}
    arm     a round of turns is over: round, task, probability, score (of the target's dev rows), value (what the
            policy heard)
    observed  what a user's loop measured between updates: about (the word), tasks: {task: value}
    resumed the run went on on other hardware (`--elastic`): processes, device, engine, and what each process does of an
            update: batch_size, accumulate
    tasks   from this step on, other tasks: added: [task], dropped: [task], rows: {task that came: training rows; null:
            a stream's}, mixture: {task: probability}; of a run also run: what run.json would say since
    mixture weights were replaced (method steered): file, weights: {task: weight}, or reason: why they cannot be used;
            mixture: {task: probability}
    parked, unparked  a source is not drawn any more from this step on, or drawn again: task, reason
    skip    a step whose loss was not a number and was left out: tasks: {task: ids, or {rows}}
    round   a round of branches is decided: round, method, target, steps: {branch: updates}, weights: {task: weight
            after it}, diverged: [task]; of αVIL also alpha, norm, cosine, alignment: {task: …}, loss: {before, after};
            of DIW scores: {task: …}, tries: [score], kept (number of a try)
Later kinds (trial) are added beside these; readers ignore kinds that they do not know.
"""

from __future__ import annotations

SCHEMA = 1
"""Version of all that is written here."""
RUN = "run.json"
"""File of a run folder: what was to be trained, and with what."""
LOG = "log.jsonl"
"""File of a run folder: what happened, line by line."""
SUMMARY = "summary.json"
"""File of a run folder: what came out; only finished runs have it."""
PLAN = "plan.json"
"""File of a run folder whose method trains inner runs first: what it was asked for."""
INNER = "runs"
"""Folder of the inner runs in that of their outer one."""
PRUNED = "pruned"
"""Why a run ended that a search gave up."""
SEARCH = "search.json"
"""File of a search: its trials."""
SELECTION = "selection.json"
"""File beside a log of method thompson: which tasks were chosen, and why."""
STAGE_1 = "select"
"""Inner run of AutoSeM that selects tasks."""
STAGE_2 = "search"
"""Folder of AutoSeM's search for a ratio."""
