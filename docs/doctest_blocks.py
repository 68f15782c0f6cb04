"""An extension of Griffe, which reads the docstrings of the reference: examples become blocks of code.

Examples in docstrings begin with `>>>`, which Markdown takes for quotations in quotations.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^( *)>>> .*(?:\n(?! *$).*)*(?:\n\n\1>>> .*(?:\n(?! *$).*)*)*", re.MULTILINE)


class DoctestBlocks(griffe.Extension):
    """Puts fences around the examples of each docstring."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = EXAMPLE.sub(r"\1```pycon\n\g<0>\n\1```", obj.docstring.value)
