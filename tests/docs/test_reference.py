"""Every public name is in the reference and has an example that is run."""

from __future__ import annotations

import re

from public_names import has_docstring_of_its_own, has_example, pages_with_its_program, public_names
from test_pages import RUN


def test_every_public_name_is_in_the_reference(site):
    folder, _ = site
    anchors = set()
    for page in (folder / "reference").glob("*.html"):
        anchors |= set(re.findall(r'id="(rota\.[^"]+)"', page.read_text(encoding="utf-8")))
    shown = {id(value): True for room, name, value in public_names() if f"{room}.{name}" in anchors}
    constants = {name for room, name, _ in public_names() if f"{room}.{name}" in anchors}
    missing = [
        f"{room}.{name}"
        for room, name, value in public_names()
        if f"{room}.{name}" not in anchors
        and not (id(value) in shown if has_docstring_of_its_own(value) else name in constants)
    ]
    assert missing == []


def test_the_first_page_of_the_reference_links_every_name_of_the_front_door(site):
    page = (site[0] / "reference" / "index.html").read_text(encoding="utf-8")
    linked = set(re.findall(r"#rota\.\w+\.(\w+)\"", page))
    assert {name for room, name, _ in public_names() if room == "rota"} <= linked


def test_every_class_and_function_has_an_example_that_is_run():
    lacking = {
        f"{room}.{name}"
        for room, name, value in public_names()
        if has_docstring_of_its_own(value)
        and not has_example(value)
        and not pages_with_its_program(room, name, value) & RUN.keys()
    }
    assert lacking == set(), "give these an example in their docstrings"


def test_a_page_is_an_example_of_what_its_program_uses():
    from rota.integrations import accelerate, hf

    assert pages_with_its_program("rota.integrations.hf", "Mixing", hf.Mixing) >= {"docs/hosts/trainer.md"}
    assert pages_with_its_program("rota.integrations.hf", "Other", hf.Mixing) == set()
    assert not has_example(accelerate.mixed)
