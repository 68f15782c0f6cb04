"""The BiLSTMs of Guo et al. 2019 by name: their widths, and how many parameters they have."""

from __future__ import annotations

import torch

from rota.models.core import (
    Counted,
    Embeddings,
    FrozenLayers,
    PairBiLSTM,
    count_parameters,
    outline,
    pretrained,
    vocabulary_of,
)

WIDTHS = {"bilstm": 512, "bilstm-1024": 1024, "bilstm-embeddings": 512}
"""Numbers per direction: as printed, 1024 where RTE is the target."""
DROPOUT = 0.5
EMBEDDING_WIDTH = 300


def named_bilstm(kind: str, encoder: str, dropout: float | None = None) -> PairBiLSTM:
    """The BiLSTM of this name on the layers of an encoder, or on embeddings of its own for the tokens of that encoder.

    Args:
        kind: "bilstm", "bilstm-1024" or "bilstm-embeddings".
        encoder: Its name.
        dropout: None: 0.5, as in the released code.
    """
    own = kind == "bilstm-embeddings"
    vectors = (
        Embeddings(vocabulary_of(encoder), EMBEDDING_WIDTH) if own else FrozenLayers(pretrained(encoder).transformer)
    )
    return PairBiLSTM(vectors, width=WIDTHS[kind], dropout=DROPOUT if dropout is None else dropout)


def bilstm_counts(kind: str, encoder: str, tasks: int) -> Counted:
    """How many parameters it has; of the encoder the config alone is read.

    >>> bilstm_counts("bilstm-embeddings", "minilm", tasks=2).tasks
    2
    """
    with torch.device("meta"):
        plain = outline(encoder).transformer
        own = kind == "bilstm-embeddings"
        vectors = Embeddings(plain.config.vocab_size, EMBEDDING_WIDTH) if own else FrozenLayers(plain)
        return count_parameters(PairBiLSTM(vectors, width=WIDTHS[kind]), tasks)
