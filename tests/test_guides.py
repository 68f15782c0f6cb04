"""The how-to pages and tutorials run as they stand, and fit on a page."""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
import typer
from document_tools import blocks, commands

import rota
from rota.cli import app
from rota.runlog import Run
from rota.workers import read_place

DOCS = Path(__file__).parent.parent / "docs"
GUIDES = sorted([*DOCS.glob("how-to/*.md"), *DOCS.glob("tutorials/*.md")])
PROGRAMS = {
    "sizes-differ": ["size^0.5 {'mnli': '67.0%', 'sst2': '27.7%', 'rte': '5.3%'}"],
    "one-target": ["0."],
    "how-many-seeds": ["+0.009 [-0.001, +0.019], seeds needed: 4"],
    "which-trainer": ["'sst2': 0.838"],
}
"""Pages whose programs need nothing, and what these print."""


def name_of(page: Path) -> str:
    return page.stem


def run(page: Path, scope: dict | None = None) -> dict:
    generator, names = torch.random.get_rng_state(), {"__name__": page.stem, **(scope or {})}
    exec(compile("\n".join(blocks(page, "python")), str(page), "exec"), names)
    torch.random.set_rng_state(generator)
    return names


@pytest.mark.parametrize("page", [*GUIDES, DOCS / "glossary.md"], ids=name_of)
def test_a_guide_fits_on_a_page(page):
    assert len(page.read_text().splitlines()) <= 80


@pytest.mark.parametrize("page", GUIDES, ids=name_of)
def test_commands_of_a_guide_have_verbs_and_flags_that_exist(page):
    verbs = typer.main.get_command(app).commands
    for words in commands(page):
        known = {flag for option in verbs[words[0]].params for flag in (*option.opts, *option.secondary_opts)}
        assert {word for word in words if re.match("--?[a-z]", word)} <= known, words


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_of_a_guide_prints_what_the_page_says(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run(DOCS / "how-to" / f"{name}.md")
    printed = capsys.readouterr().out
    assert all(text in printed for text in PROGRAMS[name]), printed


def test_another_mixture_is_evaluated_from_a_log(tmp_path, monkeypatch, rota_main):
    monkeypatch.chdir(tmp_path)
    page = DOCS / "how-to" / "evaluate-another-mixture.md"
    for words in commands(page):
        code, _, errors = rota_main(*words)
        assert code == 0, errors
    names = run(page)
    assert names["even"].effective_sample_size > names["asked"].effective_sample_size > 100
    assert set(names["better"].mixture) == set(names["tasks"])
    assert Run(tmp_path / "runs" / "next").finished


def test_a_language_model_is_trained_on_named_sources(tmp_path, monkeypatch):
    pytest.importorskip("trl")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "integrations"))
    from hosts import arguments, language_model, sources, texts, tokenizer
    from trl import SFTConfig

    def collate(rows):
        return {"rows": rows}

    def train_on(batch):
        return {name: 0.5 for name in sources() if set(map(str, batch["rows"])) & set(map(str, sources()[name]))}

    options = {**arguments(tmp_path, 0, 1), "max_steps": 4, "save_strategy": "no"}
    scope = {"args": SFTConfig(**options, bf16=False), "model": language_model(), "tokenizer": tokenizer()}
    names = run(
        DOCS / "how-to" / "llm-many-sources.md",
        {**scope, "named": texts(), "tokenised": sources(), "collate": collate, "train_on": train_on},
    )
    assert names["trainer"].mix.updates == 4
    assert names["mix"].updates == 20
    assert all((tmp_path / "runs" / own / "log.jsonl").stat().st_size > 0 for own in ("sft", "loop"))


