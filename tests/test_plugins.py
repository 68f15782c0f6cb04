"""What other packages add is found, imported when asked for, and left out with a sentence where it is broken."""

from __future__ import annotations

import json
import os
import site
import subprocess
import sys
import sysconfig
import venv
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import rota
from rota.errors import RotaError
from rota.methods import METHODS, Method, Options, Recipe, RunContext
from rota.plugins import PluginTable, PluginWarning

PLUGIN = Path(__file__).parent / "plugin"


@pytest.fixture(scope="module")
def weather(tmp_path_factory):
    """A temporary environment with a package of somebody else's, which sees this one's packages; runs `rota` in it."""
    folder = tmp_path_factory.mktemp("plugin")
    venv.create(folder / "env", with_pip=False)
    python = folder / "env" / "bin" / "python"
    home = sysconfig.get_path("purelib", vars={"base": str(folder / "env"), "platbase": str(folder / "env")})
    seen = [*site.getsitepackages(), str(Path(rota.__file__).parents[1])]
    (Path(home) / "seen.pth").write_text("\n".join(seen))
    command = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps"]
    command += ["--no-build-isolation", "--disable-pip-version-check", PLUGIN]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

    def run(*arguments):
        words = [python, "-m", "rota", *map(str, arguments)]
        environment = {**os.environ, "COLUMNS": "200"}
        return subprocess.run(words, capture_output=True, text=True, cwd=folder, env=environment)

    return run


def test_the_package_is_small():
    lines = [line for path in PLUGIN.iterdir() if path.is_file() for line in path.read_text().splitlines()]
    assert len(lines) <= 60


def test_a_package_that_we_have_never_seen_is_used_from_the_command_line(weather, tmp_path):
    quick = ["--tasks", "weather,left", "--rows", "left=40", "--steps", 12, "--eval-every", 6, "-q"]
    for method, option in (("chaser", "gamma=0.5"), ("windy", "power=1")):
        done = weather("train", *quick, "--method", method, "--option", option, "--out", tmp_path / method)
        assert done.returncode == 0, done.stderr
        info = json.loads((tmp_path / method / "run.json").read_text())
        assert list(info["tasks"]) == ["rain", "sun", "left"]
    assert json.loads((tmp_path / "chaser" / "run.json").read_text())["listen"][0]["says"] == "loss"
    assert info["stream"] == "JointStream"
    done = weather("train", *quick[:1], "rain,right", *quick[2:3], "right=40", *quick[4:], "--out", tmp_path / "one")
    assert done.returncode == 0, done.stderr  # one task of its suite by name
    listed = weather("methods").stdout
    assert "chaser" in listed
    assert "all tasks in every step, by a power of their sizes" in listed
    assert "gamma" in weather("methods", "chaser").stdout
    assert "rain and sun, in grey pictures" in weather("tasks").stdout
    assert weather("report", tmp_path, "-o", tmp_path / "page.html").returncode == 0
    page = (tmp_path / "page.html").read_text()
    assert "<h2>Forecast</h2>" in page
    assert "3 run(s) &lt;b&gt;tomorrow&lt;/b&gt;." in page


# Tables


class Distribution:
    """A package that is installed."""

    def __init__(self, name):
        self.name = name


def entry(name, value, group="rota.things", package="theirs"):
    return EntryPoint(name, value, group)._for(Distribution(package))


@pytest.fixture
def installed(monkeypatch):
    """Pretend that these entry points are there; returns a table of them beside one thing of our own."""

    def make(*entries, read=lambda name, found: found):
        monkeypatch.setattr("rota.plugins.entry_points", lambda group: [e for e in entries if e.group == group])
        return PluginTable({"ours": 1}, {"rota.things": read})

    return make


def test_nothing_is_imported_before_it_is_asked_for(installed):
    table = installed(entry("theirs", "no_such_package:thing"), entry("pi", "math:pi"))
    assert table["ours"] == 1
    assert "theirs" in table
    assert "nobody" not in table
    assert dict(table.loaded) == {"ours": 1}
    assert table["pi"] == pytest.approx(3.14159, abs=1e-5)


