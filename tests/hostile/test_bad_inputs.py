"""Hundreds of bad inputs: one sentence each, no traceback, nothing hangs, and no file outside of `--out`."""

from __future__ import annotations

import os
import signal
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))
from bad_inputs import EITHER, NAMED, REFUSED, all_cases

CASES = all_cases()
SAMPLE = {case.name for case in CASES[::8]}
SECONDS = 60  # a case takes a few milliseconds; one that takes so long hangs


def test_there_are_enough_of_them():
    assert len(CASES) >= 600


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A finished run."""
    from rota.plans import make_plan
    from rota.runs import run_plan

    folder = tmp_path_factory.mktemp("good")
    fields = {"tasks": ["digits"], "only": ["left", "right"], "steps": 4, "eval_every": 2, "method": "uniform"}
    run_plan(make_plan(fields), folder / "run", progress=False)
    return folder


def tree(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if "__pycache__" not in path.parts}


def hung(*_):
    raise AssertionError(f"still at it after {SECONDS} s")


@pytest.mark.parametrize(
    "case", [pytest.param(c, id=c.name, marks=() if c.name in SAMPLE else pytest.mark.slow) for c in CASES]
)
def test_a_bad_input_is_refused_with_one_sentence(case, good, tmp_path, monkeypatch, rota_main):
    place = tmp_path / "a" / "b" / "here"  # so that `..` stays inside of what is looked at
    place.mkdir(parents=True)
    monkeypatch.chdir(place)
    monkeypatch.setenv("ROTA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    arguments = case.make(place, good)
    before = tree(tmp_path), tree(good)
    usual = signal.signal(signal.SIGALRM, hung)
    signal.alarm(SECONDS)
    try:
        code, out, err = rota_main(*arguments)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, usual)
    assert "Traceback" not in out + err
    made = {name for name in tree(tmp_path) - before[0] if not name.startswith("cache")}
    kept = ("a/b/here/out", "a/b/here/runs")
    assert all(name.startswith(kept) for name in made), made
    assert tree(good) == before[1]
    said = [line for line in err.splitlines() if line.strip()]
    if case.ends == REFUSED or (case.ends == EITHER and code):
        assert code == 2, (code, out, err)
        assert all(": reading " in line for line in said[:-1]), err  # how far it came
        assert said[-1].startswith("rota: "), err
        assert len(said[-1]) < 6000, f"{len(said[-1])} characters are no sentence"
        assert made <= {"a/b/here/runs"}, made
    elif case.ends == NAMED:
        assert code == 0, (code, out, err)
        assert "broken" in err, err
        assert "left out" in err
        assert "a/b/here/out.html" in made
    else:
        assert code == 0
