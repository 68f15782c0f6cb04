"""What tests share."""

from __future__ import annotations

import string
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# A busy machine is no failure, and the same tree gives the same answer each time it is asked. To look for cases that
# nobody has seen: pytest --hypothesis-profile=explore
settings.register_profile("rota", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=2000)
settings.load_profile("rota")

sys.path.insert(0, str(Path(__file__).parent))  # for `run_tools.py` and `fit_tools.py`


@pytest.fixture
def rota_main(monkeypatch, capsys):
    """Run the command line in this process; returns exit code, output and errors."""

    def run(*arguments):
        from rota.cli import main

        monkeypatch.setattr(sys, "argv", ["rota", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "200")
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1 if end.code else 0
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


# Encoders of two layers with random weights, whose tokenizers know a few words and all letters.

WORDS = (
    "an the cat dog bird sat ran flew on in under mat house tree red blue old he she it they who what where why when "
    "did does is was not and because water food home day night one two three first last good bad"
)


def save_encoder(folder, tokenizer, model):
    from transformers.utils import logging

    logging.disable_progress_bar()
    tokenizer.save_pretrained(folder)
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory):
    """The folder of an encoder like BERT: WordPiece, two types of tokens, 64 positions."""
    from transformers import BertConfig, BertModel, BertTokenizer

    letters = string.ascii_lowercase + string.digits + string.punctuation
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = [*special, *letters, *(f"##{letter}" for letter in letters), *WORDS.split()]
    tokenizer = BertTokenizer({piece: k for k, piece in enumerate(pieces)})
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    model = BertModel(BertConfig(vocab_size=len(pieces), max_position_embeddings=64, **sizes))
    return save_encoder(tmp_path_factory.mktemp("encoders") / "bert", tokenizer, model)


@pytest.fixture(scope="session")
def tiny_roberta(tmp_path_factory):
    """The folder of an encoder like RoBERTa: bytes, one type of tokens, padding 1, 64 positions after the padding."""
    from tokenizers.pre_tokenizers import ByteLevel
    from transformers import RobertaConfig, RobertaModel, RobertaTokenizer

    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    pieces = [*special, *sorted(ByteLevel.alphabet()), "th", "the", "Ġthe"]
    merges = [("t", "h"), ("th", "e"), ("Ġ", "the")]
    tokenizer = RobertaTokenizer({piece: k for k, piece in enumerate(pieces)}, merges)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    config = RobertaConfig(vocab_size=len(pieces), max_position_embeddings=66, type_vocab_size=1, **sizes)
    return save_encoder(tmp_path_factory.mktemp("encoders") / "roberta", tokenizer, RobertaModel(config))
