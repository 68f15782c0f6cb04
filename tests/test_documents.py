"""What the documents show works."""

from __future__ import annotations

import importlib
import re
import runpy
import shlex
from pathlib import Path

import numpy as np
import pytest
import torch
import typer

import rota
from rota.cli import app
from rota.feedback import Feedback
from rota.methods import METHODS, option_rows
from rota.policies import Policy
from rota.testing import check_policy

ROOT = Path(__file__).parent.parent


def blocks(name: str, language: str) -> list[str]:
    fenced = re.findall(r"^```(\w*)\n(.*?)^```", (ROOT / name).read_text(), re.DOTALL | re.MULTILINE)
    return [block for own, block in fenced if own == language]


def test_the_loop_is_the_same_in_the_readme_and_in_the_docstring():
    loop = [
        line
        for line in blocks("README.md", "python")[0].splitlines()
        if "Exp3S" in line or line.startswith(("for", " "))
    ]
    docstring = Policy.__doc__ or ""
    assert loop
    for line in loop:
        assert line.strip() in docstring


def test_the_loop_of_the_readme_runs():
    scope = {"train_one_step": lambda task: len(task) / 10}
    exec(blocks("README.md", "python")[0], scope)
    assert np.isclose(scope["policy"].probabilities(0).sum(), 1)


def test_the_policy_of_the_contributing_guide_conforms():
    scope: dict = {"Policy": Policy, "np": np}
    exec(blocks("CONTRIBUTING.md", "python")[0], scope)
    check_policy(lambda tasks: scope["LossChaser"](tasks), updates=500)


def test_every_method_is_found_by_paper():
    page = (ROOT / "docs" / "find-it-by-paper.md").read_text()
    for name in METHODS.keys() - {"fixed"}:
        assert f"`{name}`" in page


def test_names_in_the_documents_exist():
    pages = [
        "find-it-by-paper",
        "design",
        "quickstart",
        "adding-a-policy",
        "plain-loop",
        *(f"methods/{m}" for m in METHODS),
    ]
    for page in ["README.md", *(f"docs/{name}.md" for name in pages)]:
        for name in re.findall(r"`rota\.([A-Za-z_.]+)`", (ROOT / page).read_text()):
            room, _, rest = name.partition(".")
            home = rota if hasattr(rota, room) and not rest else importlib.import_module(f"rota.{room}")
            assert hasattr(home, rest or room) or not rest, f"{page}: rota.{name}"


def test_links_in_the_documents_lead_somewhere():
    wrong = []
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
        for link in re.findall(r"\]\(([^)#]+)\)", prose):
            if not (link.startswith("https://") or (page.parent / link).exists()):
                wrong.append(f"{page.relative_to(ROOT)}: {link}")
    assert not wrong


OPTION_TABLE = runpy.run_path(str(ROOT / "docs" / "tables.py"))["option_table"]
PAGES = {path.stem: path for path in sorted((ROOT / "docs" / "methods").glob("*.md")) if path.stem != "README"}
PARTS = ("Idea", "Formula", "When to use", "Options", "Command", "What our results say", "Source")


def test_every_method_has_a_page_and_every_page_a_method():
    assert set(PAGES) == set(METHODS)
    table = (ROOT / "docs" / "methods" / "README.md").read_text()
    assert all(f"[{name}]({name}.md) | " in table for name in METHODS)


@pytest.mark.parametrize("name", METHODS)
def test_a_page_has_its_parts_and_the_options_of_its_method(name):
    page = PAGES[name].read_text()
    places = [page.find(f"**{part}") for part in PARTS]
    assert -1 not in places
    assert places == sorted(places)
    assert len(page.splitlines()) <= 45
    assert OPTION_TABLE(METHODS[name]) in page, "out of date: python docs/tables.py"
    assert all(row.reason for row in option_rows(METHODS[name].options))


def commands(page: str) -> list[list[str]]:
    """What stands in the fenced blocks of a page and begins with `rota`."""
    lines = [line for block in blocks(page, "") for line in block.splitlines()]
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("rota ")]


@pytest.mark.parametrize("name", METHODS)
def test_the_command_of_a_page_is_a_plan_of_its_method(name, rota_main, monkeypatch):
    planned = []

    def plan_only(plan, folder, **_):
        planned.append(plan)
        raise KeyboardInterrupt

    monkeypatch.setattr("rota.runs.run_plan", plan_only, raising=False)
    own = commands(f"docs/methods/{name}.md")
    assert own
    for command in own:
        _, _, errors = rota_main(*command)
        assert "stopped" in errors, errors
    for plan in planned:
        assert plan.method == name
        METHODS[name].checked(plan.options)  # refuses unknown ones


@pytest.mark.parametrize("page", ["README.md", "docs/quickstart.md", "docs/find-it-by-paper.md"])
def test_commands_of_a_page_have_verbs_and_flags_that_exist(page):
    verbs = typer.main.get_command(app).commands
    for words in commands(page):
        assert words[0] in verbs, words
        known = {flag for option in verbs[words[0]].params for flag in (*option.opts, *option.secondary_opts)}
        flags = {word for word in words if re.match("--?[a-z]", word)}
        assert flags <= known, f"{page}: {' '.join(words)}"


def test_the_tasks_of_the_quickstart_are_those_of_the_example():
    (tasks,) = blocks("docs/quickstart.md", "yaml")
    assert tasks in (ROOT / "examples" / "own_data.py").read_text()


def run_program_of(page):
    """Run the blocks of a page as one program; what its names stand for at the end."""
    generator, names = torch.random.get_rng_state(), {}
    exec(compile("\n".join(blocks(page, "python")), page, "exec"), names)
    torch.random.set_rng_state(generator)
    return names


def test_the_policy_of_the_page_about_policies_follows_losses_and_becomes_a_method(monkeypatch):
    monkeypatch.setattr("rota.methods.METHODS", dict(METHODS))
    names = run_program_of("docs/adding-a-policy.md")
    policy = names["LossChaser"](["easy", "hard"])
    for _ in range(20):
        policy.observe(Feedback("easy", 0.1))
        policy.observe(Feedback("hard", 0.9))
    assert policy.shares(step=0)["hard"] > 0.6
    assert names["again"].state_dict() == names["policy"].state_dict()
    assert names["METHODS"]["loss-chaser"] is names["row"]
    assert "loss-chaser" not in METHODS


def test_the_loop_of_the_page_about_loops_logs_resumes_and_weighs():
    names = run_program_of("docs/plain-loop.md")
    tasks = set(names["tasks"])
    assert len(names["log"]) == 200
    assert {line["task"] for line in names["log"]} == tasks
    assert names["fresh"].state_dict() == names["policy"].state_dict()
    assert sum(names["better"].mixture.values()) == pytest.approx(1)
    assert 0 < names["estimate"].effective_sample_size <= 200
    assert names["survey"].measured.tolist() == [1, 1, 1]
    assert set(names["weights"]) == tasks
    assert sum(names["auto"].losses.visits) == 300
    assert names["auto"].shares(300) != names["auto"].__class__(names["tasks"], sizes=names["sizes"]).shares(0)


def test_the_readme_shows_lines_of_the_example():
    example = (ROOT / "examples" / "own_model.py").read_text()
    trainer, own_model = blocks("README.md", "python")[1:3]
    for line in own_model.splitlines()[:-1]:
        assert line.strip() in example
    assert trainer in (ROOT / "docs" / "hosts" / "trainer.md").read_text()  # where it is run
