"""What labels are called in files, and which classes they stand for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from rota.data._files import Record, Tally
from rota.errors import RotaError


@dataclass(frozen=True)
class Labels:
    """What labels are called in files.

    Args:
        names: The classes in their order.
        aliases: Other names for them.
        unlabelled: Values that mean that a row has no label; such rows are left out and counted.
    """

    names: tuple[str, ...]
    aliases: tuple[tuple[str, str], ...] = ()
    unlabelled: tuple[str, ...] = ()

    def number(self, record: Record, column: str, tally: Tally) -> int | None:
        """The class of a record; None: it has none."""
        if column not in record.fields and "" not in self.unlabelled:
            record.get(column)
        value = record.fields.get(column)
        if label_name(value) in self.unlabelled:
            tally.add("without label")
            return None
        return self.find(value, f"{record.where}: expected a label", column)

    def find(self, value: Any, wish: str, column: str) -> int:
        """The class of a value: by name, by alias, or where it is an integer and no name is one, by number."""
        text = label_name(value)
        text = dict(self.aliases).get(text, text)
        if text in self.names:
            return self.names.index(text)
        if type(value) is int and 0 <= value < len(self.names) and not any(map(_is_number, self.names)):
            return value
        shown = ", ".join(self.names[:10]) + (" …" if len(self.names) > 10 else "")
        hint = "" if text else " A task of your own may skip such rows: `without_label: leave out`."
        raise RotaError(f"{wish} among {shown} in column '{column}'. Found {value!r}.{hint}")


def label_name(value: Any) -> str:
    """A label as text, whatever a format makes of true and false, whole numbers and names.

    >>> [label_name(value) for value in (True, "True", 1, 1.0, "1.0", " good ", None)]
    ['true', 'true', '1', '1', '1', 'good', '']
    """
    text = "" if value is None else str(value).strip()
    if text in ("True", "False"):
        return text.lower()
    return text.split(".")[0] if re.fullmatch(r"-?\d+\.0+", text) else text


def _is_number(name: str) -> bool:
    return name.removeprefix("-").isdecimal()
