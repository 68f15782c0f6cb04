"""What the documents show works."""

from __future__ import annotations

import importlib.util
import re
import runpy
from pathlib import Path

import pytest
import torch
import typer
from document_tools import blocks, commands

from rota.cli import app
from rota.feedback import Feedback
from rota.methods import METHODS, option_rows
from rota.policies import Policy

ROOT = Path(__file__).parent.parent


README_TRAINER, README_LOOP = blocks(ROOT / "README.md", "python")


def test_the_loop_of_the_readme_is_that_of_the_docstring():
    for line in ("choice = policy.choose(step, rng)", "policy.observe(choice.scored("):
        assert line in README_LOOP
        assert line in (Policy.__doc__ or "")


def test_the_numbers_of_the_front_page_are_those_of_the_results():
    front_page = runpy.run_path(str(ROOT / "docs" / "front_page.py"))
    readme = (ROOT / "README.md").read_text()
    assert all(f"<!-- /{block} -->" in readme for block in front_page["BLOCKS"])
    assert front_page["written"](readme) == readme, "out of date: python docs/front_page.py"


def test_every_interval_on_the_front_page_is_made_from_a_results_file():
    by_hand = re.sub(r"<!-- (\w+): .*?<!-- /\1 -->", "", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    assert not re.search(r"\[−?\d+\.\d, −?\d+\.\d\]", by_hand)


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
        "glossary",
        *(
            f"{path.parent.name}/{path.stem}"
            for kind in ("how-to", "tutorials")
            for path in ROOT.glob(f"docs/{kind}/*.md")
        ),
        *(f"methods/{m}" for m in METHODS),
    ]
    for page in ["README.md", *(f"docs/{name}.md" for name in pages)]:
        for name in re.findall(r"`rota\.([A-Za-z_.]+)`", (ROOT / page).read_text()):
            module, _, last = f"rota.{name}".rpartition(".")
            found = hasattr(importlib.import_module(module), last) or importlib.util.find_spec(f"rota.{name}")
            assert found, f"{page}: rota.{name}"


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
    beside_the_table = [line for line in page.splitlines() if not line.startswith("|")]
    assert len(page.splitlines()) <= 45 or len(beside_the_table) <= 28
    assert OPTION_TABLE(METHODS[name]) in page, "out of date: python docs/tables.py"
    assert all(row.reason for row in option_rows(METHODS[name].options))


ALL_PAGES = sorted(str(path.relative_to(ROOT)) for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


@pytest.mark.parametrize("name", METHODS)
def test_the_command_of_a_page_is_a_plan_of_its_method(name, rota_main, monkeypatch):
    planned = []

    def plan_only(plan, folder, **_):
        planned.append(plan)
        raise KeyboardInterrupt

    monkeypatch.setattr("rota.runs.run_plan", plan_only, raising=False)
    own = commands(ROOT / f"docs/methods/{name}.md")
    assert own
    for command in own:
        _, _, errors = rota_main(*command)
        assert "stopped" in errors, errors
    for plan in planned:
        assert plan.method == name
        METHODS[name].checked(plan.options)  # refuses unknown ones


@pytest.mark.parametrize("page", ALL_PAGES)
def test_commands_of_a_page_have_verbs_and_flags_that_exist(page):
    verbs = typer.main.get_command(app).commands
    for words in commands(ROOT / page):
        assert words[0] in verbs, words
        known = {flag for option in verbs[words[0]].params for flag in (*option.opts, *option.secondary_opts)}
        flags = {word for word in words if re.match("--?[a-z]", word)}
        assert flags <= known, f"{page}: {' '.join(words)}"


def test_the_tasks_of_the_quickstart_are_those_of_the_example():
    (tasks,) = blocks(ROOT / "docs/quickstart.md", "yaml")
    assert tasks in (ROOT / "examples" / "own_data.py").read_text()


def run_program_of(page, *earlier):
    """Run the blocks of a page as one program, after blocks of pages that it continues; its names at the end."""
    generator, names = torch.random.get_rng_state(), {}
    code = [*earlier, *blocks(ROOT / page, "python")]
    exec(compile("\n".join(code), page, "exec"), names)
    torch.random.set_rng_state(generator)
    return names


def test_the_policy_of_the_page_about_policies_follows_losses_and_becomes_a_method(monkeypatch):
    monkeypatch.setattr("rota.methods.METHODS", dict(METHODS))
    tutorial = blocks(ROOT / "docs/tutorials/a-policy-of-your-own.md", "python")[0]
    names = run_program_of("docs/adding-a-policy.md", tutorial)
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


def test_the_trainer_of_the_readme_is_that_of_its_page():
    assert README_TRAINER in (ROOT / "docs" / "hosts" / "trainer.md").read_text()  # where it is run
