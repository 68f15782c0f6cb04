"""The forward pass of several transformers of the BERT family at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from rota.errors import RotaError
from rota.models.core._pretrained import Pooling, Pretrained
from rota.models.core._seeded_dropout import Dropping
from rota.models.core._stack import Stack
from rota.models.core._stacked_text_layers import Packing, StackedLayers

WORDS = "transformer.embeddings.word_embeddings.weight"
BOTTOM = "transformer.embeddings."
MATRICES = ("attention.self.query", "attention.self.key", "attention.self.value")
INSIDE = ("attention.output.dense", "intermediate.dense", "output.dense")
NORMS = ("attention.output.LayerNorm", "output.LayerNorm")
DROPOUTS_INSIDE = ("attention.output.dropout", "output.dropout")
POOLER = "transformer.pooler.dense"


@dataclass(frozen=True)
class StackedTexts:
    """Encoders of one structure: embeddings of tokens, places and types; layers of attention and GELU; a pooling.

    Args:
        layers, width, heads, inner: Of the transformer.
        vocabulary, places, types: Rows of its three tables.
        first: Which row of the table of places is that of a text's first token.
        eps: Of its layer norms.
        dropped, dropped_attention: By dropout.
        pooling: How tokens become rows.

    >>> texts = StackedTexts(1, 8, 2, 16, 50, 20, 2, 0, 1e-12, 0.1, 0.1, "mean")
    >>> texts.points, len(texts.names[0]), texts.joined[0][0].partition("layer.")[2]
    (5, 8, '0.attention.self.query.weight')
    """

    layers: int
    width: int
    heads: int
    inner: int
    vocabulary: int
    places: int
    types: int
    first: int
    eps: float
    dropped: float
    dropped_attention: float
    pooling: Pooling

    @property
    def words(self) -> str:
        """The name of its table of tokens."""
        return WORDS

    @property
    def names(self) -> tuple[list[str], list[str]]:
        """Its matrices and its vectors, without the table of tokens. Those of queries, keys and values stand side by
        side, so that one product has all three."""
        matrices = [f"{BOTTOM}position_embeddings.weight", f"{BOTTOM}token_type_embeddings.weight"]
        vectors = [f"{BOTTOM}LayerNorm.weight", f"{BOTTOM}LayerNorm.bias"]
        for number in range(self.layers):
            own = f"transformer.encoder.layer.{number}."
            matrices += [f"{own}{name}.weight" for name in (*MATRICES, *INSIDE)]
            vectors += [f"{own}{name}.bias" for name in (*MATRICES, *INSIDE)]
            vectors += [f"{own}{name}.{kind}" for name in NORMS for kind in ("weight", "bias")]
        if self.pooling == "pooled":
            matrices.append(f"{POOLER}.weight")
            vectors.append(f"{POOLER}.bias")
        return matrices, vectors

    @property
    def joined(self) -> list[list[str]]:
        """Parameters that are used as one."""
        layers = [f"transformer.encoder.layer.{number}." for number in range(self.layers)]
        return [[f"{own}{name}.{kind}" for name in MATRICES] for own in layers for kind in ("weight", "bias")]

    @property
    def points(self) -> int:
        """At which something may be dropped: the embeddings, three times in a layer, what the heads see."""
        return 2 + 3 * self.layers

    def __call__(
        self,
        weights: Mapping[str, Tensor],
        words: Tensor,
        types: Tensor,
        layers: StackedLayers,
        seeds: Tensor | None = None,
    ) -> Tensor:
        """Rows for the heads, [S, B, D] in single precision.

        Args:
            weights: By name, [S, …]; queries, keys and values under the name of the queries.
            words: What the table of tokens says of the tokens, [S, T, D].
            types: Of the tokens, [S, T].
            layers: Made for where the tokens are.
            seeds: Of the dropout, [points, S]; None: there is none.
        """
        bottom = _Bottom.apply(
            weights[f"{BOTTOM}position_embeddings.weight"],
            weights[f"{BOTTOM}token_type_embeddings.weight"],
            types,
            layers.where,
            self.first,
        )
        norm = _both(weights, f"{BOTTOM}LayerNorm")
        total = (words + bottom).to(norm[0].dtype)
        values = layers.first_norm(total, *norm, self.eps, dropping_at(seeds, 0, self.dropped))
        for number in range(self.layers):
            values = self._layer(weights, number, values, layers, seeds)
        return self._pooled(weights, values, layers)

    def _layer(
        self, weights: Mapping[str, Tensor], number: int, values: Tensor, layers: StackedLayers, seeds: Tensor | None
    ) -> Tensor:
        own, point = f"transformer.encoder.layer.{number}.", 1 + 3 * number
        three = layers.linear(values, *_both(weights, own + MATRICES[0]))
        seen = layers.attention(three, self.heads, dropping_at(seeds, point, self.dropped_attention))
        seen = layers.linear(seen, *_both(weights, own + INSIDE[0]))
        dropping = dropping_at(seeds, point + 1, self.dropped)
        values = layers.norm(values, seen, *_both(weights, own + NORMS[0]), self.eps, dropping)
        inner = layers.linear(values, *_both(weights, own + INSIDE[1]), gelu=True)
        inner = layers.linear(inner, *_both(weights, own + INSIDE[2]))
        dropping = dropping_at(seeds, point + 2, self.dropped)
        return layers.norm(values, inner, *_both(weights, own + NORMS[1]), self.eps, dropping)

    def _pooled(self, weights: Mapping[str, Tensor], values: Tensor, layers: StackedLayers) -> Tensor:
        where = layers.where
        rows = torch.arange(where.inside.shape[1], device=values.device)
        owner = (where.row[:, None] == rows[:, None]) & where.real[:, None]
        if self.pooling != "mean":
            owner = owner & (where.offset == 0)[:, None]
        found = torch.bmm(owner.to(values.dtype), values)
        if self.pooling == "mean":
            return found.float() / where.inside.sum(-1).clamp(min=1)[..., None]
        if self.pooling == "pooled":
            found = layers.linear(found, *_both(weights, POOLER)).tanh()
        return found.float()


def dropping_at(seeds: Tensor | None, point: int, share: float) -> Dropping | None:
    """Dropout at one of the points; None where nothing is dropped.

    >>> dropping_at(None, 0, share=0.1), dropping_at(torch.ones(5, 2), 0, share=0.0)
    (None, None)
    """
    return None if seeds is None or not share else Dropping(seeds[point], share)


class _Bottom(torch.autograd.Function):
    """What places and types add to the tokens, [S, T, D] in single precision."""

    @staticmethod
    def forward(saved: object, places: Tensor, types: Tensor, kinds: Tensor, where: Packing, first: int) -> Tensor:
        members, tokens = kinds.shape
        rows = torch.arange(members, device=kinds.device)[:, None]
        saved.where, saved.first, saved.shapes = where, first, (places.shape, types.shape)  # type: ignore[attr-defined]
        saved.save_for_backward(kinds)  # type: ignore[attr-defined]
        offset = where.offset.clamp(max=where.inside.shape[2] - 1)
        at = (rows * places.shape[1] + first + offset).flatten()
        which = (rows * types.shape[1] + kinds).flatten()
        found = places.flatten(0, 1).index_select(0, at).float() + types.flatten(0, 1).index_select(0, which)
        return found.view(members, tokens, -1)

    @staticmethod
    def backward(saved: object, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (kinds,) = saved.saved_tensors  # type: ignore[attr-defined]
        where, first, (places, types) = saved.where, saved.first, saved.shapes  # type: ignore[attr-defined]
        members, rows, width = where.inside.shape
        own = gradients[0]
        padded = own.flatten(0, 1).index_select(0, where.slot) * where.inside.view(-1, 1)
        ones = own.new_ones(1, 1, 1).expand(members, 1, rows)
        of_places = own.new_zeros(places)
        of_places[:, first : first + width] = torch.bmm(ones, padded.view(members, rows, -1)).view(members, width, -1)
        chosen = kinds[:, None] == torch.arange(types[1], device=kinds.device)[:, None]
        return of_places, torch.bmm(chosen.to(own.dtype), own), None, None, None


def _both(weights: Mapping[str, Tensor], name: str) -> tuple[Tensor, Tensor]:
    return weights[f"{name}.weight"], weights[f"{name}.bias"]


def _share(layer: nn.Module, name: str) -> float:
    """What a layer's dropout of this name leaves out."""
    found = layer.get_submodule(name)
    return found.p if isinstance(found, nn.Dropout) else 0.0


