"""What the documents show works."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rota
from rota.methods import METHODS
from rota.policies import Policy
from rota.testing import check_policy

ROOT = Path(__file__).parent.parent


def blocks(name: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / name).read_text(), re.DOTALL)


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
    for page in ("README.md", "docs/find-it-by-paper.md", "docs/design.md"):
        for name in re.findall(r"`rota\.([A-Za-z_.]+)`", (ROOT / page).read_text()):
            room, _, rest = name.partition(".")
            home = rota if hasattr(rota, room) and not rest else importlib.import_module(f"rota.{room}")
            assert hasattr(home, rest or room) or not rest, f"{page}: rota.{name}"


def test_links_in_the_documents_lead_somewhere():
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]:
        for link in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            assert link.startswith("https://") or (page.parent / link).exists(), f"{page.name}: {link}"


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_examples_run_and_run_again(path, tmp_path):
    said = []
    for _ in range(2):
        done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=120, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
    assert said[0] == said[1] != ""


def test_the_readme_shows_lines_of_the_example():
    example = (ROOT / "examples" / "own_model.py").read_text()
    for line in blocks("README.md", "python")[1].splitlines()[:-1]:
        assert line.strip() in example
