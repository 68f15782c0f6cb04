"""A suite: tasks that belong together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rota.tasks import Task


@dataclass(frozen=True)
class Suite:
    """Tasks that come from one source and share their inputs.

    Args:
        name: How the command line calls it.
        summary: One line for `rota tasks`.
        tasks: Their names.
        load: Makes them; always the same ones.
    """

    name: str
    summary: str
    tasks: tuple[str, ...]
    load: Callable[[], Sequence[Task]]
