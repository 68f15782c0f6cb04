"""Tables of mixtures and of what they scored, in two CSV files as Olmix (Chen et al. 2026) reads and writes them."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rota.arrays import Floats
from rota.errors import RotaError

RATIOS = "ratios.csv"
"""File of the mixtures."""
METRICS = "metrics.csv"
"""File of what was measured of them."""
IDENTITY = ("run", "run_id")
NOT_DATA = {*IDENTITY, "name", "index"}
SUM = 0.01
"""By how much the shares of a run may miss 1."""


@dataclass(frozen=True)
class Swarm:
    """Mixtures that were trained, and what was measured of them.

    Args:
        runs: What they are called.
        sources: What is mixed.
        shares: Of each source in each run; every row adds up to 1.
        metrics: By name, one number for each run.

    >>> swarm = Swarm(("one", "two"), ("a", "b"), np.array([[0.5, 0.5], [0.25, 0.75]]), {"loss": np.array([1.5, 1.25])})
    >>> swarm.runs[swarm.metrics["loss"].argmin()]  # the run with the lowest loss
    'two'
    """

    runs: tuple[str, ...]
    sources: tuple[str, ...]
    shares: Floats
    metrics: Mapping[str, Floats]


def write_swarm(swarm: Swarm, folder: Path) -> list[Path]:
    """Write `ratios.csv` and `metrics.csv`; the paths.

    >>> import tempfile
    >>> swarm = Swarm(("one", "two"), ("a", "b"), np.array([[0.5, 0.5], [0.25, 0.75]]), {"loss": np.array([1.5, 1.25])})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = write_swarm(swarm, Path(folder))
    ...     paths[0].read_text().splitlines(), read_swarm(Path(folder)).metrics["loss"].tolist()
    (['run,a,b', 'one,0.5,0.5', 'two,0.25,0.75'], [1.5, 1.25])
    """
    tables = {RATIOS: dict(zip(swarm.sources, swarm.shares.T, strict=True)), METRICS: swarm.metrics}
    paths = []
    for name, columns in tables.items():
        path = folder / name
        with path.open("w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow([IDENTITY[0], *columns])
            for k, run in enumerate(swarm.runs):
                rows.writerow([run, *(repr(float(values[k])) for values in columns.values())])
        paths.append(path)
    return paths


def read_swarm(folder: Path) -> Swarm:
    """Read `ratios.csv` and `metrics.csv`, joined by the column `run` or `run_id`; runs that only one of them has are
    left out, and so are columns `name` and `index`. See `write_swarm` for an example.

    >>> read_swarm(Path("nowhere"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    rota.errors.RotaError: Expected a table at nowhere/ratios.csv. Found none that can be read (...).
    """
    sources, ratios = _table(folder / RATIOS)
    names, metrics = _table(folder / METRICS)
    runs = [run for run in ratios if run in metrics]
    if not runs:
        raise RotaError(f"{folder}: expected runs that {RATIOS} and {METRICS} share. Found none.")
    shares = np.array([ratios[run] for run in runs])
    if not ((shares >= 0).all() and (np.abs(shares.sum(axis=1) - 1) <= SUM).all()):
        wrong = [run for run, own in zip(runs, shares, strict=True) if (own < 0).any() or abs(own.sum() - 1) > SUM]
        raise RotaError(f"{folder / RATIOS}: expected shares that add up to 1. Found others in {', '.join(wrong[:5])}.")
    measured = np.array([metrics[run] for run in runs])
    columns = {name: measured[:, k] for k, name in enumerate(names)}
    return Swarm(tuple(runs), tuple(sources), shares / shares.sum(axis=1, keepdims=True), columns)


def _table(path: Path) -> tuple[Sequence[str], dict[str, list[float]]]:
    """The columns of numbers, and the numbers of each run."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except (OSError, ValueError, csv.Error) as error:
        raise RotaError(f"Expected a table at {path}. Found none that can be read ({error}).") from error
    header = list(rows[0]) if rows else []
    identity = next((name for name in IDENTITY if name in header), None)
    columns = [name for name in header if name not in NOT_DATA and name is not None]
    if identity is None or not columns:
        raise RotaError(f"{path}: expected a column run and columns of numbers. Found {', '.join(map(str, header))}.")
    found: dict[str, list[float]] = {}
    for line, row in enumerate(rows, 2):
        try:
            values = [float(row[name]) for name in columns]
        except (TypeError, ValueError) as error:
            raise RotaError(f"{path}, line {line}: expected numbers. Found another word ({error}).") from error
        if not all(map(math.isfinite, values)):
            raise RotaError(f"{path}, line {line}: expected numbers. Found one that is not finite.")
        if row[identity] in found:
            raise RotaError(f"{path}, line {line}: expected one row for each run. Found {row[identity]} again.")
        found[row[identity]] = values
    return columns, found
