"""What is published: the wheel works by itself, the papers around it agree, and the promises of SECURITY.md hold."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

import rota

ROOT = Path(__file__).parent.parent
SOURCE = Path(rota.__file__).parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    done = subprocess.run(
        [*command, "--disable-pip-version-check", "--wheel-dir", folder, ROOT], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    (found,) = folder.glob("*.whl")
    return found


def test_everything_is_in_the_wheel(wheel):
    inside = set(zipfile.ZipFile(wheel).namelist())
    there = {path for path in SOURCE.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    packed = {name for name in inside if name.startswith("rota/")}
    assert packed == {f"rota/{path.relative_to(SOURCE).as_posix()}" for path in there}
    assert "rota/py.typed" in packed
    assert f"rota-{rota.__version__}.dist-info/licenses/LICENSE" in inside


def needed(names):
    """The packages that these need, and what those need, without extras."""
    found = set()
    waiting = list(names)
    while waiting:
        requirement = Requirement(waiting.pop())
        wanted = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if wanted and requirement.name not in found:
            found.add(requirement.name)
            waiting += distribution(requirement.name).requires or []
    return found


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """A fresh environment with the wheel and what it needs without extras: what `pip install rota` makes."""
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder, with_pip=False)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    zipfile.ZipFile(wheel).extractall(site)
    metadata = (site / f"rota-{rota.__version__}.dist-info" / "METADATA").read_text()
    for name in needed(re.findall(r"^Requires-Dist: (.*)$", metadata, re.MULTILINE)):
        own = distribution(name)
        for part in {file.parts[0] for file in own.files or () if file.parts[0] != ".."} - {"__pycache__"}:
            (site / part).symlink_to(Path(own.locate_file(part)).resolve())

    def run(code):
        return subprocess.run([folder / "bin" / "python", "-c", code], capture_output=True, text=True, cwd=folder)

    return run


def test_the_wheel_alone_decides(python):
    done = python(
        "import numpy, rota; policy = rota.Exp3S(['a', 'b']); choice = policy.choose(0, numpy.random.default_rng(0)); "
        "policy.observe(choice.scored(0.5)); print(rota.__version__, rota.__file__, choice.probability)"
    )
    assert done.returncode == 0, done.stderr
    version, file, probability = done.stdout.split()
    assert (version, probability) == (rota.__version__, "0.5")
    assert not Path(file).is_relative_to(ROOT)


def test_the_wheel_alone_says_what_training_needs(python):
    done = python("import rota; rota.fit")
    last = done.stderr.splitlines()[-1]
    assert last.endswith("`rota.fit` needs the package torch. Install it: pip install 'rota[train]'.")


def test_all_papers_name_one_version():
    changes = (ROOT / "CHANGELOG.md").read_text()
    unreleased, version, date = (
        re.findall(r"^## (\S+)(?: - \S+)?$", changes, re.MULTILINE)[:2]
        + re.findall(r"^## \S+ - (\S+)$", changes, re.MULTILINE)[:1]
    )
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert unreleased == "Unreleased"
    assert version == rota.__version__ == citation["version"]
    assert date == str(citation["date-released"])
    assert f"| {version.rpartition('.')[0]} | yes |" in (ROOT / "SECURITY.md").read_text()


def test_the_oldest_versions_are_the_lower_bounds():
    command = [sys.executable, ROOT / "scripts" / "test-versions", "--constraints"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said == (ROOT / "constraints-oldest.txt").read_text()


@pytest.mark.parametrize(
    "form", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")), ids=lambda path: path.stem
)
def test_forms_for_issues_have_what_a_form_needs(form):
    content = yaml.safe_load(form.read_text())
    if form.stem == "config":
        assert set(content) <= {"blank_issues_enabled", "contact_links"}
        return
    assert {"name", "description", "body"} <= set(content)
    asked = [part["id"] for part in content["body"] if part["type"] != "markdown"]
    assert len(asked) == len(set(asked)) > 0


def refused(node):
    """What SECURITY.md promises never to do, if this node does it."""
    names = {alias.name for alias in node.names} if isinstance(node, ast.Import) else set()
    names |= {node.module} if isinstance(node, ast.ImportFrom) else set()
    found = sorted(names & {"pickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"})
    if isinstance(node, ast.Call):
        called = ast.unparse(node.func)
        unsafe = called in (
            "torch.load",
            "torch.save",
            "yaml.load",
            "yaml.full_load",
            "yaml.unsafe_load",
            "eval",
            "exec",
        )
        found += [called] * unsafe
        wanted = [word for word in node.keywords if word.arg in ("trust_remote_code", "allow_pickle")]
        found += [
            str(word.arg) for word in wanted if not (isinstance(word.value, ast.Constant) and not word.value.value)
        ]
    return found


@pytest.mark.parametrize(
    "code", ["import pickle", "torch.load(f)", "yaml.load(f)", "AutoModel.from_pretrained(x, trust_remote_code=True)"]
)
def test_a_broken_promise_would_be_seen(code):
    assert [word for node in ast.walk(ast.parse(code)) for word in refused(node)]


def test_nothing_that_can_execute_code_is_read_or_written():
    broken = {
        path.relative_to(SOURCE).as_posix(): words
        for path in SOURCE.rglob("*.py")
        if (words := [word for node in ast.walk(ast.parse(path.read_text())) for word in refused(node)])
    }
    assert broken == {}
