"""Folders of tiny encoders with random weights, of every architecture that is trained here, with tokenizers of their
own that know a few words and all letters."""

from __future__ import annotations

import json
import string
from pathlib import Path
from typing import Any

import torch

WORDS = ("the", "cat", "dog", "bird", "sat", "ran", "on", "in", "mat", "house", "tree", "red")
LETTERS = string.ascii_lowercase + string.punctuation
BERT_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
FAIRSEQ_TOKENS = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
LONGEST = 32
LAYERS = 2

SIZES: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 2,
    "intermediate_size": 24,
}
LONG = {"max_position_embeddings": LONGEST}
AFTER_PADDING = {"max_position_embeddings": LONGEST + 2, "type_vocab_size": 1}
DEBERTA = {
    "type_vocab_size": 0,
    "relative_attention": True,
    "position_biased_input": False,
    "pos_att_type": ["p2c", "c2p"],
    "position_buckets": 8,
    "norm_rel_ebd": "layer_norm",
    "share_att_key": True,
}

# Name: the kind of tokenizer, the type of the model, what its configuration has beside the sizes.
ZOO: dict[str, tuple[str, str, dict[str, Any]]] = {
    "bert": ("wordpiece", "bert", LONG),
    "electra": ("wordpiece", "electra", {**LONG, "embedding_size": 8}),
    "roberta": ("bytes", "roberta", AFTER_PADDING),
    "xlm-roberta": ("unigram", "xlm-roberta", AFTER_PADDING),
    "camembert": ("unigram", "camembert", AFTER_PADDING),
    "deberta-v2": ("wordpiece", "deberta-v2", {**LONG, **DEBERTA, "conv_kernel_size": 3}),
    "deberta-v3": ("unigram-cls", "deberta-v2", {**LONG, **DEBERTA}),
    "modernbert": (
        "bytes-cls",
        "modernbert",
        {**LONG, "pad_token_id": 0, "cls_token_id": 2, "bos_token_id": 2, "sep_token_id": 3, "eos_token_id": 3},
    ),
    "distilbert": (
        "wordpiece",
        "distilbert",
        {**LONG, "dim": 16, "n_layers": LAYERS, "n_heads": 2, "hidden_dim": 24},
    ),
    "mpnet": ("wordpiece-s", "mpnet", {"max_position_embeddings": LONGEST + 2, "pad_token_id": 1}),
    "albert": ("unigram-cls", "albert", {**LONG, "embedding_size": 8}),
    "mobilebert": (
        "wordpiece",
        "mobilebert",
        {**LONG, "embedding_size": 8, "intra_bottleneck_size": 8, "true_hidden_size": 8},
    ),
}


def tokenizer_of(kind: str) -> Any:
    """A fast tokenizer of this kind: how words are cut, and what stands around a text."""
    import tokenizers
    from tokenizers import decoders, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    cut, _, around = kind.partition("-")
    fairseq = (cut == "unigram" and not around) or around == "s" or kind == "bytes"
    special = FAIRSEQ_TOKENS if fairseq else BERT_TOKENS
    first, last, unknown = ("<s>", "</s>", "<unk>") if fairseq else ("[CLS]", "[SEP]", "[UNK]")
    padding, mask = ("<pad>", "<mask>") if fairseq else ("[PAD]", "[MASK]")
    match cut:
        case "wordpiece":
            pieces = [*special, *LETTERS, *(f"##{letter}" for letter in LETTERS), *WORDS]
            found = tokenizers.Tokenizer(
                models.WordPiece({piece: k for k, piece in enumerate(pieces)}, unk_token=unknown)
            )
            found.normalizer = normalizers.BertNormalizer()
            found.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        case "bytes":
            pieces = [*special, *sorted(pre_tokenizers.ByteLevel.alphabet()), "th", "the", "Ġthe"]
            merges = [("t", "h"), ("th", "e"), ("Ġ", "the")]
            found = tokenizers.Tokenizer(models.BPE({piece: k for k, piece in enumerate(pieces)}, merges))
            found.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
            found.decoder = decoders.ByteLevel()
        case "unigram":
            pieces = [*special, "▁", *LETTERS, *(f"▁{word}" for word in WORDS)]
            scored = [(piece, -float(k)) for k, piece in enumerate(pieces)]
            found = tokenizers.Tokenizer(models.Unigram(scored, unk_id=special.index(unknown)))
            found.pre_tokenizer = pre_tokenizers.Metaspace()
    numbers = [(token, special.index(token)) for token in (first, last)]
    between = f"{last} {last}" if fairseq else last
    types = "0" if fairseq else "1"
    found.post_processor = processors.TemplateProcessing(
        single=f"{first}:0 $A:0 {last}:0",
        pair=f"{first}:0 $A:0 {' '.join(f'{token}:0' for token in between.split())} $B:{types} {last}:{types}",
        special_tokens=numbers,
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=found,
        cls_token=first,
        sep_token=last,
        bos_token=first,
        eos_token=last,
        unk_token=unknown,
        pad_token=padding,
        mask_token=mask,
    )


def config_of(name: str, vocabulary: int) -> Any:
    """The configuration of a tiny encoder."""
    import transformers

    _, model_type, more = ZOO[name]
    sizes = {} if model_type == "distilbert" else SIZES
    return transformers.AutoConfig.for_model(model_type, vocab_size=vocabulary, **{**sizes, **more})


def write_encoder(folder: Path, name: str) -> Path:
    """Write a tiny encoder with its tokenizer."""
    import transformers
    from transformers.utils import logging

    logging.disable_progress_bar()
    tokenizer = tokenizer_of(ZOO[name][0])
    config = config_of(name, len(tokenizer))
    with torch.random.fork_rng():
        torch.manual_seed(0)
        transformers.AutoModel.from_config(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def write_texts(folder: Path, rows: int = 16) -> list[Path]:
    """Two tasks on short texts: one text or two, and what they are about."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        {"one": f"the {WORDS[k % 4]} sat on the {WORDS[k % 7]}", "other": f"the {WORDS[k % 3]} ran", "label": k % 2}
        for k in range(rows)
    ]
    (folder / "rows.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    asked = {"kind": "classification", "train": "rows.jsonl", "dev": 0.25, "label": "label"}
    tasks = {"single": ["one"], "pair": ["one", "other"]}
    for name, columns in tasks.items():
        (folder / f"{name}.yaml").write_text(json.dumps({"name": name, **asked, "text": columns}))
    return [folder / f"{name}.yaml" for name in tasks]
