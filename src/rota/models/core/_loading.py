"""From the name of an encoder, or from what was written down of one, to the encoder."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any, Literal

import torch

from rota.guarded import quiet, transformers_package
from rota.models.core._pretrained import Pooling, Pretrained
from rota.pretrained import load_pretrained, locate, speaks

DROPOUTS = ("hidden_dropout_prob", "attention_probs_dropout_prob")  # as BERT and its relatives call them


def pretrained(
    name: str,
    pooling: Pooling | None = None,
    hidden: int | None = None,
    dropout: float | None = None,
    frozen: int | Literal["half"] = 0,
) -> Pretrained:
    """The encoder of this name with its weights.

    Args:
        name: `minilm`, a folder, or a name on the hub.
        pooling: See `Pretrained`; by default the mean for `minilm` and other sentence encoders and for language models,
            whose first token sees no other, else the first token.
        hidden, frozen: See `Pretrained`.
        dropout: In all of its layers; None: as it was pretrained.

    >>> import tempfile
    >>> from transformers import BertConfig, BertModel
    >>> sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Pretrained(BertModel(BertConfig(vocab_size=50, **sizes))).export(folder)
    ...     encoder = pretrained(folder, frozen=1)
    >>> encoder.width, encoder.pooling, encoder.frozen
    (16, 'first', 1)
    """
    pooling = pooling or _usual_pooling(name)
    with quiet():
        config = load_pretrained("config", name)
        _set_dropout(config, dropout)
        options = _pooler_option(config, pooling == "pooled")
        found = load_pretrained("model", name, config=config, dtype=torch.float32, **options)
    return Pretrained(found, pooling, hidden, frozen)


def vocabulary_of(name: str) -> int:
    """How many tokens the encoder of this name knows; its weights are not read.

    >>> import tempfile
    >>> from transformers import BertConfig
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     BertConfig(vocab_size=50).save_pretrained(folder)
    ...     vocabulary_of(folder)
    50
    """
    return int(load_pretrained("config", name).vocab_size)


def rebuilt(config: dict[str, Any], pooling: Pooling, pooler: bool, hidden: int | None, frozen: int = 0) -> Pretrained:
    """An encoder as `Pretrained.describe` says, with weights that are still to be loaded.

    >>> tiny = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    >>> encoder = rebuilt({"model_type": "bert", **tiny}, pooling="first", pooler=False, hidden=None)
    >>> type(encoder.transformer).__name__, encoder.width
    ('BertModel', 16)
    """
    transformers = transformers_package()
    content = {key: value for key, value in config.items() if key != "auto_map"}  # names code
    found = transformers.AutoConfig.for_model(content.pop("model_type"), **content)
    with quiet():
        model = transformers.AutoModel.from_config(found, trust_remote_code=False, **_pooler_option(found, pooler))
    return Pretrained(model.float(), pooling, hidden, frozen)


def outline(name: str, pooling: Pooling | None = None) -> Pretrained:
    """The encoder of this name on the meta device: its parts and their sizes, without weights, from its config alone.

    >>> import tempfile
    >>> from transformers import AlbertConfig
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     AlbertConfig(vocab_size=50).save_pretrained(folder)
    ...     next(outline(folder).parameters()).is_meta
    True
    """
    pooling = pooling or _usual_pooling(name)
    content = load_pretrained("config", name).to_dict()
    with torch.device("meta"):
        return rebuilt(content, pooling, pooling == "pooled", None)


def _usual_pooling(name: str) -> Pooling:
    """As a sentence encoder says in its own files; the mean of a language model; else the first token."""
    if speaks(name):
        return "mean"
    file = Path(locate(name)) / "1_Pooling" / "config.json"
    if file.is_file() and json.loads(file.read_text()).get("pooling_mode_mean_tokens"):
        return "mean"
    return "first"


def _set_dropout(config: Any, dropout: float | None) -> None:
    if dropout is not None:
        for name in vars(config):
            if name in DROPOUTS or (name.endswith("dropout") and name != "classifier_dropout"):
                setattr(config, name, dropout)


def _pooler_option(config: Any, wanted: bool) -> dict[str, Any]:
    """Leave the pooler out where nobody looks at it: it would be trained by nothing."""
    cls = transformers_package().MODEL_MAPPING[type(config)]
    has = "add_pooling_layer" in inspect.signature(cls.__init__).parameters
    return {"add_pooling_layer": wanted} if has else {}
