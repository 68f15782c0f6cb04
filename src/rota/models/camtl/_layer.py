"""A layer of the BERT family with what CA-MTL adds to it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from rota.models.camtl._attention import BlockBias
from rota.models.camtl._bottleneck import Bottleneck
from rota.models.camtl._norm import ConditionalNorm


class ConditionalLayer(nn.Module):
    """A pretrained layer and the conditional parts that it has.

    Args:
        base: The pretrained layer, which keeps its own parts.
        bias: Of its attention.
        norms: The layer norms after attention and after the feed-forward part.
        bottleneck: The narrow part.
        form: Where the bottleneck is: "top" and "released-top" for the layer, "stream" and "released-stream" beside it.
        last_norm: After the bottleneck of "released-top".
    """

    def __init__(
        self,
        base: Any,
        bias: BlockBias | None,
        norms: tuple[ConditionalNorm, ConditionalNorm] | None,
        bottleneck: Bottleneck | None,
        form: str,
        last_norm: ConditionalNorm | None = None,
    ) -> None:
        super().__init__()
        self.base, self.bias, self.bottleneck, self.form, self.last_norm = base, bias, bottleneck, form, last_norm
        self.attention_norm: ConditionalNorm | None = norms[0] if norms else None
        self.output_norm: ConditionalNorm | None = norms[1] if norms else None

    @property
    def conditional(self) -> bool:
        """Whether any task has a say in it."""
        return any(part is not None for part in (self.bias, self.attention_norm, self.output_norm, self.bottleneck))

    def forward(
        self, hidden: Tensor, hiding: Tensor, stream: Tensor | None, z_T: Tensor, rows: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        """What the layer makes of its input, and what the stream beside it carries on.

        Args:
            hidden: [N, L, D].
            hiding: What hides the padding from the attention, [N, 1, 1, L].
            stream: What the layer below put on the stream beside the layers; None at first, and where there is none.
            z_T: What the layers see of the tasks, [T, D].
            rows: Which task each row belongs to; None: all to the one.
        """
        if self.bias is not None:
            own = self.bias(z_T, hidden.shape[1])
            hiding = hiding + (own if rows is None else own[rows])[:, None]
            if hidden.is_cuda and torch.is_grad_enabled() and not hidden.requires_grad:
                # torch's attention kernel finds no gradient for its mask where nothing else wants one.
                hidden = hidden.detach().requires_grad_()
        attention, output = self.base.attention, self.base.output
        seen = attention.self(hidden, attention_mask=hiding)[0]
        seen = attention.output.dropout(attention.output.dense(seen)) + hidden
        attended = _normed(seen, attention.output.LayerNorm, self.attention_norm, z_T, rows)
        found = output.dropout(output.dense(self.base.intermediate(attended)))
        if self.bottleneck is not None and self.form == "top":
            found = found + self.bottleneck(found, z_T, rows)
        hidden = _normed(found + attended, output.LayerNorm, self.output_norm, z_T, rows)
        if self.bottleneck is None or self.form == "top":
            return hidden, stream
        if self.form == "released-top":
            narrow = self.bottleneck(hidden, z_T, rows) + attended
            return _normed(narrow, output.LayerNorm, self.last_norm, z_T, rows), stream
        return hidden, self.bottleneck(hidden if stream is None else hidden + stream, z_T, rows)


def _normed(x: Tensor, norm: nn.LayerNorm, conditional: nn.Module | None, z_T: Tensor, rows: Tensor | None) -> Tensor:
    found: torch.Tensor = norm(x) if conditional is None else conditional(x, norm, z_T, rows)
    return found