def stacked_texts(encoder: Pretrained) -> StackedTexts | str:
    """The structure of an encoder, for a stack of such; a string says why there is none.

    >>> from transformers import BertConfig, BertModel, DistilBertConfig, DistilBertModel
    >>> sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    >>> stacked_texts(Pretrained(BertModel(BertConfig(vocab_size=50, **sizes)), "mean")).heads
    2
    >>> stacked_texts(Pretrained(DistilBertModel(DistilBertConfig(vocab_size=50, dim=12, n_layers=1)), "mean"))
    'DistilBertModel has other embeddings than BERT'
    """
    transformer, config = encoder.transformer, encoder.transformer.config
    kind = type(transformer).__name__
    try:
        layers = Stack(transformer).layers
    except RotaError:
        return f"{kind} is not built like BERT"
    bottom = transformer.embeddings
    tables = [getattr(bottom, f"{name}_embeddings", None) for name in ("word", "position", "token_type")]
    obstacles = {
        f"{kind} has other embeddings than BERT": not all(isinstance(own, nn.Embedding) for own in tables),
        f"{kind} reads from left to right": getattr(config, "is_decoder", False),
        f"the activation of {kind} is not GELU": getattr(config, "hidden_act", None) != "gelu",
        f"the places of {kind} are relative": getattr(config, "position_embedding_type", "absolute") != "absolute",
        "some of its layers are frozen": bool(encoder.frozen),
        "its parameters are not in single precision, or not all trained": any(
            own.dtype != torch.float32 or not own.requires_grad for own in encoder.parameters()
        ),
    }
    reason = next((reason for reason, holds in obstacles.items() if holds), None)
    if reason is not None:
        return reason
    shares = [float(bottom.dropout.p), *(_share(own, name) for own in layers for name in DROPOUTS_INSIDE)]
    attended = [_share(own, "attention.self.dropout") for own in layers]
    if len({*shares}) > 1 or len({*attended}) > 1 or max(*shares, *attended) >= 1:
        return f"not all layers of {kind} have the same dropout"
    words, places, types = tables
    assert isinstance(words, nn.Embedding)
    assert isinstance(places, nn.Embedding)
    assert isinstance(types, nn.Embedding)
    found = StackedTexts(
        layers=len(layers),
        width=encoder.width,
        heads=int(config.num_attention_heads),
        inner=int(config.intermediate_size),
        vocabulary=words.num_embeddings,
        places=places.num_embeddings,
        types=types.num_embeddings,
        first=0 if places.padding_idx is None else places.padding_idx + 1,
        eps=float(config.layer_norm_eps),
        dropped=shares[0],
        dropped_attention=attended[0],
        pooling=encoder.pooling,
    )
    known = {WORDS, *found.names[0], *found.names[1]}
    strange = {name for name, _ in encoder.named_parameters()} ^ known
    strange -= {f"{POOLER}.weight", f"{POOLER}.bias"}  # which nobody asks
    return f"{kind} has other parameters than BERT: {min(strange)}" if strange else found
