"""What the page says about mixtures and the logs that they were judged by."""

from __future__ import annotations

import re

import numpy as np
import pytest
from page_tools import shown

from rota.offpolicy import value
from rota.report._log_section import log_section
from rota.runlog import INNER, RUN, SCHEMA, SUMMARY, LogWriter, Run, write_json

ROWS = {"left": 300, "right": 100}


def make_run(folder, method, mixture, seed=0, steps=400, score=0.5, finished=True, policy="Fixed"):
    """A run whose losses fall with the visits of each task, faster for `right`."""
    folder.mkdir(parents=True)
    tasks = {name: {"unit": 1.0, "auxiliary": False, "rows": {"train": rows}} for name, rows in ROWS.items()}
    info = {"schema": SCHEMA, "id": folder.name, "plan": {"method": method, "seed": seed}, "tasks": tasks}
    write_json(folder / RUN, {**info, "policy": policy, "stream": "TaskStream", "mixture": mixture})
    log, rng, visits = LogWriter(folder / "log.jsonl"), np.random.default_rng(seed), dict.fromkeys(ROWS, 0)
    for step in range(steps):
        task = str(rng.choice(list(mixture), p=list(mixture.values())))
        visits[task] += 1
        loss = 0.1 + np.exp(-visits[task] / {"left": 400, "right": 50}[task]) + 0.05 * abs(rng.normal())
        line = {"kind": "step", "step": step, "task": task, "probability": mixture[task], "round": None}
        log.write({**line, "loss": loss, "value": None, "n": 1, "ids": [0]})
    log.close()
    if finished:
        found = {"average": score, "tasks": {}}
        best = {"step": steps, "dev": found, "test": found}
        write_json(folder / SUMMARY, {"steps": steps, "best": best, "updates": {}, "cost": {}, "seconds": 1.0})
    return Run(folder)


def section_of(runs):
    return shown(log_section, *runs)


def rows_of(section):
    """The rows of all tables as lists of texts."""
    found = re.findall(r"<tr>(.*?)</tr>", section)
    return [[re.sub(r"<[^>]+>", " ", cell).split() for cell in re.findall(r"<t[hd].*?</t[hd]>", row)] for row in found]


def test_mixtures_stand_beside_the_sizes_and_estimates_beside_what_came_of_them(tmp_path):
    mixture = {"left": 0.8, "right": 0.2}
    even = {"left": 0.5, "right": 0.5}
    log = make_run(tmp_path / "u", "uniform", even, score=0.5)
    run = make_run(tmp_path / "m", "fixed", mixture, score=0.625)
    rows = rows_of(section_of([log, run]))
    left = next(row for row in rows if row[0] == ["left"])
    assert left[1:4] == [["300"], ["0.750"], ["0.800"]]
    right = next(row for row in rows if row[0] == ["right"])
    assert float(left[4][0]) > float(right[4][0]) + 0.05  # one has more to learn from further visits
    found = next(row for row in rows if row[0] == ["fixed"])
    estimate = value(log.folder, mixture)
    low, high = estimate.interval()
    assert found[2] == [f"{estimate.value:.3f}", f"{low:.3f}", "to", f"{high:.3f}"]
    assert found[3] == [f"{estimate.effective_sample_size:,.0f}"]
    assert float(found[4][0]) == pytest.approx(value(run.folder, mixture).value, abs=0.02)
    assert found[5:] == [["50.0"], ["62.5"]]


def test_a_run_is_judged_by_its_own_inner_run(tmp_path):
    even = {"left": 0.5, "right": 0.5}
    other = make_run(tmp_path / "u", "uniform", even, seed=0)
    run = make_run(tmp_path / "c", "counterfactual", {"left": 0.7, "right": 0.3}, seed=0)
    inner = make_run(run.folder / INNER / "log", "uniform", even, seed=5, score=0.25)
    found = next(row for row in rows_of(section_of([other, run])) if row[0] == ["counterfactual"])
    assert found[2][0] == f"{value(inner.folder, run.info['mixture']).value:.3f}"
    assert found[5] == ["25.0"]


def test_nothing_is_said_where_there_is_nothing_to_say(tmp_path):
    even = make_run(tmp_path / "u", "uniform", {"left": 0.5, "right": 0.5})
    sized = make_run(tmp_path / "p", "proportional", {"left": 0.75, "right": 0.25})
    learner = make_run(tmp_path / "e", "exp3s", {"left": 0.6, "right": 0.4}, policy="Exp3S")
    assert section_of([even, sized, learner]) == ""
    # Without a log there are shares, but no estimates; a log of other seeds is not one of its own.
    alone = make_run(tmp_path / "m", "fixed", {"left": 0.6, "right": 0.4}, seed=3)
    section = section_of([even, alone])
    assert "0.600" in section
    assert "estimated" not in section
