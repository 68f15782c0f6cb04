"""What a person reads is in the words of the field: no jargon of the house, no filler, papers by their authors."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
MODULES = sorted((ROOT / "src").rglob("*.py"))
TEMPLATES = sorted((ROOT / "src" / "rota" / "report" / "templates").glob("*.html"))

INSTEAD = {
    # jargon of the house
    r"whose turn|(?:its|their|the task's|target's own) turns?\b": "which task is next; updates",
    r"never stopped": "resumes exactly",
    r"goes on as if|to the last bit": "resumes exactly; bit for bit",
    r"learn(?:s|ed|t)? by heart|memoris\w*": "overfit",
    r"(?:is|are|be|makes? it|a) deaf": "receives no feedback",
    r"somebody|anybody": "a person, a method, any",
    r"whoever": "the one that; any",
    r"nobody chose|that nobody": "without a draw; that no …",
    r"came to believe|what came of": "estimated; results",
    r"foretells?|foretold": "predict",
    r"promises? most": "the largest predicted gain",
    r"does? (?:the target|the primary|it) good|did good|does good|for the good of": "improves",
    r"guards? stands?": "safeguards cover",
    r"from time to time": "at intervals, every N steps",
    r"so many (?:last|dev|steps|updates|times)": "a number of",
    r"for ever\b": "forever, endlessly",
    r"drawn alike|task alike|all alike": "uniformly, equally",
    r"by chance": "at random",
    r"how unsure|unsure about|is unsure": "uncertain, uncertainty",
    r"\bmend(s|ed)\b": "fixes",
    r"ground floor|\broof\b|on the door": "layer",
    r"takes no more of it|no say in": "say it plainly",
    r"(?:pull the plug|the way home)": "say it plainly",
    # Germanisms
    r"make an experience": "have an experience",
    r"\bactual(?:ly)? (?:version|state)\b": "current",
    r"in the following\b": "below",
    r"(?<!a )\binformations\b": "information",
    r"respectively\b": "name each one",
    # filler
    r"\bsimply\b": "leave it out",
    r"\bjust\b(?! as)": "leave it out",
    r"\bobviously\b|\bof course\b|\bbasically\b|\bclearly,": "leave it out",
    r"\bin order to\b": "to",
    r"\bplease\b": "leave it out",
    r"\bplain and simple\b|\bvery unique\b": "leave it out",
    # papers by number
    r"[Pp]apers? 00\d": "authors and year",
    r"\(00\d[,)]|\b00\d's\b|\b(?:of|in|as|after|from) 00[0-4]\b": "authors and year",
}
"""What is not written, as a regular expression → what to write instead."""

KEPT = {
    "README.md": ["a list that says whose turn it is"],  # the tag line
    "src/rota/data/_difficulty.py": ["a an the this that"],  # stop words
}
"""What may stay where it is."""


def prose_of(page: Path) -> list[tuple[int, str]]:
    """Lines of a page outside of its code."""
    text = re.sub(r"^```.*?^```", lambda block: "\n" * block[0].count("\n"), page.read_text(), flags=re.S | re.M)
    return [(k, re.sub(r"`[^`]*`|\]\([^)]*\)", "``", line)) for k, line in enumerate(text.splitlines(), 1)]


def strings_of(module: Path) -> list[tuple[int, str]]:
    """Docstrings, help texts and messages of a module: its strings of several words."""
    nodes = ast.walk(ast.parse(module.read_text()))
    found = [(n.lineno, n.value) for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return [(line, re.sub(r"`[^`]*`", "``", " ".join(text.split()))) for line, text in found if " " in text]


def hits(path: Path, lines: list[tuple[int, str]]) -> list[str]:
    name = str(path.relative_to(ROOT))
    kept = KEPT.get(name, [])
    return [
        f"{name}:{number}: '{found[0]}': {better}"
        for number, line in lines
        for pattern, better in INSTEAD.items()
        if not any(phrase in line for phrase in kept)
        for found in re.finditer(pattern, line, re.IGNORECASE)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_page_is_in_the_words_of_the_field(page):
    found = hits(page, prose_of(page))
    assert not found, "\n".join(found)


def test_docstrings_help_and_messages_are_in_the_words_of_the_field():
    found = [hit for module in MODULES for hit in hits(module, strings_of(module))]
    found += [hit for page in TEMPLATES for hit in hits(page, prose_of(page))]
    assert not found, "\n".join(found)
