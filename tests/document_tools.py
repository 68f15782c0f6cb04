"""What tests of documents share: the fenced blocks of a page, and its commands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of a page in a language; "" for those that name none."""
    fenced = re.findall(r"^```(\w*)\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    return [block for own, block in fenced if own == language]


def commands(page: Path) -> list[list[str]]:
    """The words after `rota` of the command lines in a page."""
    lines = [line for block in blocks(page, "") for line in block.splitlines()]
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("rota ")]
