"""The site, built once for all tests of it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(Path(__file__).parent))  # for `public_names.py` and `browser.py`


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the built site, and what was said while it was built."""
    copy = tmp_path_factory.mktemp("repository")  # so that processes which test side by side do not meet
    for path in (*ROOT.glob("*.md"), ROOT / "mkdocs.yml"):
        shutil.copy(path, copy)
    for name in ("docs", "src", "examples", "tests/plugin"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    built = subprocess.run([sys.executable, "docs/site.py"], cwd=copy, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    return copy / "build" / "site", built.stdout
