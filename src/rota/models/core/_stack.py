"""A transformer layer by layer, as far as its modules show how it is built."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from rota.errors import RotaError

BERT_FORM = {
    "": {"attention", "intermediate", "output"},
    "attention": {"self", "output"},
    "attention.self": {"query", "key", "value", "dropout"},
    "attention.output": {"dense", "LayerNorm", "dropout"},
    "output": {"dense", "LayerNorm", "dropout"},
}
"""The parts of a layer of BERT. A layer with other parts, or more of them, computes something else."""


class Stack:
    """The layers of a model of `transformers`, and what comes before them.

    No module of its own: it only knows where the model keeps its parts. The layers are the uppermost list of modules.

    Args:
        transformer: The model.
    """

    def __init__(self, transformer: Any) -> None:
        self._transformer = transformer
        found = [name for name, module in transformer.named_modules() if isinstance(module, nn.ModuleList)]
        self._path = min(found, key=lambda name: name.count("."), default="")
        self.depth = int(getattr(transformer.config, "num_hidden_layers", 0) or 0)
        """How many layers rows pass."""
        self.like_bert = self._like_bert()
        """Whether layers are those of BERT, which can be called one after the other, and taken apart."""

    @property
    def layers(self) -> Sequence[nn.Module]:
        """Each with weights of its own."""
        found: Any = self._transformer.get_submodule(self._path) if self._path else []
        if not len(found) or any(isinstance(layer, nn.ModuleList) for layer in found):
            raise RotaError(
                f"Expected an encoder whose layers stand in one list. Found {type(self._transformer).__name__}, which "
                f"has no such list. Leave Plan(freeze=…) out, or use another encoder."
            )
        inside = [list(layer.children()) for layer in found]
        if all(len(own) == 1 and isinstance(own[0], nn.ModuleList) for own in inside):  # ALBERT has them in groups
            return [layer for own in inside for layer in own[0].children()]
        layers: Sequence[nn.Module] = found
        return layers

    @property
    def shared(self) -> bool:
        """Whether rows pass the same layers several times, as in ALBERT."""
        return len(self.layers) < self.depth

    def lowest(self, count: int) -> list[nn.Module]:
        """So many layers from below."""
        if self.shared and count not in (0, self.depth):
            raise RotaError(
                f"Frozen layers expect 0 or {self.depth}, all of them, where layers share their weights as in "
                f"{type(self._transformer).__name__}. Found {count}. Use Plan(freeze={self.depth}), or leave it out."
            )
        return list(self.layers)[:count]

    @property
    def bottom(self) -> list[nn.Module]:
        """What the lowest layer reads: what stands before the list of layers, and what stands beside it."""
        before = []
        for own, module in self._transformer.named_children():
            if own == self._path.partition(".")[0]:
                break
            before.append(module)
        return [*before, *self.beside]

    @property
    def beside(self) -> list[nn.Module]:
        """What stands in the same part as the list of layers and serves all of them, such as embeddings of relative
        positions."""
        body, _, name = self._path.rpartition(".")
        children = self._transformer.get_submodule(body).named_children() if body else []
        return [module for own, module in children if own != name]

    def _like_bert(self) -> bool:
        parts = {name for name, _ in self._transformer.named_children()}
        beside = {name for name, _ in self._transformer.encoder.named_children()} if "encoder" in parts else set()
        return (
            parts <= {"embeddings", "embeddings_project", "encoder", "pooler"}
            and beside == {"layer"}
            and all(_has_form(layer) for layer in self.layers)
        )

    def refuse_unless_like_bert(self, what: str, instead: str) -> None:
        """Refuse what takes layers of BERT apart."""
        if not self.like_bert:
            raise RotaError(
                f"{what} expects an encoder that is built like BERT: layers of query, key and value, a layer norm "
                f"after the attention and one after the feed-forward part, as BERT, RoBERTa, XLM-R, CamemBERT and "
                f"ELECTRA have. Found {type(self._transformer).__name__}. Use one of these, or {instead}."
            )

    def embed(self, inputs: dict[str, Tensor]) -> Tensor:
        """What the first layer of an encoder that is built like BERT reads, [N, L, D]."""
        named = {"token_type_ids": inputs["types"]} if takes_types(self._transformer) else {}
        embeddings, *projection = self.bottom  # ELECTRA's small models have one
        hidden: Tensor = embeddings(input_ids=inputs["tokens"], **named)
        return projection[0](hidden) if projection else hidden


def takes_types(transformer: Any) -> bool:
    """Whether it is told which half of a text a token is in.

    >>> from transformers import BertConfig, BertModel
    >>> tiny = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    >>> [takes_types(BertModel(BertConfig(vocab_size=50, type_vocab_size=types, **tiny))) for types in (1, 2)]
    [False, True]
    """
    types = getattr(transformer.config, "type_vocab_size", 0) or 0
    return types > 1 and "token_type_ids" in inspect.signature(transformer.forward).parameters


def hide_padding(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """What is added to attention scores to mask the padding: [N, L] makes [N, 1, 1, L].

    >>> hide_padding(torch.tensor([[True, True, False]]), torch.float32).exp().tolist()
    [[[[1.0, 1.0, 0.0]]]]
    """
    zero = torch.zeros((), dtype=dtype, device=mask.device)
    return torch.where(mask[:, None, None, :], zero, torch.finfo(dtype).min)


def _has_form(layer: nn.Module) -> bool:
    modules = dict(layer.named_modules())
    return all(
        path in modules and {name for name, _ in modules[path].named_children()} == names
        for path, names in BERT_FORM.items()
    ) and all(isinstance(modules[f"{path}.LayerNorm"], nn.LayerNorm) for path in ("attention.output", "output"))
