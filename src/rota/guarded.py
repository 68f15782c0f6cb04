"""The one way in which anything pretrained is loaded: no code that comes with it is executed, no weights are unpickled,
and nobody is asked whether they may be."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from rota.errors import RotaError, missing_package

Part = Literal["config", "model", "tokenizer", "language model"]
CLASSES: dict[Part, str] = {
    "config": "AutoConfig",
    "model": "AutoModel",
    "tokenizer": "AutoTokenizer",
    "language model": "AutoModelForCausalLM",
}


def read_part(part: Part, place: str | Path, **options: Any) -> Any:
    """A part of a model, by `transformers`. What brings its own code, or weights that only unpickling can read, is
    refused: both would execute what its author wrote.

    Args:
        part: Which one.
        place: A folder, or a name on the hub.
        options: Of `from_pretrained`. With a `gguf_file`, which holds numbers alone, no safetensors are asked for.
    """
    weights = part in ("model", "language model") and "gguf_file" not in options
    if Path(place).is_dir():
        _refuse_code(Path(place), weights)
    guards = {"trust_remote_code": False, **({"use_safetensors": True} if weights else {})}
    return getattr(transformers_package(), CLASSES[part]).from_pretrained(place, **options, **guards)


def transformers_package() -> Any:
    """The package, loaded late."""
    try:
        import transformers
    except ImportError as error:
        raise missing_package("A pretrained encoder", "transformers", "text") from error
    return transformers


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """No progress bars and no reports about weights that are left out on purpose."""
    logging = transformers_package().utils.logging
    before, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(before)
        if bars:
            logging.enable_progress_bar()


def _refuse_code(folder: Path, weights: bool) -> None:
    for file in sorted(folder.glob("*config*.json")):
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise RotaError(f"Expected JSON in {file}. Found something else ({error}).") from error
        if isinstance(content, dict) and content.get("auto_map"):
            raise RotaError(
                f"Expected an encoder without code of its own in {folder}. Found an auto_map in {file.name}, which "
                f"names some. Take an encoder that transformers knows, or take the auto_map out if it does."
            )
    if weights and not list(folder.glob("*.safetensors")):
        pickled = sorted(path.name for path in folder.glob("*.bin"))
        found = f"{', '.join(pickled)}, which could execute code" if pickled else "none"
        raise RotaError(
            f"Expected weights as safetensors in {folder}. Found {found}. Save them with "
            f"save_pretrained(…, safe_serialization=True) where you trust them."
        )
