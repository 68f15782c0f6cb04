"""Pretrained transformers as encoders."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from rota.errors import RotaError
from rota.guarded import quiet
from rota.models.core._features import Encoder, Features, HeadStyle
from rota.models.core._stack import Stack, hide_padding, takes_types
from rota.tasks import repeated

Pooling = Literal["mean", "first", "pooled"]


class Pretrained(Encoder):
    """A transformer that reads texts in both directions (BERT, RoBERTa, DeBERTa, ELECTRA, ModernBERT, DistilBERT,
    MPNet, ALBERT, …), whole and trainable.

    Args:
        transformer: The model of `transformers`; `pretrained` loads one by name.
        pooling: How the tokens of a row become one vector: their mean (as sentence encoders such as `minilm` were
            trained), the first token (Glover & Hokamp 2019; Pilault et al. 2021), or the model's own pooler (Fang &
            Alqatari).
        hidden: Width of a ReLU layer in the heads (256 in Kourdis et al. 2024); None for linear heads.
        frozen: Layers from below that are frozen, together with the embeddings: they are not trained, and their dropout
            never acts. "half" of them, rounded down; 0: everything is trained. Of layers that share their weights
            (ALBERT) all are frozen, or none.

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
        _refuse_others(transformer, pooling)
        self.transformer = transformer
        self.depth: int | None = None
        self.pooling, self.hidden = pooling, hidden
        self.width = int(transformer.config.hidden_size)
        self._typed = takes_types(transformer)
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
        layers = max(len(self.stack.layers), self.stack.depth)
        count = layers // 2 if frozen == "half" else frozen
        if not isinstance(count, int) or not 0 <= count <= layers:
            raise RotaError(f"Frozen layers expect 0 to {layers} of them, or half. Found {frozen}.")
        self.stack.lowest(count)
        return count

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
        return self.stack.lowest(self.frozen) if self.frozen else []

    @property
    def separable(self) -> bool:
        """Whether what the frozen layers say of a row never changes, and can be asked of them alone."""
        return self.frozen > 0 and self.stack.like_bert

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
        self.stack.refuse_unless_like_bert("A guess from an early layer", "score with all layers")
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
        names = ("classifier_dropout", "hidden_dropout_prob", "dropout")  # the last one as DistilBERT calls it
        dropout = next((float(rate) for name in names if (rate := getattr(config, name, None)) is not None), 0.1)
        return HeadStyle(dropout, self.hidden, getattr(config, "initializer_range", 0.02))

    @property
    def known(self) -> list[str]:
        """The tasks that it treats differently."""
        return []

    def added(self) -> dict[str, list[nn.Parameter]]:
        """What a method added to the plain encoder, part by part."""
        return {}

    def describe(self) -> dict[str, Any]:
        config = self.transformer.config.to_dict()
        about = {"pooling": self.pooling, "pooler": self._pooler, "hidden": self.hidden, "frozen": self.frozen}
        return {"type": "Pretrained", "config": config, **about}

    def last_layers(self, count: int) -> Sequence[nn.Module]:
        layers = self.stack.layers
        if self.stack.shared:
            return super().last_layers(count)
        if not 1 <= count <= len(layers):
            raise RotaError(f"Dropout in the last layers expects 1 to {len(layers)} of them. Found {count}.")
        return list(layers)[-count:]

    def forward(self, inputs: dict[str, Tensor]) -> Features:
        mask = inputs["mask"]
        if self.separable or self.depth is not None:
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
                rows = self._pool(tokens)
        return Features(rows, tokens, mask)

    def _pool(self, tokens: Tensor) -> Tensor:
        pooler = self.transformer.pooler
        if isinstance(pooler, nn.Linear):  # ALBERT's takes the first token itself, and has its activation beside it
            found: Tensor = self.transformer.pooler_activation(pooler(tokens[:, 0]))
            return found
        found = pooler(tokens)
        return found

    def export(self, folder: Path) -> None:
        """Write the encoder so that `transformers.AutoModel.from_pretrained` finds it."""
        with quiet():
            self.transformer.save_pretrained(folder)


def _refuse_others(transformer: Any, pooling: Pooling) -> None:
    """Refuse what does not read texts, or reads them so that pooling would see nothing."""
    name, config = type(transformer).__name__, transformer.config
    asked = inspect.signature(transformer.forward).parameters
    if not {"input_ids", "attention_mask"} <= set(asked) or getattr(config, "is_encoder_decoder", False):
        raise RotaError(
            f"Expected an encoder of texts: a model of tokens and a mask, without a decoder. Found {name}. Use "
            f"Plan(model='minilm'), or an encoder such as BERT, RoBERTa, DeBERTa, ModernBERT, MPNet or ALBERT."
        )
    if not isinstance(getattr(config, "hidden_size", None), int):
        raise RotaError(
            f"Expected an encoder whose config says how wide it is (hidden_size). Found {name}. Use another encoder."
        )
    if pooling == "first" and any(getattr(module, "is_causal", False) is True for module in transformer.modules()):
        raise RotaError(
            f"Pooling 'first' expects an encoder whose first token sees the others. Found {name}, whose tokens see "
            f"only those before them. Use Plan(pooling='mean'), or an encoder such as BERT."
        )
