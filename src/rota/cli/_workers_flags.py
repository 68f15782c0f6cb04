"""Flags that say who trains: `--jobs` and `--on`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from rota.plans import Plan

Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs", "-j", min=1, metavar="N", help="runs at a time; changes no number, by default 1, with --on all"
    ),
]
On = Annotated[
    str,
    typer.Option(
        metavar="WHERE",
        show_default=False,
        help="who trains; ray, ray://HOST:PORT or slurm:time=MINUTES, with arguments such as gpus=1,cpus=4",
    ),
]


def needs_of(plans: Sequence[Plan]) -> tuple[bool, int]:
    """Whether any of them can use a GPU, and how many CPU threads one of them takes.

    >>> from rota.plans import make_plan
    >>> needs_of([make_plan({"device": "cpu"}), make_plan({"device": "cpu", "threads": 2})])
    (False, 2)
    """
    return any(plan.device != "cpu" for plan in plans), max(plan.threads or 1 for plan in plans)
