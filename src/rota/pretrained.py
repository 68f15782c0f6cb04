"""Where pretrained models are found: a folder, a name on the hub, or a package that brings one along."""

from __future__ import annotations

import contextlib
import functools
from pathlib import Path
from typing import Any

from rota.errors import RotaError, nearest
from rota.guarded import Part, read_part, transformers_package
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


def load_pretrained(part: Part, name: str, **options: Any) -> Any:
    """A part of a model, by `transformers`: from a folder, or from the hub, after a look at what was fetched before."""
    place = locate(name)
    own = Path(place).is_dir()
    load = functools.partial(read_part, part, place, **options)
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
    except RotaError:
        raise
    except Exception as error:  # of whichever library reads a file that is missing, or not what it should be
        said = " ".join(str(error).split())[:300]
        raise RotaError(
            f"Expected an encoder '{name}' with its {part}: minilm, a folder with config.json, tokenizer and weights, "
            f"or a name on the hub. Found: {said}"
        ) from error
