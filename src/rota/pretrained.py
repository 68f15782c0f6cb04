"""Where pretrained models are found: a folder, a name on the hub, or a package that brings one along; and the one way
in which anything of them is loaded. It never executes code that comes with them, and never asks whether it may."""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from rota.errors import RotaError, missing_package, nearest
from rota.hub import offline
from rota.packaged import EXPANDED, PACKAGED, packaged_folder

SIZES = {
    "bert-base-": (12, 768),
    "bert-large-": (24, 1024),
    "distilroberta-base": (6, 768),
    "roberta-base": (12, 768),
    "roberta-large": (24, 1024),
}
"""Layers and width by the beginning of a name, for encoders that are not here yet."""

BILSTMS = ("bilstm", "bilstm-1024", "bilstm-embeddings")
"""Recurrent models around a pretrained encoder, or with its tokenizer."""

WEIGHTS = ("model.safetensors", "model.safetensors.index.json")

CLASSES = {
    "config": "AutoConfig",
    "model": "AutoModel",
    "tokenizer": "AutoTokenizer",
    "language model": "AutoModelForCausalLM",
}
SCRATCH = "scratch"
"""Begins the names of language models with new weights."""


def tokenizer_name(model: str) -> str:
    """Whose tokenizer cuts the texts for a model: the pretrained encoder in it, if there is one.

    >>> [tokenizer_name(model) for model in ("auto", "bilstm", "camtl:roberta-base", "roberta-base")]
    ['minilm', 'minilm', 'roberta-base', 'roberta-base']
    """
    kind, _, name = model.partition(":")
    if kind in (*BILSTMS, "camtl"):
        return name or "minilm"
    if kind == SCRATCH:
        return name or "smollm2"
    return "minilm" if model in ("auto", "lenet") else model


def locate(name: str) -> str:
    """The folder of a model, or its name on the hub.

    `minilm` is all-MiniLM-L6-v2 (6 layers, 384 wide, 22.7 million parameters) and `smollm2` SmolLM2-135M-Instruct, from
    weights of 4 bits. These need no hub.
    """
    if name in PACKAGED or name in EXPANDED:
        return packaged_folder(name)
    meant = nearest(name, [*PACKAGED, *EXPANDED, *BILSTMS, "auto", "lenet"])
    if meant and not Path(name).is_dir():
        raise RotaError(f"Unknown model '{name}'. Did you mean '{meant}'?")
    if Path(name).is_dir() and not (Path(name) / "config.json").is_file():
        raise RotaError(f"Expected an encoder with its config.json in {name}. Found none.")
    return name


def encoder_in(model: str) -> str | None:
    """The pretrained encoder that a model is made of; None where its tasks decide that.

    >>> [encoder_in(model) for model in ("auto", "lenet", "camtl:roberta-base", "bert-base-cased")]
    [None, None, 'roberta-base', 'bert-base-cased']
    """
    return None if model in ("auto", "lenet") else tokenizer_name(model)


def is_here(name: str) -> bool:
    """Whether an encoder is in a folder, in a package, or was fetched from the hub before. Nothing is fetched.

    >>> is_here("nobody/has-this-encoder")
    False
    """
    place = locate(name)
    return Path(place).is_dir() or any(_was_fetched(place, file) for file in WEIGHTS)


def speaks(name: str) -> bool:
    """Whether a model goes on with texts: whether its config names a causal language model.

    >>> speaks("minilm")
    False
    """
    known = load_pretrained("config", name).architectures or ()
    return any(own.endswith(("ForCausalLM", "LMHeadModel")) for own in known)


def layers_and_width(name: str) -> tuple[int, int] | None:
    """Of an encoder that is here, by its config, or of one whose size its name says; None for others.

    >>> layers_and_width("roberta-large"), layers_and_width("nobody/has-this-encoder")
    ((24, 1024), None)
    """
    if not is_here(name):
        return next((size for begin, size in SIZES.items() if name.startswith(begin)), None)
    config = load_pretrained("config", name).to_dict()
    layers, width = config.get("num_hidden_layers"), config.get("hidden_size")
    return (layers, width) if layers and width else None


def _was_fetched(name: str, file: str) -> bool:
    transformers_package()  # which brings the hub's library along
    from huggingface_hub import try_to_load_from_cache

    try:
        return isinstance(try_to_load_from_cache(name, file), str)
    except ValueError:  # no name that the hub could have
        return False


def load_pretrained(part: Literal["config", "model", "tokenizer", "language model"], name: str, **options: Any) -> Any:
    """A part of a model, by `transformers`: from a folder, or from the hub, after a look at what was fetched before.

    What brings its own code, or weights that only unpickling can read, is refused: both would execute what its author
    wrote.
    """
    place = locate(name)
    own = Path(place).is_dir()
    weights = part in ("model", "language model")
    if own:
        _refuse_code(Path(place), weights)
    auto = getattr(transformers_package(), CLASSES[part])
    options |= {"trust_remote_code": False, **({"use_safetensors": True} if weights else {})}
    load = functools.partial(auto.from_pretrained, place, **options)
    if not own:
        with contextlib.suppress(Exception):
            return load(local_files_only=True)
        if reason := offline():
            raise RotaError(
                f"Expected the encoder '{name}' in a folder, or on the hub. Found neither ({reason}). Name its folder, "
                f"or use Plan(model='minilm')."
            )
    try:
        return load(local_files_only=own)
    except Exception as error:  # of whichever library reads a file that is missing, or not what it should be
        said = " ".join(str(error).split())[:300]
        raise RotaError(
            f"Expected an encoder '{name}' with its {part}: minilm, a folder with config.json, tokenizer and weights, "
            f"or a name on the hub. Found: {said}"
        ) from error


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
