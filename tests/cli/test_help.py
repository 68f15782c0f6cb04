"""What `--help` and `--help-all` show, and that a flag is known whichever of them shows it."""

from __future__ import annotations

import re

import pytest
from run_tools import rota

from rota.plans import Plan

WITH_PLANS = ["train", "compare", "select", "search", "autosem", "adapt"]
NEWCOMERS = ["--tasks", "--data", "--method", "--option", "--steps", "--batch-size", "--lr", "--seed", "--model"]


def flags_in(text):
    """Flags that have a line of their own; in the text around them they may be only mentioned."""
    return {flag for line in text.splitlines() if "│" in line for flag in re.findall(r"--[a-z][a-z-]+", line)[:1]}


def shown(*arguments):
    done = rota(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_help_of_train_fits_on_a_screen_and_has_what_a_newcomer_needs(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = shown("train", "--help")
    assert len(text.splitlines()) <= 40
    assert {*NEWCOMERS, "--out", "--resume", "--help-all"} <= flags_in(text)
    assert "rota train --help-all" in text
    assert text == shown("train", "-h")


@pytest.mark.parametrize("verb", WITH_PLANS)
def test_the_help_of_every_verb_fits_on_a_screen(verb, rota_main, monkeypatch):
    monkeypatch.setattr("typer.rich_utils.MAX_WIDTH", 80)
    assert len(rota_main(verb, "--help")[1].splitlines()) <= 40


@pytest.mark.parametrize("verb", WITH_PLANS)
def test_a_verb_with_all_flags_of_a_plan_shows_few_of_them_unless_asked(verb, rota_main):
    code, few, _ = rota_main(verb, "--help")
    assert code == 0
    code, every, _ = rota_main(verb, "--help-all")
    assert code == 0
    assert flags_in(few) < flags_in(every)
    assert len(flags_in(few)) < 20
    fields = {f"--{'option' if name == 'options' else name.replace('_', '-')}" for name in Plan.model_fields}
    assert fields <= flags_in(every)
    assert f"{len(flags_in(every)) - len(flags_in(few))} more flags, by groups: rota {verb} --help-all" in few
    assert "The run" in every
    assert rota_main(verb, "--help")[1] == few  # asking for everything has changed nothing


def test_flags_that_a_verb_decides_itself_are_not_offered_to_newcomers(rota_main):
    assert not {"--method", "--steps"} & flags_in(rota_main("select", "--help")[1])
    assert not {"--method", "--seed"} & flags_in(rota_main("compare", "--help")[1])


def test_a_flag_that_only_the_whole_help_shows_is_known(rota_main, tmp_path):
    assert "--weight-decay" not in rota_main("train", "--help")[1]
    flags = ["--weight-decay", 0.5, "--steps", 2, "--tasks", "left", "--rows", "left=40", "-q", "--out", tmp_path / "r"]
    assert rota_main("train", *flags)[0] == 0


def test_verbs_with_few_flags_have_one_help(rota_main):
    assert "--help-all" not in rota_main("demo", "--help")[1]
    assert rota_main("demo", "--help-all")[0] == 2
