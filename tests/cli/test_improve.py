"""`rota improve` and `rota train --mixture`: from a run to the next one."""

from __future__ import annotations

import json

import pytest

from rota.runlog import Run


@pytest.fixture
def logged(rota_main, tmp_path):
    """A short run with a uniform mixture."""
    flags = ("--tasks", "digits", "--method", "uniform", "--steps", 80, "--quiet")
    code, _, error = rota_main("train", *flags, "--out", tmp_path / "u")
    assert code == 0, error
    return tmp_path / "u"


def test_from_a_run_to_the_next_one(rota_main, logged, tmp_path):
    file = tmp_path / "mixture.json"
    code, said, error = rota_main("improve", logged, "-o", file)
    assert code == 0, error
    assert "learning curves" in said
    assert "effective sample size" in said
    written = json.loads(file.read_text())
    assert sum(written["mixture"].values()) == pytest.approx(1)
    assert written["runs"] == [str(logged)]
    command = ("train", "--tasks", "digits", "--steps", 20, "--mixture", file, "--out", tmp_path / "c", "--quiet")
    code, _, error = rota_main(*command)
    assert code == 0, error
    run = Run(tmp_path / "c")
    assert run.plan["method"] == "fixed"
    assert run.info["mixture"] == pytest.approx(written["mixture"])


def test_a_given_entropy_and_several_runs(rota_main, logged):
    code, said, error = rota_main("improve", logged, logged, "--entropy", "0.5")
    assert code == 0, error
    assert "by CMA-ES with the entropy weighted by 0.5" in said
    assert "150 decisions" in said  # two times 80, less the first visit of each of five tasks


def test_wrong_input_is_refused_with_a_sentence(rota_main, logged, tmp_path):
    for arguments, sentence in [
        (("improve", logged, "--entropy", "much"), "expects 'auto' or a number"),
        (("improve", logged, "--entropy", "-1"), "at least 0"),
        (("improve", logged, "--reward", "herd"), "heard"),
        (("improve", tmp_path / "none"), "Expected a run folder"),
        (("train", "--mixture", tmp_path / "none"), "as `rota improve -o` writes it"),
        (("train", "--mixture", logged / "run.json", "--option", "weights=left=1"), "Found both"),
    ]:
        code, _, error = rota_main(*arguments)
        assert code == 2
        assert sentence in error
