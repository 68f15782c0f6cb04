"""The sentence-pair encoder of AutoSeM: a BiLSTM that reads each sentence by itself."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from rota.models.core._features import Encoder, Features
from rota.models.core._vectors import Vectors


class PairBiLSTM(Encoder):
    """A BiLSTM shared by both sentences of a pair, each read by itself and max-pooled over time (AutoSeM):

        h = [u; v; u ⋆ v; |u − v|]

    A row `[CLS] a [SEP] b [SEP]` is cut into `[CLS] a [SEP]` and `[CLS] b [SEP]`: neither the vectors nor the BiLSTM
    let one sentence look at the other. An empty second sentence is read as `[CLS] [SEP]`. A row without a second
    sentence becomes [u; 0; 0; 0], because heads want one width: a linear head on it equals one on u alone, except that
    its initial weights are drawn for four times as many inputs. For the same reason the vector of a token is its state
    in the BiLSTM followed by zeros.

    Padding never leaks: a row gives the same numbers whatever it is padded to.

    Args:
        vectors: Where the vectors of the tokens come from: `FrozenLayers` of a pretrained encoder, or `Embeddings`.
        layers: Of the BiLSTM.
        width: Numbers per direction of the BiLSTM. u has twice as many, and heads see eight times as many.
        dropout: On what each layer of the BiLSTM reads.

    Reference: Guo, Pasunuru & Bansal, "AutoSeM: Automatic Task Selection and Mixing in Multi-Task Learning",
    section 3.1. The paper uses two layers of 512, and of 1024 where RTE is the primary task: models `bilstm` and
    `bilstm-1024`.

    Where this differs from the released code: the second layer reads both directions of the first, whereas theirs are
    two separate stacks, and the four parts stand in the order of the paper. Special tokens are part of a sentence.

    >>> from rota.models import Embeddings
    >>> encoder = PairBiLSTM(Embeddings(vocabulary=50, width=8), layers=1, width=16, dropout=0.0)
    >>> pair = {"tokens": torch.tensor([[1, 7, 2, 9, 2]]), "types": torch.tensor([[0, 0, 0, 1, 1]])}
    >>> encoder({**pair, "mask": torch.ones(1, 5, dtype=torch.bool)}).rows.shape  # [u; v; u ⋆ v; |u − v|]
    torch.Size([1, 128])
    """

    def __init__(self, vectors: Vectors, layers: int = 2, width: int = 512, dropout: float = 0.5) -> None:
        super().__init__()
        self.width = 4 * 2 * width
        self._recipe = {"layers": layers, "width": width, "dropout": dropout}
        self.vectors = vectors
        self.dropout = nn.Dropout(dropout)
        between = dropout if layers > 1 else 0.0
        self.lstm = nn.LSTM(vectors.width, width, layers, batch_first=True, dropout=between, bidirectional=True)

    def describe(self) -> dict[str, Any]:
        return {"type": "PairBiLSTM", "vectors": self.vectors.describe(), **self._recipe}

    def added(self) -> dict[str, list[nn.Parameter]]:
        """What stands on the vectors, part by part."""
        parts = {"mix of the layers": self.vectors.added(), "BiLSTM": list(self.lstm.parameters())}
        return {name: own for name, own in parts.items() if own}

    def forward(self, inputs: dict[str, Tensor]) -> Features:
        tokens, mask = inputs["tokens"], inputs["mask"]
        n = len(tokens)
        second = mask & (inputs["types"] > 0)
        opening = mask & (mask.cumsum(1) == 1)
        sentences = torch.cat([mask & ~second, second | opening])  # which places of its row each sentence takes
        lengths = sentences.sum(1).clamp(min=1).cpu()
        if lengths[n:].max() == 1:  # no row has a second sentence
            sentences, lengths = sentences[:n], lengths[:n]
        states, pooled = self._read(tokens, sentences, lengths)

        reader = torch.arange(n, device=tokens.device)[:, None] + n * second  # which sentence has a place of the row
        slots = sentences.cumsum(1) - 1  # where in the sentence it is
        slots = torch.where(second, slots[-n:], slots[:n])
        found = states[reader, slots].masked_fill(~mask[..., None], 0)

        u = pooled[:n]
        if len(pooled) == n:
            rows = F.pad(u, (0, self.width - u.shape[-1]))
        else:
            v = pooled[n:]
            others = torch.cat([v, u * v, (u - v).abs()], -1)
            rows = torch.cat([u, others.masked_fill(~second.any(1, keepdim=True), 0)], -1)
        return Features(rows, F.pad(found, (0, self.width - found.shape[-1])), mask)

    def _read(self, tokens: Tensor, sentences: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """The states [M, S, 2·width] of M sentences and their maxima over time [M, 2·width]."""
        longest = int(lengths.max())
        places = sentences.int().argsort(dim=1, descending=True, stable=True)[:, :longest]
        words = tokens.repeat(len(sentences) // len(tokens), 1).gather(1, places)
        real = torch.arange(longest, device=tokens.device) < lengths.to(tokens.device)[:, None]
        x = self.dropout(self.vectors(words, real))
        packed, _ = self.lstm(pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False))
        states, _ = pad_packed_sequence(packed, batch_first=True)
        return states, states.masked_fill(~real[..., None], -torch.inf).amax(1)
