"""Names that become names of folders and files: one rule, wherever they come from."""

from __future__ import annotations

import unicodedata

from rota.errors import RotaError

LONGEST = 120
"""Bytes; file systems have 255 for a name, and a seed, an ending and a process are added to it."""


def folder_name(name: str, what: str = "name") -> str:
    """A name that is one step of a path, and stays where it is put; refuse any other.

    >>> folder_name("exp3s, η = 0.1")
    'exp3s, η = 0.1'
    >>> folder_name("../escaped", "variant")
    Traceback (most recent call last):
    rota.errors.RotaError: A variant expects a name for a folder. Found '../escaped', which has a separator.
    """
    wrong = _wrong(name)
    if wrong:
        shown = repr(name if len(name) <= LONGEST else name[:LONGEST] + "…")
        raise RotaError(f"A {what} expects a name for a folder. Found {shown}, which {wrong}.")
    return name


def _wrong(name: str) -> str | None:
    if not name.strip():
        return "is empty"
    if any(unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp") for letter in name):
        return "has characters that cannot be printed"
    if "/" in name or "\\" in name:
        return "has a separator"
    if name.strip(". ") == "":
        return "consists of dots"
    if len(name.encode()) > LONGEST:
        return f"is longer than {LONGEST} bytes"
    return None
