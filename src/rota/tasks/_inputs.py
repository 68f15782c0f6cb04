"""What rows look like to an encoder."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Pictures:
    """Grey pictures: `image` [N, 1, side, side].

    >>> Pictures(side=8)
    Pictures(side=8)
    """

    side: int


@dataclass(frozen=True)
class Tokens:
    """Texts as numbers: `tokens` [N, L], 0 is padding; [N, C, L] where there are choices.

    >>> Tokens(vocabulary=1000, longest=64)
    Tokens(vocabulary=1000, longest=64)
    """

    vocabulary: int
    longest: int


@dataclass(frozen=True)
class Texts:
    """Texts as the tokenizer of a pretrained encoder cuts them: `tokens`, `mask` and `types` (1 from the second text
    on), each [N, L], or [N, C, L] where there are choices; `spans` [N, S, 2] where places in the text matter.

    Args:
        encoder: Whose tokenizer: the name of the encoder.
        longest: Most tokens in a row.

    >>> Texts(encoder="minilm", longest=128)
    Texts(encoder='minilm', longest=128)
    """

    encoder: str
    longest: int


@dataclass(frozen=True)
class Continuations:
    """Texts that a language model goes on with: `tokens` and their `mask`, each [N, L], and the `places` [N, T] whose
    next tokens are the labels. In packed rows also `positions`, which begin anew with each text, and the numbers of the
    texts, `blocks`; -1 is padding.

    Args:
        model: Whose tokenizer: the name of the model.
        longest: Most tokens in a row.

    >>> Continuations(model="smollm2", longest=512)
    Continuations(model='smollm2', longest=512)
    """

    model: str
    longest: int


Inputs = Pictures | Tokens | Texts | Continuations
"""What the rows of a task look like to an encoder."""
