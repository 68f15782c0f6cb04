"""Spelling, commands and programs of the documents."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
RUN = {  # pages whose Python is run, and the tests that do
    "README.md": "test_documents.py",
    "docs/adding-a-policy.md": "test_documents.py",
    "docs/plain-loop.md": "test_documents.py",
    "docs/mix.md": "integrations/test_host_docs.py",
    "docs/own-data.md": "integrations/test_host_docs.py",
    **{
        f"docs/how-to/{path.name}": "test_guides.py"
        for path in (ROOT / "docs" / "how-to").glob("*.md")
        if "```python" in path.read_text() and path.stem not in ("other-hardware", "larger-than-one-gpu")
    },
    "docs/tutorials/a-policy-of-your-own.md": "test_guides.py",
    "docs/tutorials/first-comparison.md": "test_guides.py",
    **{f"docs/hosts/{path.name}": "integrations/test_host_docs.py" for path in (ROOT / "docs" / "hosts").glob("*.md")},
}
NOT_RUN = {  # pages whose Python, or some of it, is not, and why
    "CONTRIBUTING.md": "its policy is run by test_documents.py; its section of a report is three lines about runs",
    "docs/active.md": "lines that go into a program of the reader's",
    "docs/autosem.md": "a search of many trainings; examples/search_ratio.py is the program",
    "docs/counterfactual.md": "lines about run folders; examples/better_mixture.py is the program",
    "docs/how-to/larger-than-one-gpu.md": "it is started by torchrun; see tests/training/test_sharded.py",
    "docs/how-to/other-hardware.md": "two lines around a program of the reader's; see tests/training/test_elastic.py",
    "docs/target.md": "lines that go into a program of the reader's; examples/one_target.py is the program",
}


def test_words_are_spelled_as_in_a_dictionary():
    places = [*ROOT.glob("*.md"), ROOT / "docs", ROOT / "src", ROOT / "examples"]
    command = [sys.executable, "-m", "codespell_lib", "--skip", "*.min.js", *map(str, places)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


def test_of_every_program_on_a_page_it_is_known_who_runs_it():
    with_python = {page for page in PAGES if re.search("^```python", (ROOT / page).read_text(), re.MULTILINE)}
    assert with_python == RUN.keys() | NOT_RUN.keys()


@pytest.mark.parametrize("page", RUN)
def test_who_is_said_to_run_a_page_names_it(page):
    tests = (ROOT / "tests" / RUN[page]).read_text()
    assert Path(page).stem in tests or 'DOCS / "hosts" / f"{page}.md"' in tests
