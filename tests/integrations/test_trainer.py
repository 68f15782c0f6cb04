"""transformers' Trainer: what the policy hears is what a loop by hand would tell it; what would go wrong is refused."""

from __future__ import annotations

import copy
import functools
import os
import subprocess
import sys
from pathlib import Path

import datasets
import numpy as np
import pytest
import torch
from hosts import BATCH, NAMES, POLICIES, arguments, language_model, sources, texts, tokenizer
from transformers import Trainer, TrainingArguments, default_data_collator
from trl import SFTConfig, SFTTrainer

import rota
from rota.errors import RotaError
from rota.integrations import _versions
from rota.integrations.hf import Mixing
from rota.runlog import Run

NOISE = ["ignore::UserWarning", "ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::ResourceWarning"]
pytestmark = [pytest.mark.filterwarnings(noise) for noise in NOISE]
HERE = Path(__file__).parent


class MyTrainer(Mixing, Trainer):
    pass


class MySFT(Mixing, SFTTrainer):
    pass


def uneven(seed=0):
    """Rows of different lengths, some labels of which do not count."""
    rng = np.random.default_rng(seed)
    found = {}
    for task, rows in sources().items():
        labels = [[-100 if rng.random() < 0.4 else token for token in row] for row in rows["input_ids"]]
        found[task] = datasets.Dataset.from_dict({"input_ids": rows["input_ids"], "labels": labels})
    return found


def by_hand(model, data, run, batch):
    """The mean loss of each update's batches, weighted by rows, with the same weights; then the same update."""
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    heard = []
    for line in run.lines("step"):
        rows, task = run.row_ids(line["task"], line), data[line["task"]]
        parts = [rows[first : first + batch] for first in range(0, len(rows), batch)]
        own, total, items = [], 0.0, 0
        for part in parts:
            inputs = torch.tensor([task[row]["input_ids"] for row in part])
            labels = torch.tensor([task[row]["labels"] for row in part])
            logits = model(input_ids=inputs).logits[:, :-1]
            wanted = labels[:, 1:]
            losses = torch.nn.functional.cross_entropy(logits.reshape(-1, 64), wanted.reshape(-1), reduction="sum")
            counted = int((wanted != -100).sum())
            own.append(float(losses) / counted)
            total, items = total + losses, items + counted
        heard.append(float(np.mean(own)))
        (total / items).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    return heard


def plain_model():
    model = language_model()
    model.config.attention_dropout = 0.0
    for layer in model.model.layers:
        layer.self_attn.attention_dropout = 0.0
    return model


def train_plainly(folder, accumulation, batch):
    own = {"lr_scheduler_type": "constant", "optim": "sgd", "save_strategy": "no", "learning_rate": 0.05}
    options = {**arguments(folder, 0, accumulation), **own, "per_device_train_batch_size": batch}
    trainer = MyTrainer(
        plain_model(),
        TrainingArguments(**options),
        train_dataset=rota.join(uneven()),
        data_collator=default_data_collator,
        policy=POLICIES["auto"](),
        log=folder / "log",
    )
    trainer.train()
    return trainer


@pytest.mark.parametrize("accumulation", [1, 2, 3])
def test_the_policy_hears_the_loss_of_a_loop_by_hand(tmp_path, accumulation):
    trainer = train_plainly(tmp_path, accumulation, BATCH)
    assert trainer.model_accepts_loss_kwargs  # losses are shares of the mean over all labels of an update
    lines = Run(tmp_path / "log").lines("step")
    heard = by_hand(plain_model(), uneven(), Run(tmp_path / "log"), BATCH)
    np.testing.assert_allclose([line["loss"] for line in lines], heard, atol=1e-6)
    assert [line["value"] for line in lines] == [line["loss"] for line in lines]


