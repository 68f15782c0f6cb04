"""Writes the tables of options into the pages of methods, from the classes that declare them.

python docs/tables.py           # write them
python docs/tables.py --check   # say which pages are out of date
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from rota.methods import METHODS, Method, option_rows

PAGES = Path(__file__).parent / "methods"
HEAD = "| **Options** (`--option name=value`) | takes | default | what it is for |\n|---|---|---|---|\n"
NONE = "**Options.** None.\n"
TABLE = re.compile(r"(\| \*\*Options\*\*.*?\n(?:\|.*\n)+|\*\*Options\.\*\* None\.\n)")


def option_table(method: Method) -> str:
    """The options of a method in Markdown."""
    rows = [
        f"| `{row.name}` | {row.takes.replace('|', 'or')} | {_default(row.default)} | {row.reason} |\n"
        for row in option_rows(method.options)
    ]
    return HEAD + "".join(rows) if rows else NONE


def _default(told: str) -> str:
    return told if told == "required" else f"`{told}`"


def main() -> int:
    stale = []
    for name, method in METHODS.items():
        page = PAGES / f"{name}.md"
        text = page.read_text(encoding="utf-8")
        written = TABLE.sub(lambda _, method=method: option_table(method), text, count=1)
        if written != text:
            stale.append(page.name)
            if "--check" not in sys.argv:
                page.write_text(written, encoding="utf-8")
    sys.stdout.write(
        f"{len(stale)} page(s) {'out of date' if '--check' in sys.argv else 'written'}: {', '.join(stale)}\n"
    )
    return int(bool(stale) and "--check" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
