"""The page comes from templates: names are shown as they are written, and no HTML is put together by hand."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import partial
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import jinja2
import pytest
from log_tools import eval_line, step_line, write_run
from pool_tools import mixed, pool, write_pool_run
from round_tools import alphavil, write_rounds_run
from search_tools import SLICES, trial, write_search_run

import rota.report
from rota.report import report_text
from rota.report._templates import render

EVIL = "<b>&\"'"
SOURCE = Path(rota.report.__file__).parent
TEMPLATES = sorted(Path(str(files("rota.report"))).glob("templates/*"))


class Shown(HTMLParser):
    """The tags, values of attributes and text of a page, as a browser reads them."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.values, self.text, self._hidden = set(), set(), "", False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.values |= {value for _, value in attributes}
        self._hidden = tag in ("script", "style")

    def handle_endtag(self, tag):
        self._hidden = False

    def handle_data(self, data):
        self.text += "" if self._hidden else data


def plain_run(place, name):
    lines = [eval_line(step, {EVIL: 1.0}, **{EVIL: (1.0, 0.5)}) for step in (0, 4)]
    return write_run(place, name, f"{EVIL}uniform", average=0.5, lines=[*lines, step_line(4, EVIL)], tasks={EVIL: True})


def picking_run(place, name):
    lines = [pool(0, **{EVIL: (1, 0.5), "other": (1, 0.5)}), mixed(0, **{EVIL: [0], "other": [0]})]
    return write_pool_run(place, name, lines, rows={EVIL: 4, "other": 4}, dev={EVIL: 0.5, "other": 0.5})


def branching_run(place, name):
    tasks = (EVIL, "other")
    lines = [alphavil(0, (1.0, 1.0), (1.0, 1.0), diverged=[EVIL], tasks=tasks)]
    return write_rounds_run(place, name, lines, target=EVIL, tasks=tasks, dev={EVIL: 0.5, "other": 0.1})


def searching_run(place, name):
    tasks = (EVIL, "other")
    found = {"slices": {EVIL: SLICES["left"], "other": SLICES["right"]}, "sampler": EVIL}
    return write_search_run(place, name, tasks=tasks, tried=[trial(0, (1, 1), 0.5, tasks=tasks)], best=0, **found)


@pytest.mark.parametrize("write", [plain_run, picking_run, branching_run, searching_run])
def test_names_that_want_to_be_html_are_shown_as_they_are_written(write, tmp_path):
    run = write(tmp_path, "<i>run")
    for names in (None, {run.folder: f"{EVIL}variant"}):
        page = report_text([run], names=names)
        shown = Shown(page)
        assert not {"b", "i"} & shown.tags
        assert EVIL in shown.text
        assert {EVIL, f"{EVIL}uniform", f"{EVIL}variant", "<i>run"} & shown.values  # buttons
        assert f"{EVIL}variant" in shown.text or names is None
        markdown = report_text([run], "md", names=names)
        assert "&lt;b&gt;&amp;" in markdown
        assert EVIL not in markdown.split("```sh")[0]


def test_what_is_put_into_a_template_is_escaped_and_nothing_may_be_missing():
    found = render("summary.html", ran=EVIL, shown=(EVIL, "c"), unfinished=[], met_before=[EVIL])
    assert found.count("&lt;b&gt;&amp;&#34;&#39;") == 3
    with pytest.raises(jinja2.UndefinedError, match="'ran' is undefined"):
        render("summary.html")


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_every_template_is_used(template):
    by_code = re.findall(r'render\(\s*"([^"]+)"', "".join(path.read_text() for path in SOURCE.glob("*.py")))
    others = "".join(path.read_text() for path in TEMPLATES if path != template)
    by_others = re.findall(r'{% (?:from|include|extends|import) "([^"]+)"', others)
    assert template.name in {*by_code, *by_others}


def strings(path):
    """Strings in the code of a file that are no docstrings; parts of f-strings as well."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documents = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents:
            yield node.value


@pytest.mark.parametrize(
    "path", [*SOURCE.glob("*.py"), *(SOURCE.parent / "analysis").glob("*.py")], ids=lambda p: p.stem
)
def test_code_has_no_html_in_it(path):
    if path.stem == "_plotly_text":
        return  # plotly reads a little HTML of its own
    assert [text for text in strings(path) if re.search("</?[a-z]", text)] == []
    assert "import escape" not in path.read_text(encoding="utf-8")


def without(package, code):
    """What Python says where a package is missing."""
    start = f"import sys; sys.modules[{package!r}] = None\n"
    return subprocess.run([sys.executable, "-c", start + code], capture_output=True, text=True)


@pytest.mark.parametrize("package", ["jinja2", "plotly"])
def test_without_a_package_the_page_says_what_to_install_and_the_tables_do_without(package, tmp_path):
    make = partial(write_run, tmp_path)
    folder = make("a", average=0.5).folder
    code = f"from rota.report import report_text\nfrom rota.runlog import Run\nrun = Run({str(folder)!r})\n"
    tables = "print([len(report_text([run], form)) > 100 for form in ('md', 'csv', 'json')])\n"
    assert without(package, code + tables).stdout.strip() == "[True, True, True]"
    errors = without(package, code + "report_text([run])").stderr
    assert f"The report needs the package {package}. Install it: pip install 'rota[report]'." in errors
