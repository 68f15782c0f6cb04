"""Pretrained transformers as encoders."""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from rota.errors import RotaError
from rota.models.core._features import Encoder, Features, HeadStyle
from rota.models.core._stack import Stack, hide_padding
from rota.pretrained import load_pretrained, locate, transformers_package
from rota.tasks import repeated

Pooling = Literal["mean", "first", "pooled"]
DROPOUTS = ("hidden_dropout_prob", "attention_probs_dropout_prob")  # as BERT and its relatives call them


class Pretrained(Encoder):
    """A transformer of the BERT family (BERT, RoBERTa, DeBERTa, ELECTRA, ModernBERT, …), whole and trainable.

    Args:
        transformer: The model of `transformers`; `pretrained` loads one by name.
        pooling: How the tokens of a row become one vector: their mean (as sentence encoders such as `minilm` were
            trained), the first token (Glover & Hokamp 2019; Pilault et al. 2021), or the model's own pooler (Fang &
            Alqatari).
        hidden: Width of a ReLU layer in the heads (256 in Kourdis et al. 2024); None for linear heads.
        frozen: Layers from below that are frozen, together with the embeddings: they are not trained, and their dropout
            never acts. "half" of them, rounded down; 0: everything is trained.

    >>> from transformers import BertConfig, BertModel
    >>> sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    >>> encoder = Pretrained(BertModel(BertConfig(vocab_size=50, **sizes)), pooling="mean", frozen="half")
    >>> tokens = torch.tensor([[3, 7, 9]])
    >>> encoder({"tokens": tokens, "types": tokens * 0, "mask": tokens > 0}).rows.shape, encoder.frozen
    (torch.Size([1, 16]), 1)
    """

    def __init__(
        self,
        transformer: Any,
        pooling: Pooling = "first",
        hidden: int | None = None,
        frozen: int | Literal["half"] = 0,
    ) -> None:
        super().__init__()
        self.transformer = transformer
        self.depth: int | None = None
        self.pooling, self.hidden = pooling, hidden
        self.width = int(transformer.config.hidden_size)
        self._typed = (getattr(transformer.config, "type_vocab_size", 0) or 0) > 1
        self._pooler = getattr(transformer, "pooler", None) is not None
        if pooling == "pooled" and not self._pooler:
            raise RotaError(
                f"Pooling 'pooled' expects an encoder with a pooler. Found {type(transformer).__name__}, which has "
                f"none. Use Plan(pooling='first'), or 'mean'."
            )
        self.frozen = 0
        if frozen:
            self.freeze(frozen)

    def freeze(self, frozen: int | Literal["half"]) -> None:
        """Freeze so many layers from below and the embeddings, and train everything else."""
        self.transformer.requires_grad_(True)
        self.frozen = self.number_of(frozen)
        for module in self.frozen_parts():
            module.requires_grad_(False)
        self.train(self.training)

    def number_of(self, frozen: int | Literal["half"]) -> int:
        """How many layers that is."""
        if frozen == 0:
            return 0
        layers = len(self.stack.layers)
        if frozen == "half":
            return layers // 2
        if not isinstance(frozen, int) or not 0 < frozen <= layers:
            raise RotaError(f"Frozen layers expect 0 to {layers} of them, or half. Found {frozen}.")
        return frozen

    def train(self, mode: bool = True) -> Pretrained:
        """Sets the mode of what is trained; what is frozen remains in evaluation mode."""
        super().train(mode)
        for module in self.frozen_parts():
            module.eval()
        return self

    def frozen_parts(self) -> list[nn.Module]:
        return [*self.stack.bottom, *self.frozen_layers] if self.frozen else []

    @functools.cached_property
    def stack(self) -> Stack:
        """The transformer layer by layer."""
        return Stack(self.transformer)

    @property
    def frozen_layers(self) -> list[nn.Module]:
        return list(self.stack.layers[: self.frozen]) if self.frozen else []

    @property
    def separable(self) -> bool:
        """Whether what the frozen layers say of a row never changes, whatever is trained."""
        return self.frozen > 0

    @torch.no_grad()
    def lower(self, inputs: dict[str, Tensor]) -> Tensor:
        """What the frozen layers say of rows, [N, L, D]; as `inputs["hidden"]` it spares them to say it again."""
        hidden = self.stack.embed(inputs)
        hiding = hide_padding(inputs["mask"], hidden.dtype)
        for layer in self.frozen_layers:
            hidden = layer(hidden, hiding)
        return hidden

    @contextlib.contextmanager
    def early(self, depth: int) -> Iterator[None]:
        """Inside, heads see what the first `depth` layers say: a cheap guess at what all of them would."""
        layers = len(self.stack.layers)
        if not max(1, self.frozen) <= depth <= layers:
            raise RotaError(f"An early layer expects a number from {max(1, self.frozen)} to {layers}. Found {depth}.")
        self.depth = depth
        try:
            yield
        finally:
            self.depth = None

    @property
    def style(self) -> HeadStyle:
        config = self.transformer.config
        own = getattr(config, "classifier_dropout", None)
        dropout = float(getattr(config, DROPOUTS[0], 0.1) if own is None else own)
        return HeadStyle(dropout, self.hidden, getattr(config, "initializer_range", 0.02))

    def describe(self) -> dict[str, Any]:
        config = self.transformer.config.to_dict()
        about = {"pooling": self.pooling, "pooler": self._pooler, "hidden": self.hidden, "frozen": self.frozen}
        return {"type": "Pretrained", "config": config, **about}

    def last_layers(self, count: int) -> Sequence[nn.Module]:
        body = getattr(self.transformer, "encoder", self.transformer)
        layers = getattr(body, "layer", None) or getattr(body, "layers", None)
        if layers is None:
            return super().last_layers(count)
        if not 1 <= count <= len(layers):
            raise RotaError(f"Dropout in the last layers expects 1 to {len(layers)} of them. Found {count}.")
        return list(layers)[-count:]

    def forward(self, inputs: dict[str, Tensor]) -> Features:
        mask = inputs["mask"]
        if self.frozen or self.depth is not None:
            hidden = inputs["hidden"] if "hidden" in inputs else self.lower(inputs)
            hiding = hide_padding(mask, hidden.dtype)
            for layer in self.stack.layers[self.frozen : self.depth]:
                hidden = layer(hidden, hiding)
            return self.pooled(hidden, mask)
        named = {"input_ids": inputs["tokens"], "attention_mask": mask.long()}
        if self._typed:
            named["token_type_ids"] = inputs["types"]
        return self.pooled(self.transformer(**named).last_hidden_state, mask)

    def pooled(self, tokens: Tensor, mask: Tensor) -> Features:
        """What the heads see of tokens [N, L, D]."""
        if len(tokens) > len(mask):  # copies of the rows came in on the way
            mask = repeated(mask, len(tokens) // len(mask))
        match self.pooling:
            case "mean":
                real = mask[..., None].to(tokens.dtype)
                rows = (tokens * real).sum(1) / real.sum(1)
            case "first":
                rows = tokens[:, 0]
            case "pooled":
                rows = self.transformer.pooler(tokens)
        return Features(rows, tokens, mask)

    def export(self, folder: Path) -> None:
        """Write the encoder so that `transformers.AutoModel.from_pretrained` finds it."""
        with _quiet():
            self.transformer.save_pretrained(folder)


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
        pooling: See `Pretrained`; by default the mean for `minilm` and other sentence encoders, else the first token.
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
    pooling = pooling or _usual_pooling(locate(name))
    with _quiet():
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
    with _quiet():
        model = transformers.AutoModel.from_config(found, trust_remote_code=False, **_pooler_option(found, pooler))
    return Pretrained(model.float(), pooling, hidden, frozen)


def _usual_pooling(place: str) -> Pooling:
    """As a sentence encoder says in its own files; else the first token."""
    file = Path(place) / "1_Pooling" / "config.json"
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


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """No progress bars and no reports about weights that are left out on purpose."""
    from transformers.utils import logging

    before, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(before)
        if bars:
            logging.enable_progress_bar()
