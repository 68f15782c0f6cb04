"""What `rota compare` has left in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rota.comparisons import COMPARISON
from rota.errors import RotaError
from rota.runlog import RUN, ComparisonRecord, read_record


def is_comparison(folder: Path) -> bool:
    return (folder / COMPARISON).is_file()


def read_comparison(folder: Path) -> dict[str, Any]:
    """What was compared; one sentence where nothing was."""
    if not is_comparison(folder):
        raise RotaError(f"Expected the folder of a comparison (with {COMPARISON}) at {folder}. Found none.")
    return read_record(folder / COMPARISON, ComparisonRecord)


def compared_runs(folder: Path) -> dict[Path, str]:
    """The variant of every run of a comparison that has begun, by its folder."""
    variants = read_comparison(folder)["variants"]
    named = {folder / run: variant for variant, runs in variants.items() for run in runs}
    return {place: variant for place, variant in named.items() if (place / RUN).is_file()}
