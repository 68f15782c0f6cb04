"""The best of several variants on dev rows, so that claims may name what a grid was searched for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from rota.analysis._checkpoint_scores import score
from rota.runlog import SUMMARY, Run


def chosen_on_dev(
    folder: Path, variants: Mapping[str, Sequence[str]], chosen: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """Of each name the variant with the highest mean dev score; names none of whose variants has a finished run are
    left out.

    Args:
        folder: Of the comparison.
        variants: The names of their run folders.
        chosen: By name, the variants that it stands for.

    >>> import tempfile
    >>> from rota.testing import written_run
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, found in (("diw-0.1", 0.5), ("diw-1", 0.6)):
    ...         _ = written_run({"rte": [found]}, "diw", folder=Path(folder) / f"{name}-0")
    ...     variants = {"diw-0.1": ["diw-0.1-0"], "diw-1": ["diw-1-0"], "diw-10": ["diw-10-0"]}
    ...     chosen_on_dev(Path(folder), variants, {"diw": list(variants)})
    {'diw': 'diw-1'}
    """
    means = {variant: _mean(folder, variants[variant]) for of in chosen.values() for variant in of}
    found = {}
    for name, of in chosen.items():
        known = [variant for variant in of if not np.isnan(means[variant])]
        if known:
            found[name] = max(known, key=lambda variant: means[variant])
    return found


def _mean(folder: Path, names: Sequence[str]) -> float:
    scores = [score(Run(folder / name), "dev") for name in names if (folder / name / SUMMARY).is_file()]
    known = [own for own in scores if own is not None]
    return float(np.mean(known)) if known else np.nan
