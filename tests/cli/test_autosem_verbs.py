"""`rota select`, `rota search`, `rota autosem`."""

from __future__ import annotations

import json

import pytest

from rota.runlog import Run

TASKS = ["--tasks", "left,right,larger,noise", "--rows", "left=60,right=60,larger=60,noise=60", "--eval-rows", 40]
SHORT = [*TASKS, "--steps", 12, "--eval-every", 6]


def select(rota_main, folder, *flags):
    return rota_main(
        "select", *TASKS, "--target", "left", "--rounds", 8, "--option", "round=2", "--out", folder, *flags
    )


def test_select_then_search(rota_main, tmp_path):
    code, said, _ = select(rota_main, tmp_path / "s")
    assert code == 0
    assert "left (target)" in said
    chosen = json.loads((tmp_path / "s" / "selection.json").read_text())
    assert Run(tmp_path / "s").summary["steps"] == 16
    assert f"Chosen for left: {', '.join(chosen['chosen'][1:])}" in said
    # Asked again, nothing is trained; another rule chooses others.
    before = (tmp_path / "s" / "summary.json").stat().st_mtime_ns
    code, said, _ = select(rota_main, tmp_path / "s", "--top", 1, "--above", 1, "--json")
    assert code == 0
    found = json.loads(said)["chosen"]
    assert found == chosen["chosen"][:2]
    assert (tmp_path / "s" / "summary.json").stat().st_mtime_ns == before

    flags = ["--trials", 3, "--steps", 12, "--eval-every", 6, "--out", tmp_path / "r"]
    code, said, told = rota_main("search", tmp_path / "s", *flags)
    assert code == 0
    assert f"3 ratios of left:{found[1]}" in said
    assert "trial 3 of 3" in told
    trained = sorted(path.name for path in (tmp_path / "r" / "runs").iterdir())
    for name in trained:
        assert set(Run(tmp_path / "r" / "runs" / name).info["tasks"]) == set(found)
    # Started again with more trials, it goes on.
    code, said, _ = rota_main("search", tmp_path / "s", *flags, "--trials", 4, "--json")
    assert code == 0
    assert json.loads(said)["ratio"].keys() == set(found)
    assert set(trained) <= {path.name for path in (tmp_path / "r" / "runs").iterdir()}
    code, said, _ = rota_main("report", tmp_path / "r")
    assert code == 0
    assert (tmp_path / "r" / "report.html").is_file()


def test_shares_instead_of_whole_numbers(rota_main, tmp_path):
    flags = ["--target", "left", "--only", "left,noise", "--simplex", "--trials", 2, "--json"]
    code, said, _ = rota_main("search", *SHORT, *flags, "--out", tmp_path / "r")
    assert code == 0
    assert sum(json.loads(said)["ratio"].values()) == pytest.approx(1)


def test_autosem_says_what_it_chose_and_what_came_of_it(rota_main, tmp_path):
    flags = ["--target", "left", "--trials", 2, "--rounds", 6, "--option", "round=2", "--seeds", "0,1"]
    code, said, _ = rota_main("autosem", *SHORT, *flags, "--out", tmp_path / "a")
    assert code == 0
    for line in ("What was chosen", "autosem", "random ratio", "target alone", "over 2 seeds", "at random"):
        assert line in said
    alone = Run(tmp_path / "a" / "target-alone-1")
    assert alone.summary["updates"] == {"left": 12}
    assert set(Run(tmp_path / "a" / "random-ratio-0").info["tasks"]) == {"left", "right", "larger", "noise"}
    again = rota_main("autosem", *SHORT, *flags, "--out", tmp_path / "a")
    assert again[:2] == (code, said)


def test_autosem_without_its_stages_and_without_baselines(rota_main, tmp_path):
    flags = ["--target", "left", "--trials", 2, "--no-select", "--no-search", "--no-baselines"]
    assert rota_main("autosem", *SHORT, *flags, "--out", tmp_path / "a")[0] == 0
    assert [path.name for path in tmp_path.joinpath("a").iterdir() if path.is_dir()] == ["autosem-0"]
    options = Run(tmp_path / "a" / "autosem-0").plan["options"]
    assert (options["select"], options["sampler"]) == (False, "grid")


def test_autosem_as_printed_has_folders_and_rows_of_its_own(rota_main, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    short = ["--trials", 2, "--rounds", 6, "--option", "round=2", "--option", "initial=1", "--no-baselines"]
    code, said, _ = rota_main("autosem", *SHORT, "--target", "left", "--method", "autosem@paper", *short)
    assert code == 0
    assert "autosem@paper" in said
    run = Run(tmp_path / "runs" / "autosem@paper-left" / "autosem@paper-0")
    assert run.plan["method"] == "autosem@paper"
    assert "seeds" not in run.plan["options"]  # what the preset says
    assert int(run.plan["options"]["trials"]) == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["autosem", "--target", "left", "--method", "autosem@papr"], "Did you mean 'autosem@paper'"),
        (["search", "--target", "left", "--space", "share"], "space"),
        (["select", "--target", "lefd"], "target 'lefd'"),
        (["select", "--target", "left", "--steps", 10], "decides --steps itself"),
        (["select", "--target", "left", "--option", "decai=1"], "decai"),
        (["select", "--target", "left", "--only", "left"], "decides --only"),
        (["select", "--target", "left", "--tasks", "left"], "expects candidates beside the target"),
        (["search"], "expects --target"),
        (["search", "--target", "left", "--tasks", "left"], "two or more different tasks"),
        (["search", "--target", "left", "--primary", "20"], "'primary.1' is missing"),
        (["search", "--target", "left", "--method", "cycle"], "decides --method itself"),
        (["search", "--target", "left", "--storage", "somewhere"], "A storage is"),
        (["search", "nowhere"], "Expected a run folder"),
        (["autosem", "--target", "left", "--seeds", "a"], "whole numbers such as 0,1,2"),
        (["autosem", "--target", "left", "--seeds", ""], "at least one number"),
        (["autosem", "--target", "left", "--seed", 1], "decides --seed itself"),
        (["autosem", "--target", "left", "--option", "trials=0"], "trials"),
    ],
)
def test_wrong_input_gets_a_sentence(rota_main, tmp_path, arguments, said):
    verb, *rest = arguments
    code, _, told = rota_main(verb, *rest, "--out", tmp_path / "r")
    assert code == 2
    assert said in told
    assert "Traceback" not in told


def test_a_folder_that_is_no_selection_is_refused(rota_main, tmp_path):
    assert rota_main("train", *SHORT, "--out", tmp_path / "t", "-q")[0] == 0
    code, _, told = rota_main("search", tmp_path / "t", "--out", tmp_path / "r")
    assert code == 2
    assert "Expected a finished folder of `rota select`" in told


def test_a_run_that_dies_in_its_own_training_goes_on_although_its_search_is_over(rota_main, tmp_path):
    options = [f"--option={one}" for one in ("rounds=4", "round=2", "trials=2", "trial_steps=6", "pruning=false")]
    flags = ["--tasks", "left,right", "--rows", "left=48,right=40", "--target", "left", "--steps", 12, "-q", *options]
    code, _, said = rota_main("train", "--method", "autosem", *flags, "--out", tmp_path / "r")
    assert code == 0, said
    log = (tmp_path / "r" / "log.jsonl").read_bytes()
    (tmp_path / "r" / "summary.json").unlink()
    code, _, said = rota_main("train", "--resume", tmp_path / "r", "-q")
    assert code == 0, said
    assert (tmp_path / "r" / "log.jsonl").read_bytes() == log
