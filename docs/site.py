"""Builds the documentation as a site: build/site, to be read from a server or from the disk.

python docs/site.py           # build it; a warning is an error
python docs/site.py --pages   # only gather its pages in build/docs, for another generator: mkdocs build --strict

The pages are written to be read in the repository, too, so they link to programs and to the README. In the site the
README is the first page, and what is linked outside `docs` is a page of its own.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCS, GATHERED, SITE = ROOT / "docs", ROOT / "build" / "docs", ROOT / "build" / "site"
KINDS = (".md", ".css", ".svg")
LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)\s]*)?\))")
FENCED = re.compile(r"(^```.*?^```\n?)", re.DOTALL | re.MULTILINE)


def place(path: Path) -> Path:
    """Where a file of the repository is among the pages of the site."""
    if path.is_relative_to(DOCS):
        return path.relative_to(DOCS)
    if path == ROOT / "README.md":
        return Path("index.md")
    inside = path.relative_to(ROOT)
    return inside if inside.suffix == ".md" else inside.with_suffix(inside.suffix + ".md")


def page(path: Path, beyond: set[Path]) -> str:
    """The text of a page with its links as they are in the site. Linked files that are not in `docs` go to `beyond`."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".md":
        return f"# {path.relative_to(ROOT)}\n\n```{path.suffix[1:].replace('py', 'python')}\n{text}```\n"

    def moved(link: re.Match[str]) -> str:
        target = Path(os.path.normpath(path.parent / link[2]))
        if ":" in link[2] or not target.is_relative_to(ROOT):
            return link[0]
        if target.is_file() and not target.is_relative_to(DOCS):
            beyond.add(target)
        return link[1] + Path(os.path.relpath(place(target), place(path).parent)).as_posix() + link[3]

    parts = FENCED.split(text)
    return "".join(part if part.startswith("```") else LINK.sub(moved, part) for part in parts)


def gather() -> list[Path]:
    """Write all pages to build/docs; their paths there."""
    shutil.rmtree(GATHERED, ignore_errors=True)
    found, written = {ROOT / "README.md", *(path for kind in KINDS for path in DOCS.rglob(f"*{kind}"))}, set()
    while waiting := sorted(found - written):
        for path in waiting:
            target = GATHERED / place(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(
                path.read_text() if path.suffix in (".css", ".svg") else page(path, found), encoding="utf-8"
            )
            written.add(path)
    return sorted(place(path) for path in written)


def main() -> int:
    gather()
    if "--pages" in sys.argv:
        return 0
    shutil.rmtree(SITE, ignore_errors=True)
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    built = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    sys.stdout.write(built.stdout)
    if built.returncode or "griffe: " in built.stdout:  # strict as it is, Zensical lets wrong docstrings pass
        return 1
    sys.stdout.write(f"Open {(SITE / 'index.html').relative_to(ROOT)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
