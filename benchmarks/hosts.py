"""Does a policy slow a Trainer down?  transformers' Trainer with and without the mixin, by turns.

    python benchmarks/hosts.py

A small causal model on two cores, three sources, in which Trainer alone draws rows of all of them at random. The ratio
of a pair is free of what slows the machine down for minutes; the median of nine counts.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
import warnings
from typing import Any

os.environ.update(CUDA_VISIBLE_DEVICES="", TRANSFORMERS_VERBOSITY="error")

import datasets
import torch
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments, default_data_collator

import rota
from rota.integrations.hf import Mixing

STEPS, PAIRS, LEAST = 150, 9, 0.98
SIZES = {"a": 2000, "b": 600, "c": 200}


class MixingTrainer(Mixing, Trainer):
    pass


def updates_per_second(mixed: bool, folder: str) -> float:
    torch.manual_seed(0)
    sizes = {"vocab_size": 512, "hidden_size": 96, "intermediate_size": 256, "num_hidden_layers": 3}
    model = LlamaForCausalLM(LlamaConfig(**sizes, num_attention_heads=4, num_key_value_heads=4))
    rows = {task: torch.randint(0, 512, (size, 32)).tolist() for task, size in SIZES.items()}
    data = {task: datasets.Dataset.from_dict({"input_ids": own, "labels": own}) for task, own in rows.items()}
    args = TrainingArguments(
        folder,
        max_steps=STEPS,
        per_device_train_batch_size=16,
        report_to="none",
        save_strategy="no",
        logging_steps=50,
        use_cpu=True,
        disable_tqdm=True,
    )
    own: dict[str, Any] = {"data_collator": default_data_collator}
    if mixed:
        trainer = MixingTrainer(model, args, train_dataset=rota.join(data), policy=rota.Exp3S(list(data)), **own)
    else:
        trainer = Trainer(model, args, train_dataset=datasets.concatenate_datasets(list(data.values())), **own)
    began = time.perf_counter()
    trainer.train()
    return STEPS / (time.perf_counter() - began)


def main() -> int:
    warnings.filterwarnings("ignore")
    torch.set_num_threads(2)
    ratios, speeds = [], []
    with tempfile.TemporaryDirectory() as folder:
        for pair in range(PAIRS + 1):
            found = {}
            for mixed in (True, False) if pair % 2 else (False, True):
                found[mixed] = updates_per_second(mixed, folder)
            if pair:  # the first one fills caches
                ratios.append(found[True] / found[False])
                speeds.append(found[False])
    ratio = statistics.median(ratios)
    verdict = "kept" if ratio >= LEAST else "BROKEN"
    spread = f"{min(ratios):.3f} – {max(ratios):.3f}, {PAIRS} pairs"
    print(
        f"Trainer {statistics.median(speeds):.1f} updates/s; with a policy {ratio:.3f} of that ({spread}); limit "
        f"{LEAST}: {verdict}"
    )
    return int(ratio < LEAST)


if __name__ == "__main__":
    sys.exit(main())
