"""From the name of a language model, or from what was written down of one, to the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from rota.errors import RotaError
from rota.guarded import quiet, transformers_package
from rota.models.language._language_model import LanguageModel, fingerprint
from rota.models.language._shared_lora import SharedLoRA, make_shared_lora
from rota.pretrained import SCRATCH, load_pretrained, tokenizer_name
from rota.tasks import Task, kind_from

SMALL = {"hidden_size": 160, "num_hidden_layers": 6, "num_attention_heads": 5, "intermediate_size": 432}
"""Of `scratch`: 9.8 million parameters with the tokens of `smollm2`, most of them in its embeddings."""


def language_model(
    tasks: Sequence[Task],
    name: str,
    adapter: SharedLoRA | None = None,
    dropout: float | None = None,
    checkpointing: bool = False,
) -> LanguageModel:
    """The language model of this name.

    Args:
        tasks: What it is trained on.
        name: `smollm2`, a folder, or a name on the hub; `scratch:NAME` for one that is built like that, with new
            weights; `scratch` for a small Llama of 10 million parameters with the tokens of `smollm2`.
        adapter: LoRA, which is trained in place of the network.
        dropout: In all of its layers; None: as its config says.
        checkpointing: See `LanguageModel`.

    >>> import tempfile
    >>> from transformers import LlamaConfig, LlamaForCausalLM
    >>> sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    >>> with tempfile.TemporaryDirectory() as folder, quiet():
    ...     LlamaForCausalLM(LlamaConfig(vocab_size=50, **sizes)).save_pretrained(folder)
    ...     language_model([], folder).config.vocab_size
    50
    """
    kinds = {task.name: task.kind for task in tasks}
    network = _new(name, dropout) if _is_new(name) else _loaded(name, dropout)
    if adapter and _is_new(name):
        raise RotaError(f"An adapter expects a trained model, which it changes. Found '{name}'. Leave it out.")
    return LanguageModel(network, kinds, adapter, name if adapter else None, checkpointing)


def build_language_model(description: Mapping[str, Any]) -> LanguageModel:
    """The model that `LanguageModel.describe` described, with weights that are still to be loaded. With an adapter, the
    network that it belongs to is loaded; another one is refused.

    >>> from transformers import LlamaConfig, LlamaForCausalLM
    >>> sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    >>> model = LanguageModel(LlamaForCausalLM(LlamaConfig(vocab_size=50, **sizes)), {})
    >>> build_language_model(model.describe()).state_dict().keys() == model.state_dict().keys()
    True
    """
    kinds = {name: kind_from(kind) for name, kind in description["kinds"].items()}
    checkpointing = description["checkpointing"]
    if description["adapter"] is None:
        return LanguageModel(_from_config(description["config"]), kinds, checkpointing=checkpointing)
    base, network = description["base"], _loaded(description["base"], None)
    if fingerprint(network) != description["known_by"]:
        raise RotaError(
            f"An adapter expects the model that it was trained with, '{base}' as it was then. Found another one at "
            f"that place. Bring the old one back."
        )
    return LanguageModel(network, kinds, make_shared_lora(description["adapter"]), base, checkpointing)


def _is_new(name: str) -> bool:
    return name.partition(":")[0] == SCRATCH


def _loaded(name: str, dropout: float | None) -> Any:
    with quiet():
        config = load_pretrained("config", name)
        _set_dropout(config, dropout)
        return load_pretrained("language model", name, config=config, dtype=torch.float32)


def _new(name: str, dropout: float | None) -> Any:
    """New weights; of the small one of the house, or of one that is built like another."""
    like = load_pretrained("config", tokenizer_name(name))
    if name == SCRATCH:
        marks = {part: getattr(like, part) for part in ("bos_token_id", "eos_token_id", "pad_token_id")}
        like = transformers_package().LlamaConfig(
            vocab_size=like.vocab_size, tie_word_embeddings=True, max_position_embeddings=2048, **SMALL, **marks
        )
    _set_dropout(like, dropout)
    return _from_config(like.to_dict())


def _from_config(content: Mapping[str, Any]) -> Any:
    transformers = transformers_package()
    own = {key: value for key, value in content.items() if key not in ("auto_map", "dtype")}  # one names code
    config = transformers.AutoConfig.for_model(own.pop("model_type"), **own)
    with quiet():
        return transformers.AutoModelForCausalLM.from_config(config, trust_remote_code=False).float()


def _set_dropout(config: Any, dropout: float | None) -> None:
    if dropout is not None:
        for name in vars(config):
            if name.endswith(("dropout", "pdrop")):
                setattr(config, name, dropout)
