"""The site is whole: all pages are in its table of contents, no link is broken, nothing comes from elsewhere."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest
import yaml

ROOT = Path(__file__).parents[2]
LINKED = {"index.md", "CHANGELOG.md", "CONTRIBUTING.md"}  # pages of the table of contents that are not in docs
FETCHING = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "video": "src"}


class Page(HTMLParser):
    """What can be linked to in a page, where its links lead, and what it fetches."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.fetched = {""}, [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors |= {found[name] for name in ("id", "name") if found.get(name)}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if found.get(FETCHING.get(tag)):
            self.fetched.append(found[FETCHING[tag]])


@pytest.fixture(scope="module")
def pages(site):
    folder, _ = site
    return {path: Page(path.read_text(encoding="utf-8")) for path in folder.rglob("*.html")}


def nav_pages(entry):
    if isinstance(entry, str):
        return [entry]
    parts = entry.values() if isinstance(entry, dict) else entry
    return [page for part in parts for page in nav_pages(part)]


def test_it_is_built_without_a_warning(site):
    _, said = site
    assert "No issues found" in said
    assert not re.search("warning|griffe:", said, re.IGNORECASE), said


def test_every_page_is_in_the_table_of_contents_once_and_every_entry_is_a_page():
    listed = nav_pages(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"])
    written = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert set(listed) - LINKED == written
    assert len(listed) == len(set(listed))
    assert set(listed) >= LINKED


def test_every_link_leads_to_a_page_and_an_anchor(site, pages):
    folder, _ = site
    wrong = []
    for path, page in pages.items():
        for link in page.links:
            address, anchor = urldefrag(unquote(link))
            if ":" in address or address.startswith("/") or path.name == "404.html":
                continue
            target = (path.parent / address).resolve() if address else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file() or (target in pages and anchor not in pages[target].anchors):
                wrong.append(f"{path.relative_to(folder)}: {link}")
    assert wrong == []


def test_no_page_fetches_anything_from_elsewhere(site, pages):
    folder, _ = site
    fetched = {address for page in pages.values() for address in page.fetched}
    assert {address for address in fetched if re.match("(https?:)?//", address)} == set()
    styles = " ".join(path.read_text(encoding="utf-8") for path in folder.rglob("*.css"))
    assert not re.search(r"(url\(|@import)\s*[\"']?(https?:)?//", styles)


def test_links_that_leave_docs_become_pages(site):
    folder, _ = site
    assert (folder / "examples" / "plain_loop.py.html").is_file()
    assert (folder / "CONTRIBUTING.html").is_file()
    assert not (folder / "README.html").exists()  # it is the first page
