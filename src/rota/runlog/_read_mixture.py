"""Read a file with the weight of each task."""

from __future__ import annotations

import json
import math
from pathlib import Path

from rota.errors import RotaError


def read_mixture(path: Path) -> dict[str, float]:
    """The mixture that `rota improve -o` wrote, or a plain JSON object of weights; only their ratio matters.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mixture.json"
    >>> _ = path.write_text('{"rte": 1, "mrpc": 3}')
    >>> read_mixture(path)
    {'rte': 1.0, 'mrpc': 3.0}
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        mixture = content.get("mixture", content)
        weights = {str(task): float(weight) for task, weight in mixture.items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise RotaError(
            f"Expected a mixture at {path}, as `rota improve -o` writes it. Found none ({error})."
        ) from error
    bad = [f"{task}={weight:g}" for task, weight in weights.items() if not (math.isfinite(weight) and weight >= 0)]
    if bad:
        raise RotaError(f"{path}: expected weights of zero or more. Found {', '.join(bad)}.")
    if not any(weights.values()):
        raise RotaError(f"{path}: expected at least one weight above zero. Found none.")
    return weights
