"""The tokenizer of a pretrained encoder, and what makes it the one it is."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from rota.errors import RotaError
from rota.guarded import transformers_package
from rota.pretrained import load_pretrained


class Tokenizer:
    """Cuts texts into numbered tokens, as an encoder was trained with.

    Args:
        encoder: Name of the encoder, its folder, or its name on the hub.

    >>> Tokenizer("minilm").text([7592, 2088])
    'hello world'
    """

    def __init__(self, encoder: str) -> None:
        self.encoder = encoder

    @cached_property
    def fast(self) -> Any:
        """The tokenizer of `transformers`, loaded when it is needed."""
        return self._load()

    @cached_property
    def of_words(self) -> Any:
        """The same for texts that are cut into words already: tokenizers of bytes know a word by the space before."""
        of_bytes = "ByteLevel" in json.dumps(self._parts["pre_tokenizer"])
        return self._load(add_prefix_space=True) if of_bytes else self.fast

    def _load(self, **options: bool) -> Any:
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")  # silent when workers are forked later
        found = load_pretrained("tokenizer", self.encoder, **options)
        if not found.is_fast:
            raise RotaError(
                f"Expected a fast tokenizer (with a tokenizer.json) for '{self.encoder}'. Found a slow one."
            )
        return found

    @cached_property
    def fingerprint(self) -> str:
        """Changes with anything that changes how texts are cut, except where they end."""
        parts = {name: part for name, part in self._parts.items() if name not in ("truncation", "padding")}
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    @property
    def _parts(self) -> dict[str, Any]:
        """What the tokenizer is made of, as plain JSON."""
        parts: dict[str, Any] = json.loads(self.fast.backend_tokenizer.to_str())
        return parts

    @property
    def padding(self) -> int:
        number = self.fast.pad_token_id
        return 0 if number is None else int(number)

    @cached_property
    def end(self) -> int | None:
        """The token that ends a text, if there is one."""
        number = self.fast.eos_token_id
        return None if number is None else int(number)

    @cached_property
    def begin(self) -> int | None:
        """The token that begins a text, if there is one; whether it is put there is up to the tokenizer."""
        number = self.fast.bos_token_id
        return None if number is None else int(number)

    @cached_property
    def marks(self) -> list[str]:
        """Texts that stand for no words, such as <|endoftext|>."""
        return list(self.fast.all_special_tokens)

    def text(self, tokens: Sequence[int]) -> str:
        """What tokens say, without marks such as the end of a text."""
        return str(self.fast.decode(tokens, skip_special_tokens=True)).strip()

    @property
    def limit(self) -> int:
        """Most tokens that the encoder takes; a very large number where it does not say."""
        return int(min(self.fast.model_max_length, _places(load_pretrained("config", self.encoder))))

    def save(self, folder: Path) -> None:
        """Write it where `transformers` finds it again."""
        self.fast.save_pretrained(folder)


def _places(config: Any) -> int:
    """For how many tokens the encoder has positions. Some, like RoBERTa, count them from the padding token on."""
    places = getattr(config, "max_position_embeddings", None) or 2**31
    with torch.device("meta"):  # its parts, without weights
        model = transformers_package().AutoModel.from_config(config, trust_remote_code=False)
    tables = [module for name, module in model.named_modules() if name.endswith("position_embeddings")]
    padding = getattr(tables[0], "padding_idx", None) if tables else None
    return int(places if padding is None else places - padding - 1)