def test_the_policy_of_the_tutorial_is_simulated_and_trained(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = run(DOCS / "tutorials" / "a-policy-of-your-own.md")
    assert len(names["gains"]) == 5
    assert set(names["scores"]["own"]) == {0, 1, 2}
    assert names["run"].summary["updates"]["noise"] > 0.35 * 200  # the weakness that the page tells of


def test_the_tables_of_the_first_comparison_are_tasks(tmp_path, monkeypatch, rota_main):
    monkeypatch.chdir(tmp_path)
    page = DOCS / "tutorials" / "first-comparison.md"
    run(page)
    for words in commands(page):
        if "--tasks" in words:
            code, out, errors = rota_main(*words, "--dry-run")
            assert code == 0, errors
            assert "Nothing was trained" in out


@pytest.mark.slow
def test_the_first_comparison_runs_as_it_stands(tmp_path, monkeypatch, rota_main):
    monkeypatch.chdir(tmp_path)
    page = DOCS / "tutorials" / "first-comparison.md"
    run(page)
    said = []
    for words in commands(page):
        code, out, errors = rota_main(*words)
        assert code == 0, errors
        said.append(out)
    assert '"label": "room"' in said[1]
    assert "auto" in said[2]
    assert (tmp_path / "runs" / "report.html").is_file()


def submitted(folder: Path, **names: str) -> subprocess.Popen:
    """The batch script of the page, as a cluster starts it; `scontrol`, which only a cluster has, notes its call."""
    tools = folder / "bin"
    if not tools.exists():  # another job may be starting them
        tools.mkdir()
        (tools / "scontrol").write_text(f'#!/bin/sh\necho "$@" >> {folder}/requeued\n')
        (tools / "scontrol").chmod(0o755)
        (tools / "rota").write_text(f'#!/bin/sh\nexec {sys.executable} -m rota "$@"\n')
        (tools / "rota").chmod(0o755)
    path = f"{tools}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "SLURM_JOB_ID": "7", "OMP_NUM_THREADS": "1", **names}
    return subprocess.Popen(["bash", "job.sh"], cwd=folder, env=environment)


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_the_batch_script_is_stopped_requeued_and_ends_with_the_same_log(tmp_path):
    page = DOCS / "how-to" / "resume-on-slurm.md"
    (script,), (plan,) = blocks(page, "bash"), blocks(page, "yaml")
    (tmp_path / "job.sh").write_text(script)
    (tmp_path / "plan.yaml").write_text(plan.replace("steps: 3000", "steps: 1200"))

    job = submitted(tmp_path, OUT="runs/stopped")
    run_folder = tmp_path / "runs" / "stopped"
    while not list(run_folder.glob("checkpoints/*")) and job.poll() is None:
        time.sleep(0.02)
    job.send_signal(signal.SIGTERM)
    assert job.wait() == 0
    assert (tmp_path / "requeued").read_text() == "requeue 7\n"
    assert not Run(run_folder).finished

    assert submitted(tmp_path, OUT="runs/stopped").wait() == 0
    assert submitted(tmp_path, OUT="runs/stopped").wait() == 0  # once too often is harmless
    assert submitted(tmp_path, OUT="runs/whole").wait() == 0
    assert (run_folder / "log.jsonl").read_bytes() == (tmp_path / "runs" / "whole" / "log.jsonl").read_bytes()


def test_tasks_come_and_go_in_a_program(tmp_path, monkeypatch):
    """The page is written for one's own model and tasks; here are some."""
    from fit_tools import make_model, make_tasks

    from rota.policies import Exp3S
    from rota.settings import Settings
    from rota.training import Checkpoints, fit

    monkeypatch.chdir(tmp_path)
    tasks = [
        dataclasses.replace(task, name=name) for task, name in zip(make_tasks(), ("rte", "mrpc", "wnli"), strict=True)
    ]
    settings, folder = Settings(steps=20, batch_size=4, checkpoint_every=10, eval_every=10), tmp_path / "run"
    with monkeypatch.context() as patch:
        save = Checkpoints.save

        def saved(*arguments, **options):
            save(*arguments, **options)
            raise KeyboardInterrupt

        patch.setattr(Checkpoints, "save", saved)
        with pytest.raises(KeyboardInterrupt):
            fit(make_model(tasks[:2]), tasks[:2], Exp3S(["rte", "mrpc"]), folder, settings, progress=False)
    others = [tasks[0], tasks[2]]
    given = {"model": make_model(others), "tasks": others, "folder": folder, "settings": settings}
    names = run(
        DOCS / "how-to" / "tasks-come-and-go.md",
        {"rota": rota, **given, "rte": range(50), "mrpc": range(30), "wnli": range(20)},
    )
    assert Run(folder).task_changes[0]["added"] == ["wnli"]
    assert Run(folder).finished
    names["mix"].close()
    assert set(names["mix"].shares()) == {"rte", "wnli"}


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_the_jobs_of_an_array_train_one_run_each_and_one_command_makes_the_table(tmp_path, monkeypatch, rota_main):
    page = DOCS / "how-to" / "many-machines.md"
    (script,), (plan,) = blocks(page, "bash"), blocks(page, "yaml")
    (tmp_path / "job.sh").write_text(script)
    (tmp_path / "table.yaml").write_text(plan)
    first, last = map(int, re.search(r"--array=(\d+)-(\d+)", script).groups())
    jobs = [submitted(tmp_path, SLURM_ARRAY_TASK_ID=str(number)) for number in range(first, last + 1)]
    assert [job.wait() for job in jobs] == [0, 0]
    monkeypatch.chdir(tmp_path)
    code, out, errors = rota_main("compare", "table.yaml")
    assert (code, out.count("kept")) == (0, 2), errors


def test_the_places_of_a_guide_are_places():
    places = [
        read_place(words[words.index("--on") + 1])
        for page in [DOCS / "how-to" / "many-machines.md", DOCS / "comparing.md"]
        for words in commands(page)
        if "--on" in words
    ]
    assert {place.name for place in places} == {"ray", "slurm"}
