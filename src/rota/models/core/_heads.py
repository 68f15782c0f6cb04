"""What stands on top of the encoder: one small module per task."""

from __future__ import annotations

import functools

import torch
from torch import Tensor, nn

from rota.errors import RotaError
from rota.models.core._features import Features, HeadStyle
from rota.tasks import MASKED, Kind, Span


class Head(nn.Module):
    """A linear layer, or two, on what the task's kind sees: the row, each choice, each token, or the row beside the
    means over some places in it.

    >>> from rota.tasks import Classification, Tagging
    >>> features = Features(torch.zeros(2, 16), torch.zeros(2, 5, 16), torch.ones(2, 5, dtype=torch.bool))
    >>> Head(Classification(3), width=16)(features).shape, Head(Tagging(9), width=16)(features).shape
    (torch.Size([2, 3]), torch.Size([2, 5, 9]))
    """

    def __init__(self, kind: Kind, width: int, style: HeadStyle = HeadStyle()) -> None:  # noqa: B008 - immutable
        super().__init__()
        self.kind = kind
        seen = width * (1 + kind.spans)
        self.dropout = nn.Dropout(style.dropout) if style.dropout else nn.Identity()
        self.linear: nn.Module
        if style.hidden is None:
            self.linear = nn.Linear(seen, kind.width)
        else:
            self.linear = nn.Sequential(nn.Linear(seen, style.hidden), nn.ReLU(), nn.Linear(style.hidden, kind.width))
        if style.deviation is not None:
            for module in self.linear.modules():
                if isinstance(module, nn.Linear):
                    nn.init.normal_(module.weight, std=style.deviation)
                    nn.init.zeros_(module.bias)

    @functools.cached_property
    def layers(self) -> list[nn.Linear]:
        """Its linear layers; a ReLU stands between two."""
        return [layer for layer in self.linear.modules() if isinstance(layer, nn.Linear)]

    @property
    def share(self) -> float:
        """Of what it sees that dropout leaves out."""
        return self.dropout.p if isinstance(self.dropout, nn.Dropout) else 0.0

    def forward(self, features: Features, spans: Tensor | None = None) -> Tensor:
        """Outputs for the kind's `losses`: [N, width], or [N, L, width] for tokens."""
        if self.kind.sees in ("row", "choices"):
            return self.linear(self.dropout(features.rows))
        if features.tokens is None or features.mask is None:
            raise RotaError(f"A task of kind {self.kind!r} expects an encoder with one vector per token. Found none.")
        if self.kind.sees == "spans":
            assert spans is not None, "the data of the task say where to look"
            means = _means(features.tokens, spans)
            return self.linear(self.dropout(torch.cat([features.rows, means.flatten(1)], dim=-1)))
        outputs = self.linear(self.dropout(features.tokens))
        if isinstance(self.kind, Span):  # an answer never begins or ends in the padding
            outputs = outputs.masked_fill(~features.mask[..., None], MASKED)
        return outputs


def _means(tokens: Tensor, spans: Tensor) -> Tensor:
    """Mean over the tokens of each span: [N, L, D] and [N, S, 2] (first and last token) make [N, S, D]."""
    places = torch.arange(tokens.shape[1], device=tokens.device)
    inside = (places >= spans[..., :1]) & (places <= spans[..., 1:])
    weights = inside.to(tokens.dtype) / inside.sum(-1, keepdim=True).clamp(min=1)
    return weights @ tokens