def test_a_broken_plug_in_is_named_once_and_left_out(installed):
    table = installed(entry("theirs", "no_such_package:thing"), entry("pi", "math:pi"))
    with pytest.warns(PluginWarning) as told:
        assert list(table) == ["ours", "pi"]
    assert [str(one.message) for one in told] == [
        "The plug-in 'theirs' of package theirs (rota.things) is left out: ModuleNotFoundError: No module named "
        "'no_such_package'."
    ]
    assert "theirs" not in table
    assert len(table) == 2
    with pytest.raises(KeyError):
        _ = table["theirs"]


def test_names_that_are_taken_are_named_and_left_out(installed):
    table = installed(
        entry("ours", "math:pi"), entry("e", "math:e", package="first"), entry("e", "math:tau", package="second")
    )
    with pytest.warns(PluginWarning) as told:
        assert sorted(table) == ["e", "ours"]
    said = [str(one.message) for one in told]
    assert said[0].endswith(
        "'e' of package second (rota.things) is left out: package first has something called 'e', too."
    )
    assert said[1].endswith("is left out: rota itself has something called 'ours'.")
    assert table["ours"] == 1
    assert table["e"] == pytest.approx(2.71828, abs=1e-5)


def test_what_is_not_meant_is_refused_by_whoever_reads_it(installed):
    def read(name, found):
        if isinstance(found, str):
            raise RotaError("expected a number, found a text")
        return None if found is True else found

    table = installed(entry("text", "string:digits"), entry("other", "typing:TYPE_CHECKING"), read=read)
    with pytest.warns(PluginWarning, match="'text' .* is left out: expected a number, found a text"):
        assert dict(table) == {"ours": 1, "other": False}
    table["more"] = 2
    assert table["more"] == 2
    del table["more"]
    assert "more" not in table


def test_a_policy_becomes_a_method_whose_options_are_its_arguments(monkeypatch):
    monkeypatch.setattr(
        "rota.plugins.entry_points",
        lambda group: [entry("greedy", "rota.policies:Exp3S", group)] if group == "rota.policies" else [],
    )
    table = PluginTable(METHODS.loaded, METHODS._readers)
    method = table["greedy"]
    assert set(method.options.model_fields) == {"eta", "epsilon", "importance", "alpha", "reservoir", "prior"}
    recipe = method.make({"eta": 0.5}, RunContext({"a": 1, "b": 2}, {"a": 1, "b": 2}, 10, seed=3))
    assert (recipe.policy.eta, recipe.policy.tasks, recipe.listen) == (0.5, ("a", "b"), None)
    assert method.summary.startswith("Prefers tasks whose batches bring the largest gain")


@pytest.mark.parametrize(
    ("group", "value", "sentence"),
    [
        ("rota.policies", "math:pi", "expected a policy, found 3.14"),
        ("rota.policies", "rota.runlog:Run", "expected a policy, found <class"),
        ("rota.methods", "math:pi", "expected a rota.methods.Method, found 3.14"),
    ],
)
def test_what_is_no_policy_or_method_is_left_out(monkeypatch, group, value, sentence):
    monkeypatch.setattr(
        "rota.plugins.entry_points", lambda group: [entry("odd", value, group)] if group == wanted else []
    )
    wanted = group
    table = PluginTable(METHODS.loaded, METHODS._readers)
    with pytest.warns(PluginWarning, match=sentence), pytest.raises(KeyError):
        _ = table["odd"]


def test_a_section_that_fails_says_so_and_the_page_is_made(monkeypatch):
    from rota.report import Section
    from rota.report._sections import _section

    def broken(page):
        raise ZeroDivisionError("no runs")

    section = _section("forecast", Section("Forecast", broken))
    assert section.render(None) == ("The plug-in 'forecast' could not make this section: ZeroDivisionError: no runs.")


class Mine(Options):
    a: int = 1


def test_a_method_without_declared_options_is_left_out():
    def good(options: Mine, context):
        return Recipe(rota.uniform(context.tasks))

    def bad(options: dict, context):
        return Recipe(rota.uniform(context.tasks))

    from rota.methods._table import _method

    assert _method("new", Method("old", "…", good)).name == "new"
    with pytest.raises(RotaError, match=r"expected a recipe whose `options` are a rota\.methods\.Options"):
        _method("new", Method("old", "…", bad))
