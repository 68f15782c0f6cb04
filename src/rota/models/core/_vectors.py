"""What a recurrent encoder reads: one vector per token, learned or taken from a frozen encoder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class Vectors(nn.Module):
    """Turns `tokens` [N, L] with their `mask` [N, L] into vectors [N, L, width]; padding stands at the end of a row and
    may get any vector."""

    width: int

    def describe(self) -> dict[str, Any]:
        """Plain JSON from which it can be made again, without its weights."""
        raise TypeError(f"{type(self).__name__} is a source of vectors that cannot be described")

    def added(self) -> list[nn.Parameter]:
        """What is trained of it beside vectors that were there before."""
        return []

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        raise TypeError(f"{type(self).__name__} is a source of vectors without a forward pass")


class Embeddings(Vectors):
    """One learned vector for each token, wherever it stands.

    Args:
        vocabulary: Number of tokens.
        width: Numbers per token.

    >>> tokens = torch.tensor([[3, 7, 3]])
    >>> found = Embeddings(vocabulary=50, width=8)(tokens, tokens > 0)
    >>> found.shape, torch.equal(found[0, 0], found[0, 2])  # the same token, the same vector
    (torch.Size([1, 3, 8]), True)
    """

    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__()
        self.width = width
        self.words = nn.Embedding(vocabulary, width)

    def describe(self) -> dict[str, Any]:
        return {"type": "Embeddings", "vocabulary": self.words.num_embeddings, "width": self.width}

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        return self.words(tokens)


class FrozenLayers(Vectors):
    """All layers of a frozen pretrained encoder under a learned mix, as AutoSeM uses the three layers of ELMo:

        x = γ · Σ_j s_j · h_j

    The scalars s_j are plain numbers without a softmax. They begin as draws from a normal distribution of deviation
    1/√(number of layers), cut off at two deviations, and γ begins at 1. The h_j are the embeddings and the output of
    each layer; the encoder gets no gradients and stays in evaluation mode, so its dropout never acts.

    Args:
        encoder: A model of `transformers` that returns its hidden states. Its parameters are frozen in place.

    Where this differs from the released code of AutoSeM: that has no γ, which is the factor of ELMo. It adds nothing
    that the scalars could not learn, but lets them change together in one step.

    >>> from transformers import BertConfig, BertModel
    >>> sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    >>> vectors = FrozenLayers(BertModel(BertConfig(vocab_size=50, **sizes)))
    >>> [name for name, parameter in vectors.named_parameters() if parameter.requires_grad]
    ['scalars', 'factor']
    >>> vectors.scalars.shape  # the embeddings and two layers
    torch.Size([3])
    """

    def __init__(self, encoder: PreTrainedModel) -> None:
        super().__init__()
        self.encoder = encoder.requires_grad_(False).eval()
        self.width = int(encoder.config.hidden_size)
        layers = int(encoder.config.num_hidden_layers) + 1
        deviation = layers**-0.5
        self.scalars = nn.Parameter(torch.empty(layers))
        nn.init.trunc_normal_(self.scalars, std=deviation, a=-2 * deviation, b=2 * deviation)
        self.factor = nn.Parameter(torch.ones(()))

    def describe(self) -> dict[str, Any]:
        pooler = getattr(self.encoder, "pooler", None) is not None
        return {"type": "FrozenLayers", "config": self.encoder.config.to_dict(), "pooler": pooler}

    def added(self) -> list[nn.Parameter]:
        return [self.scalars, self.factor]

    def train(self, mode: bool = True) -> FrozenLayers:
        """Sets the mode of the mix; the encoder remains in evaluation mode."""
        super().train(mode)
        self.encoder.eval()
        return self

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        with torch.no_grad():
            found = self.encoder(input_ids=tokens, attention_mask=mask.long(), output_hidden_states=True)
            layers = torch.stack(found.hidden_states)
        return self.factor * torch.tensordot(self.scalars, layers, dims=1)
