"""The programs on the pages of the hosts run as they stand, and are short."""

from __future__ import annotations

import re
from pathlib import Path

import datasets
import pytest
import torch
from hosts import arguments, language_model, lightning_module, sources, texts, tokenizer

import rota

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(path.stem for path in (DOCS / "hosts").glob("*.md"))
NOISE = ["UserWarning", "FutureWarning", "DeprecationWarning", "ResourceWarning"]
pytestmark = [pytest.mark.filterwarnings(f"ignore::{kind}") for kind in NOISE]


def program(page):
    found = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    assert len(found) == 1
    return found[0]


def train_on(batch):
    return float(torch.as_tensor(batch["input_ids"]).float().mean()) / 64


def collate(rows):
    return {name: torch.tensor([row[name] for row in rows]) for name in ("input_ids", "labels")}


def scope_of(page, folder):
    """What a reader of the page has already."""
    rows = sources()
    scope = {"rota": rota, "rte": rows["a"], "mrpc": rows["b"], "train_on": train_on, "collate": collate}
    options = {**arguments(folder, 0, 1), "max_steps": 6, "save_strategy": "no"}
    if page == "trainer":
        from transformers import Trainer, TrainingArguments

        scope |= {"Trainer": Trainer, "args": TrainingArguments(**options), "model": language_model()}
    elif page == "sft":
        from trl import SFTConfig, SFTTrainer

        scope |= {"SFTTrainer": SFTTrainer, "args": SFTConfig(**options, bf16=False), "model": language_model()}
        scope |= {"chat": texts()["a"], "code": texts()["b"], "tokenizer": tokenizer()}
    elif page == "grpo":
        from trl import GRPOConfig, GRPOTrainer

        own = {**options, "num_generations": 2, "max_completion_length": 4, "bf16": False, "beta": 0.0}
        scope |= {"GRPOTrainer": GRPOTrainer, "args": GRPOConfig(**own), "model": language_model()}
        scope |= {"sums": texts("prompt")["a"], "words": texts("prompt")["b"], "tokenizer": tokenizer()}
        scope["reward_funcs"] = lambda completion_ids, **_: [len(set(own)) / 4 for own in completion_ids]
    elif page == "sentence-transformers":
        scope |= sentences(folder, options)
    elif page == "lightning":
        scope |= {"L": __import__("lightning"), "module": lightning_module()}
    elif page == "accelerate":
        from accelerate import Accelerator

        scope |= {"accelerator": Accelerator(cpu=True), "folder": folder / "state"}
    elif page == "streams":
        scope |= {name: rows[task].to_iterable_dataset() for name, task in (("web", "a"), ("books", "b"))}
    return scope


def sentences(folder, options):
    from sentence_transformers import (
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.sentence_transformer import losses
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import BertConfig, BertModel

    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    BertModel(BertConfig(vocab_size=64, max_position_embeddings=32, **sizes)).save_pretrained(folder / "encoder")
    tokenizer().save_pretrained(folder / "encoder")
    model = SentenceTransformer(
        modules=[Transformer(str(folder / "encoder"), max_seq_length=12), Pooling(16)], device="cpu"
    )
    pairs = [datasets.Dataset.from_dict({"a": own["text"], "b": own["text"]}) for own in texts().values()]
    loss = losses.MultipleNegativesRankingLoss(model)
    return {
        "SentenceTransformerTrainer": SentenceTransformerTrainer,
        "args": SentenceTransformerTrainingArguments(**options, bf16=False),
        "model": model,
        "nli": pairs[0],
        "sts": pairs[1],
        "losses": {"nli": loss, "sts": loss},
    }


@pytest.mark.parametrize("page", PAGES)
def test_the_program_of_a_host_runs_and_is_short(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = program(DOCS / "hosts" / f"{page}.md")
    assert len([line for line in code.splitlines() if line.strip()]) <= 6
    scope = scope_of(page, tmp_path)
    exec(code, scope)
    if "mix" in scope:
        assert scope["mix"].updates >= 6


def test_the_loop_with_a_mix_runs():
    scope = {"rota": rota, "rte": sources()["a"], "mrpc": sources()["b"], "train_on": lambda batch: 0.5}
    exec(program(DOCS / "mix.md"), scope)
    assert scope["mix"].updates == len(scope["mix"])


def test_the_program_with_data_and_a_model_of_ones_own_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = program(DOCS / "own-data.md")
    assert len([line for line in code.splitlines() if line.strip()]) <= 25
    scope = {}
    exec(code, scope)
    assert scope["run"].summary["best"]["dev"]["tasks"]["number"]["score"] > 0.5


def test_every_host_has_a_page_that_is_linked():
    page = (DOCS / "mix.md").read_text()
    assert all(f"(hosts/{name}.md)" in page for name in PAGES)
    assert len(PAGES) == 7
