"""A transformer of the BERT family, layer by layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from rota.errors import RotaError


class Stack:
    """Embeddings and layers of a model of `transformers` that is built like BERT (RoBERTa, XLM-R, ELECTRA, CamemBERT).

    No module of its own: it only knows where the model keeps its parts.

    Args:
        transformer: The model.
    """

    def __init__(self, transformer: Any) -> None:
        layers = getattr(getattr(transformer, "encoder", None), "layer", None)
        parts = ("attention.self.query", "attention.output.dense", "intermediate.dense", "output.LayerNorm")
        if layers is None or not all(_has(layers[0], part) for part in parts):
            raise RotaError(
                f"Frozen layers and CA-MTL expect an encoder that is built like BERT or RoBERTa. Found "
                f"{type(transformer).__name__}. Use one of these, or leave Plan(freeze=…) out."
            )
        self._transformer = transformer
        self._typed = (getattr(transformer.config, "type_vocab_size", 0) or 0) > 1

    @property
    def layers(self) -> Sequence[nn.Module]:
        return self._transformer.encoder.layer

    @property
    def bottom(self) -> list[nn.Module]:
        """What comes before the first layer."""
        projection = getattr(self._transformer, "embeddings_project", None)  # ELECTRA's small models have one
        return [self._transformer.embeddings, *([] if projection is None else [projection])]

    def embed(self, inputs: dict[str, Tensor]) -> Tensor:
        """What the first layer reads, [N, L, D]."""
        named = {"token_type_ids": inputs["types"]} if self._typed else {}
        embeddings, *projection = self.bottom
        hidden = embeddings(input_ids=inputs["tokens"], **named)
        return projection[0](hidden) if projection else hidden


def hide_padding(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """What is added to attention scores to mask the padding: [N, L] makes [N, 1, 1, L].

    >>> hide_padding(torch.tensor([[True, True, False]]), torch.float32).exp().tolist()
    [[[[1.0, 1.0, 0.0]]]]
    """
    zero = torch.zeros((), dtype=dtype, device=mask.device)
    return torch.where(mask[:, None, None, :], zero, torch.finfo(dtype).min)


def _has(module: nn.Module, path: str) -> bool:
    try:
        module.get_submodule(path)
    except AttributeError:
        return False
    return True