def test_two_processes_hear_it_too(tmp_path):
    code = f"""
import sys, torch; sys.path[:0] = [{str(HERE)!r}]
from pathlib import Path
from test_trainer import train_plainly
torch.set_num_threads(1)
train_plainly(Path({str(tmp_path)!r}), 2, 2)
torch.distributed.barrier(); torch.distributed.destroy_process_group()
"""
    (tmp_path / "program.py").write_text(code)
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run(
        [*launcher, tmp_path / "program.py"], capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert done.returncode == 0, done.stderr[-3000:]
    lines = Run(tmp_path / "log").lines("step")
    heard = by_hand(
        plain_model(), uneven(), Run(tmp_path / "log"), 2
    )  # four batches of two rows: two processes, two each
    np.testing.assert_allclose([line["loss"] for line in lines], heard, atol=1e-6)


@pytest.mark.parametrize("classes", [1, 3])
@pytest.mark.parametrize("accumulation", [1, 2])
def test_models_that_ignore_the_number_of_labels_are_heard_rightly(tmp_path, classes, accumulation):
    """BERT's heads take the number of labels of an update, and return the mean of a batch all the same."""
    from transformers import BertConfig, BertForSequenceClassification

    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    none = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    torch.manual_seed(0)
    model = BertForSequenceClassification(BertConfig(vocab_size=64, num_labels=classes, **sizes, **none))
    label = (lambda row: sum(row) % 3) if classes > 1 else (lambda row: sum(row) / 100)
    data = {
        task: datasets.Dataset.from_dict({"input_ids": own["input_ids"], "labels": list(map(label, own["input_ids"]))})
        for task, own in sources().items()
    }
    options = {**arguments(tmp_path, 0, accumulation), "learning_rate": 0.0, "save_strategy": "no", "max_steps": 6}
    trainer = MyTrainer(
        model,
        TrainingArguments(**options),
        train_dataset=rota.join(data),
        data_collator=default_data_collator,
        policy=POLICIES["auto"](),
        log=tmp_path / "log",
    )
    trainer.train()
    model.eval()
    run = Run(tmp_path / "log")
    for line in run.lines("step"):
        losses = []
        ids = run.row_ids(line["task"], line)
        for first in range(0, len(ids), BATCH):
            rows = data[line["task"]][ids[first : first + BATCH]]
            batch = {name: torch.tensor(rows[name]) for name in ("input_ids", "labels")}
            with torch.no_grad():
                losses.append(model(**batch).loss.item())
        assert line["loss"] == pytest.approx(np.mean(losses), abs=1e-6)


def test_shares_and_losses_are_logged_beside_the_trainers_own(tmp_path):
    options = {**arguments(tmp_path, 0, 1), "report_to": "tensorboard", "logging_dir": None, "save_strategy": "no"}
    options.pop("logging_dir")
    os.environ["TENSORBOARD_LOGGING_DIR"] = str(tmp_path / "board")
    try:
        trainer = make(tmp_path, args=TrainingArguments(**options))
        trainer.train()
    finally:
        del os.environ["TENSORBOARD_LOGGING_DIR"]
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(str(tmp_path / "board"))
    found.Reload()
    tags = found.Tags()["scalars"]
    assert {f"train/share/{task}" for task in NAMES} <= set(tags)
    shares = [[event.value for event in found.Scalars(f"train/share/{task}")] for task in NAMES]
    np.testing.assert_allclose(np.sum(shares, axis=0), 1, atol=1e-6)
    steps = [event.step for event in found.Scalars("train/loss")]
    assert steps == [event.step for event in found.Scalars("train/share/a")] == [4, 8, 12, 16, 20, 24]
    assert any(tag.startswith("train/loss/") for tag in tags)


def make(folder, cls=MyTrainer, args=None, data=None, policy=None, **options):
    return cls(
        language_model(),
        args or TrainingArguments(**arguments(folder, 0, 1)),
        train_dataset=rota.join(sources()) if data is None else data,
        policy=policy or POLICIES["exp3s"](),
        **({"data_collator": default_data_collator} if cls is MyTrainer else {"processing_class": tokenizer()}),
        **options,
    )


def test_rows_by_a_column(tmp_path):
    parts = [own.add_column("source", [task] * len(own)) for task, own in sources().items()]
    whole = datasets.concatenate_datasets(parts).shuffle(seed=0)
    args = TrainingArguments(**{**arguments(tmp_path, 0, 2), "save_strategy": "no"})
    make(tmp_path, args=args, data=whole, task_column="source", log=tmp_path / "log").train()
    for line in Run(tmp_path / "log").lines("step"):
        assert line["n"] == 8


@pytest.mark.parametrize("cls", [MyTrainer, MySFT])
def test_data_sets_by_name_are_joined(tmp_path, cls):
    options = {**arguments(tmp_path, 0, 1), "max_steps": 2, "save_strategy": "no"}
    args = TrainingArguments(**options) if cls is MyTrainer else SFTConfig(**options, bf16=False)
    trainer = make(tmp_path, cls, args, sources() if cls is MyTrainer else texts())
    trainer.train()
    assert trainer.mix.updates == 2
    assert set(trainer.mix.sizes) == set(sources())


def test_a_second_training_begins_anew(tmp_path):
    trainer = make(tmp_path, args=TrainingArguments(**{**arguments(tmp_path, 0, 1), "save_strategy": "no"}))
    first = trainer.mix
    trainer.train()
    trainer.train()
    assert trainer.mix is not first
    assert trainer.mix.updates == first.updates == 24


def too_old(monkeypatch):
    monkeypatch.setattr(_versions, "version", lambda package: "4.57.1")
    _versions.require("transformers", "5.17", "6")


def absent(monkeypatch):
    _versions.require("no-such-host", "1", "2")


@pytest.mark.parametrize(
    ("do", "sentence"),
    [
        (too_old, r"expects transformers 5\.17 or later, below 6\. Found 4\.57\.1"),
        (absent, r"needs the package no-such-host\. Install it: pip install 'rota\[hosts\]'"),
    ],
)
def test_a_host_that_is_too_old_or_absent_is_one_sentence(monkeypatch, do, sentence):
    with pytest.raises(RotaError, match=sentence):
        do(monkeypatch)


def test_wrong_use_is_one_sentence(tmp_path):
    args = functools.partial(arguments, tmp_path)
    with pytest.raises(RotaError, match=r"own data sets a, b, c\. Found one over x, y"):
        make(tmp_path, policy=rota.uniform(["x", "y"]))
    with pytest.raises(RotaError, match=r"Expected a column 'source'"):
        make(tmp_path, data=sources()["a"], task_column="source")
    with pytest.raises(RotaError, match=r"2 workers reads 4 batches ahead.*lag=4"):
        make(tmp_path, args=TrainingArguments(**args(2, 1)), lag=3)
    with pytest.raises(RotaError, match="Found auto_find_batch_size"):
        make(tmp_path, args=TrainingArguments(**args(0, 1), auto_find_batch_size=True))
    parts = [own.add_column("source", [task] * len(own)) for task, own in texts().items()]
    packing = SFTConfig(**args(0, 1), packing=True, max_length=8, packing_strategy="wrapped", bf16=False)
    with pytest.raises(RotaError, match="packing would put rows of several sources into one"):
        make(tmp_path, MySFT, packing, datasets.concatenate_datasets(parts), task_column="source")
    other = copy.copy(packing)
    other.eval_packing = False
    with pytest.raises(RotaError, match="Found eval_packing that differs"):
        make(tmp_path, MySFT, other, rota.join(texts()))


def test_a_checkpoint_without_a_mix_is_refused(tmp_path):
    options = {**arguments(tmp_path, 0, 1), "max_steps": 2}
    plain = Trainer(
        language_model(),
        TrainingArguments(**options),
        train_dataset=sources()["a"],
        data_collator=default_data_collator,
    )
    plain.train()
    with pytest.raises(RotaError, match="Found one without a mix"):
        make(tmp_path).train(resume_from_checkpoint=str(tmp_path / "out" / "checkpoint-1"))
