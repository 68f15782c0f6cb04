"""Write down what is expected of a comparison before it is trained."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from rota.comparisons._comparison import Cell, Comparison
from rota.errors import RotaError
from rota.runlog import create_json, registration_hash


def register_claims(comparison: Comparison, path: Path, source: str) -> dict[str, Any]:
    """Write the claims about a comparison and its plans to a new file, with the time and a hash; say what was written.

    Args:
        comparison: With claims.
        path: A file that is not there yet: a registration is not replaced.
        source: Where the claims are from.

    >>> import tempfile
    >>> from rota.comparisons import make_comparison
    >>> claims = [{"says": "auto is above uniform", "of": "auto", "than": "uniform"}]
    >>> made = make_comparison({"methods": ["auto"], "claims": claims}, {"steps": 20}, seeds=[0, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = register_claims(made, Path(folder) / "auto.registered.json", "auto.yaml")
    >>> found["seeds"], found["plans"]["auto"]["steps"], len(found["hash"])
    ([0, 1], 20, 64)
    """
    content: dict[str, Any] = {
        "registered": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "source": source,
        "claims": list(comparison.claims),
        "seeds": sorted({cell.seed for cell in comparison.cells}),
        "budget": comparison.budget,
        "plans": {cell.variant: _plan(cell) for cell in comparison.cells},
    }
    content["hash"] = registration_hash(content)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        create_json(path, content)
    except FileExistsError as error:
        raise RotaError(
            f"Expected no registration yet at {path}. Found one, which is not replaced. Write it to another file."
        ) from error
    except OSError as error:
        raise RotaError(f"Expected a place that can be written at {path}. Found: {error.strerror}.") from error
    return content


def _plan(cell: Cell) -> dict[str, Any]:
    """Its fields but the seed, and but the rule for the best checkpoint where the method may have its own."""
    left_out = {"seed"} | ({"best"} - cell.plan.model_fields_set)
    return cell.plan.model_dump(mode="json", exclude=left_out)
