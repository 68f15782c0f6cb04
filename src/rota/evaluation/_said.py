"""What a language model says to rows, and which of several completions it would choose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from rota.arrays import Ids
from rota.data import LanguageRows, Tokenizer
from rota.draws import Shard
from rota.engine import at_least_float
from rota.errors import RotaError
from rota.models import LanguageModel
from rota.tasks import Causal, Rows, RowStats, Task, exact_match, overlap_f1, rouge_l

OF_TEXTS = {
    "exact_match": lambda said, wanted: exact_match(said, [wanted]),
    "f1": lambda said, wanted: overlap_f1(said, [wanted]),
    "rouge_l": rouge_l,
}
"""Metrics of a text that was said, beside the one that is right."""


def said_about(model: nn.Module, task: Task, rows: Rows, batch_size: int, shard: Shard, gather: Any) -> RowStats:
    """For each row the metrics that only an answer brings; nothing where the task has none of these.

    Args:
        model: A language model, where the task has such metrics.
        task: Its kind says which metrics.
        rows: Of the task.
        batch_size: Rows that are answered together.
        shard, gather: In several processes: which rows are this process's, and how results come together.
    """
    asked = task.kind.asked if isinstance(task.kind, Causal) else ()
    if not asked:
        return {}
    if not isinstance(model, LanguageModel) or not isinstance(rows, LanguageRows):
        raise RotaError(
            f"Task '{task.name}' expects a language model that answers, for its metrics {', '.join(asked)}. Found "
            f"{type(model).__name__}. Measure it by likelihood."
        )
    if "choice_accuracy" in asked and not rows.has_options:
        raise RotaError(
            f"Task '{task.name}' expects completions to choose from, for its metric choice_accuracy. Found none. Name "
            f"their column: choices: …"
        )
    own: list[tuple[int, dict[str, float]]] = []
    numbers = list(range(len(rows)))[shard.rank :: shard.world]
    texts = [name for name in asked if name in OF_TEXTS]
    for start in range(0, len(numbers), batch_size) if texts else ():
        chunk = numbers[start : start + batch_size]
        answers = spoken(model, [rows.prompt(k) for k in chunk], rows.tokenizer, _most(rows))
        for number, answer in zip(chunk, answers, strict=True):
            own.append((number, {name: float(OF_TEXTS[name](answer, rows.reference(number))) for name in texts}))
    if "choice_accuracy" in asked:
        own += [(number, {"choice_accuracy": _chooses_right(model, task, rows, number)}) for number in numbers]
    found: dict[int, dict[str, float]] = {}
    for number, values in (pair for pairs in gather(own) for pair in pairs):
        found.setdefault(number, {}).update(values)
    return {name: torch.tensor([found[k][name] for k in range(len(rows))]) for name in asked}


def spoken(model: LanguageModel, prompts: Sequence[Ids], tokenizer: Tokenizer, most: int) -> list[str]:
    """The likeliest answer to each prompt, as a text.

    Args:
        model: Goes on with the prompts.
        prompts: Their tokens.
        tokenizer: Of the model.
        most: Tokens in an answer, at most.

    >>> import numpy as np
    >>> from transformers import LlamaConfig, LlamaForCausalLM
    >>> sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    >>> model = LanguageModel(LlamaForCausalLM(LlamaConfig(vocab_size=30522, **sizes)), {})
    >>> len(spoken(model.eval(), [np.array([7592]), np.array([7592, 2088])], Tokenizer("minilm"), most=2))
    2
    """
    ends = [] if tokenizer.end is None else [tokenizer.end]
    said = model.generate(prompts, most, ends, tokenizer.padding)
    return [tokenizer.text(tokens) for tokens in said]


def _most(rows: LanguageRows) -> int:
    """Tokens of the longest completion."""
    return max(1, int(rows.side["tokens"].max()))


@torch.no_grad()
def _chooses_right(model: LanguageModel, task: Task, rows: LanguageRows, number: int) -> float:
    """1 where the right completion is the likeliest one, all its tokens together."""
    batch, right = rows.options(number)
    batch = batch.to(next(model.parameters()).device)
    nll = task.kind.row_stats(at_least_float(model(task.name, batch.inputs)), batch.labels)["nll"]
    return float(int(nll.argmin()) == right)
