"""What stands on top of the encoder: one small module per task."""

from __future__ import annotations

from torch import Tensor, nn

from rota.errors import RotaError
from rota.models._features import Features
from rota.tasks import Kind, Span


class Head(nn.Module):
    """A linear layer on what the task's kind sees: the row, each choice, or each token."""

    def __init__(self, kind: Kind, width: int) -> None:
        super().__init__()
        self.kind = kind
        self.linear = nn.Linear(width, kind.width)

    def forward(self, features: Features) -> Tensor:
        """Outputs for the kind's `losses`: [N, width], or [N, L, width] for tokens."""
        if self.kind.sees != "tokens":
            return self.linear(features.rows)
        if features.tokens is None or features.mask is None:
            raise RotaError(f"A task of kind {self.kind!r} expects an encoder with one vector per token. Found none.")
        outputs = self.linear(features.tokens)
        if isinstance(self.kind, Span):  # an answer never begins or ends in the padding
            outputs = outputs.masked_fill(~features.mask[..., None], -1e9)
        return outputs
