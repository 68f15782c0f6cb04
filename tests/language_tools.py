"""Folders of tiny language models with random weights, whose tokenizer knows a few words and all letters."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import yaml

WORDS = (
    *("the", "cat", "dog", "bird", "sat", "ran", "on", "in", "mat", "house"),
    *("tree", "red", "blue", "good", "bad", "user", "assistant"),
)
TEMPLATE = (
    "{% for message in messages %}<s>{{ message['role'] }} {{ message['content'] }}</s> {% endfor %}"
    "{% if add_generation_prompt %}<s>assistant {% endif %}"
)
SIZES: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 64,
    "initializer_range": 0.3,
}


def tokenizer(chat: bool = True) -> Any:
    """Words and letters, `<s>` before and `</s>` behind a message; nothing is added to a text."""
    import tokenizers
    from tokenizers import decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    special = ["<pad>", "<unk>", "<s>", "</s>", "<|endoftext|>"]
    pieces = [*special, *(chr(k) for k in range(33, 127)), "\u2581", *(f"\u2581{word}" for word in WORDS)]
    merges: list[tuple[str, str]] = []
    for word in WORDS:  # letter by letter: ▁ + c, ▁c + a, …
        whole = "\u2581"
        for letter in word:
            if (whole, letter) not in merges:
                merges.append((whole, letter))
                pieces.append(whole + letter)
            whole += letter
    vocabulary = {piece: k for k, piece in enumerate(dict.fromkeys(pieces))}
    made = tokenizers.Tokenizer(models.BPE(vocabulary, merges, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    made.decoder = decoders.Metaspace(prepend_scheme="never")
    marks = {"pad_token": "<pad>", "unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
    found = PreTrainedTokenizerFast(tokenizer_object=made, additional_special_tokens=["<|endoftext|>"], **marks)
    if chat:
        found.chat_template = TEMPLATE
    return found


def save_language_model(folder: Path, kind: str = "llama", chat: bool = True, seed: int = 0, **options: Any) -> Path:
    """A tiny model of this kind with its tokenizer."""
    import torch
    import transformers
    from transformers.utils import logging

    logging.disable_progress_bar()
    own = tokenizer(chat)
    marks = {"bos_token_id": 2, "eos_token_id": 3, "pad_token_id": 0}
    if kind == "gpt2":
        sizes = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 64}
        config = transformers.GPT2Config(**{"vocab_size": len(own), **sizes, **marks, **options})
    else:
        base = {"vocab_size": len(own), "tie_word_embeddings": True, **SIZES, **marks}
        config = transformers.AutoConfig.for_model(kind, **{**base, **options})
    torch.manual_seed(seed)
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    own.save_pretrained(folder)
    return folder


def rows_of(source: str, count: int) -> list[dict[str, str]]:
    """Prompts of different lengths, whose completions follow from them."""
    return [
        {
            "source": source,
            "prompt": " ".join(WORDS[(number + k) % 9] for k in range(1 + number % 7)),
            "completion": f" {WORDS[number % 9]} {source}" + " red" * (number % 3),
        }
        for number in range(count)
    ]


def described(folder: Path, rows: list[dict[str, Any]], name: str = "mix", **fields: Any) -> Path:
    """A YAML file beside its rows; each source is a task, unless told otherwise."""
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / f"{name}.jsonl.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    task = {"name": name, "kind": "causal", "train": f"{name}.jsonl.gz", "dev": 0.25, "source": "source", **fields}
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump({key: value for key, value in task.items() if value is not None}))
    return path


def two_sources(folder: Path, **fields: Any) -> Path:
    """Two tasks, mix-dog and mix-cat, of 24 and 12 rows."""
    return described(folder, rows_of("dog", 24) + rows_of("cat", 12), **fields)
