"""One small training in each host, as a program: loaders fork, and pytest's processes have threads that a fork breaks.

    python hosts.py HOST FOLDER [resume=7] [workers=2] [accumulation=2] [policy=exp3s]
    python hosts.py HOST FOLDER check=7,12 [twice=0] [processes=2] …     # interrupted and resumed

Returned are the weights, in FOLDER/weights.
"""

from __future__ import annotations

import functools
import multiprocessing
import os
import socket
import sys
import warnings
from pathlib import Path

# Fast tokenizers have threads of their own, which a loader's workers do not inherit.
os.environ.update(CUDA_VISIBLE_DEVICES="", TRANSFORMERS_VERBOSITY="error", TOKENIZERS_PARALLELISM="false")

import datasets
import torch
from safetensors.torch import load_file, save_file

import rota
from rota.testing import check_host

STEPS, BATCH = 24, 4
SIZES = {"a": 37, "b": 11, "c": 6}
NAMES = list(SIZES)
POLICIES = {
    "exp3s": lambda: rota.Exp3S(NAMES, eta=0.3),
    "auto": lambda: rota.Auto(NAMES, horizon=STEPS, sizes=SIZES, every=3),
    "roots": lambda: rota.Tempered(SIZES, 0.5),
}


def sources():
    """Rows of eight tokens; those of each source come from its own part of the vocabulary."""
    generator = torch.Generator().manual_seed(0)
    found = {}
    for k, (task, size) in enumerate(SIZES.items()):
        tokens = torch.randint(4 + 20 * k, 24 + 20 * k, (size, 8), generator=generator).tolist()
        found[task] = datasets.Dataset.from_dict({"input_ids": tokens, "labels": tokens})
    return found


def language_model():
    """A causal model with dropout, so that generators matter."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    sizes = {"vocab_size": 64, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2, "attention_dropout": 0.1}
    return LlamaForCausalLM(LlamaConfig(**sizes, **heads))


def tokenizer():
    """One word for each token; made here, since there is no hub."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = {"<pad>": 0, "<eos>": 1, "<unk>": 2, **{f"w{k}": k for k in range(3, 64)}}
    plain = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    plain.pre_tokenizer = pre_tokenizers.Whitespace()
    names = {"pad_token": "<pad>", "eos_token": "<eos>", "unk_token": "<unk>"}
    return PreTrainedTokenizerFast(tokenizer_object=plain, **names)


def texts(column="text"):
    return {
        task: datasets.Dataset.from_dict({column: [" ".join(f"w{token}" for token in row) for row in own["input_ids"]]})
        for task, own in sources().items()
    }


def arguments(folder, workers, accumulation, **more):
    return {
        "output_dir": str(folder / "out"),
        "per_device_train_batch_size": BATCH,
        "gradient_accumulation_steps": accumulation,
        "dataloader_num_workers": workers,
        "max_steps": STEPS,
        "save_steps": 1,
        "save_total_limit": None,
        "logging_steps": 4,
        "report_to": "none",
        "use_cpu": True,
        "learning_rate": 1e-2,
        "disable_tqdm": True,
        **more,
    }


def gone_through(trainer, folder, resume):
    trainer.train(resume_from_checkpoint=None if resume is None else str(folder / "out" / f"checkpoint-{resume}"))
    return trainer.model.state_dict()


def trainer(folder, resume=None, workers=2, accumulation=2, policy="exp3s"):
    from transformers import Trainer, TrainingArguments, default_data_collator

    from rota.integrations.hf import Mixing

    class MyTrainer(Mixing, Trainer):
        pass

    found = MyTrainer(
        language_model(),
        TrainingArguments(**arguments(folder, workers, accumulation)),
        train_dataset=rota.join(sources()),
        data_collator=default_data_collator,
        policy=POLICIES[policy](),
        log=folder / "log",
    )
    return gone_through(found, folder, resume)


def sft(folder, resume=None, workers=2, accumulation=2, policy="exp3s", lora=False, packing=False):
    from peft import LoraConfig
    from trl import SFTConfig, SFTTrainer

    from rota.integrations.hf import Mixing

    class MyTrainer(Mixing, SFTTrainer):
        pass

    adapter = LoraConfig(r=2, target_modules=["q_proj", "v_proj"], lora_dropout=0.1, task_type="CAUSAL_LM")
    own = arguments(
        folder, workers, accumulation, max_length=8, packing=packing, packing_strategy="wrapped", bf16=False
    )
    found = MyTrainer(
        language_model(),
        SFTConfig(**own),
        train_dataset=rota.join(texts()),
        processing_class=tokenizer(),
        policy=POLICIES[policy](),
        log=folder / "log",
        peft_config=adapter if lora else None,
    )
    return gone_through(found, folder, resume)


def lora(folder, resume=None, **options):
    return sft(folder, resume, lora=True, **options)


def packed(folder, resume=None, **options):
    return sft(folder, resume, packing=True, **options)


def grpo(folder, resume=None, workers=0, accumulation=2, policy="exp3s"):
    from trl import GRPOConfig, GRPOTrainer

    from rota.integrations.trl import MixingGRPO

    class MyTrainer(MixingGRPO, GRPOTrainer):
        pass

    def low_tokens(completion_ids, **_):
        return [sum(token < 32 for token in own) / max(1, len(own)) for own in completion_ids]

    own = arguments(folder, workers, accumulation, num_generations=2, max_completion_length=4, bf16=False, beta=0.0)
    own |= {"temperature": 1.0, "use_vllm": False}
    found = MyTrainer(
        language_model(),
        low_tokens,
        GRPOConfig(**own),
        train_dataset=rota.join(texts("prompt")),
        processing_class=tokenizer(),
        policy=POLICIES[policy](),
        log=folder / "log",
    )
    return gone_through(found, folder, resume)


def sentences(folder, resume=None, workers=2, accumulation=2, policy="exp3s"):
    from sentence_transformers import (
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.sentence_transformer import losses
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import BertConfig, BertModel

    from rota.integrations.sentence_transformers import Mixing

    class MyTrainer(Mixing, SentenceTransformerTrainer):
        pass

    home = Path(folder) / f"encoder-{os.environ.get('RANK', 0)}"
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=64, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=32,
    )  # fmt: skip
    BertModel(config).save_pretrained(home)
    tokenizer().save_pretrained(home)
    transformer = Transformer(str(home), max_seq_length=12)
    model = SentenceTransformer(modules=[transformer, Pooling(16)], device="cpu")
    pairs = {
        task: datasets.Dataset.from_dict({"anchor": own["text"], "positive": own["text"][::-1]})
        for task, own in texts().items()
    }
    found = MyTrainer(
        model,
        SentenceTransformerTrainingArguments(**arguments(folder, workers, accumulation, bf16=False)),
        train_dataset=pairs,
        loss={task: losses.MultipleNegativesRankingLoss(model) for task in pairs},
        policy=POLICIES[policy](),
        log=folder / "log",
    )
    return gone_through(found, folder, resume)


def lightning_module():
    import lightning as L

    class Module(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = language_model()

        def training_step(self, batch, _):
            return self.model(**batch).loss

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), 1e-2)

    return Module()


def lightning(folder, resume=None, workers=2, accumulation=2, policy="exp3s"):
    import lightning as L
    from transformers import default_data_collator

    from rota.integrations.lightning import MixCallback

    class Save(L.Callback):
        def on_train_batch_end(self, trainer, *_):
            if trainer.global_step != self.last:
                self.last = trainer.global_step
                trainer.save_checkpoint(folder / "out" / f"{trainer.global_step}.ckpt")

        last = resume or 0

    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    own = {"accumulation": accumulation, "partial": "fill", "log": folder / "log", "rank": rank, "world": world}
    mix = rota.Mix(sources(), POLICIES[policy](), BATCH, **own)
    L.seed_everything(0, verbose=False)
    module = lightning_module()
    fast = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False, "enable_checkpointing": False}
    runner = L.Trainer(
        accelerator="cpu",
        devices=world,
        strategy="ddp" if world > 1 else "auto",
        max_steps=STEPS,
        accumulate_grad_batches=accumulation,
        use_distributed_sampler=False,
        callbacks=[MixCallback(mix), Save()],
        **fast,
    )
    loader = mix.loader(collate_fn=default_data_collator, num_workers=workers)
    runner.fit(
        module, loader, ckpt_path=None if resume is None else folder / "out" / f"{resume}.ckpt", weights_only=False
    )
    return module.state_dict()


def accelerated(folder, resume=None, workers=2, accumulation=2, policy="exp3s"):
    from accelerate import Accelerator
    from accelerate.utils import set_seed
    from transformers import default_data_collator

    from rota.integrations.accelerate import mixed

    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=accumulation)
    set_seed(0)
    model = language_model()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    model, optimizer = accelerator.prepare(model, optimizer)
    mix = rota.Mix(sources(), POLICIES[policy](), BATCH, accumulation=accumulation, partial="fill", log=folder / "log")
    loader = mixed(accelerator, mix, collate_fn=default_data_collator, num_workers=workers)
    if resume is not None:
        accelerator.load_state(folder / "out" / str(resume))
    while mix.updates < STEPS:
        for batch in loader:
            with accelerator.accumulate(model):
                loss = model(**batch).loss
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
            done = mix.updates
            mix.tell(loss)
            if mix.updates > done:
                accelerator.save_state(folder / "out" / str(mix.updates), safe_serialization=True)
            if mix.updates == STEPS:
                break
    mix.close()
    return accelerator.unwrap_model(model).state_dict()


def streams(folder, resume=None, workers=0, accumulation=2, policy="exp3s"):
    """Streams of `datasets` in a plain loop. A shuffle buffer larger than one row is not saved by `datasets`."""
    from transformers import default_data_collator

    own = {
        task: rows.to_iterable_dataset(num_shards=2).shuffle(seed=1, buffer_size=1) for task, rows in sources().items()
    }
    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    if world > 1:
        torch.distributed.init_process_group("gloo")
    mix = rota.Mix(own, POLICIES[policy](), BATCH, accumulation=accumulation, epoch=10, log=folder / "log", lag=1)
    model = language_model()
    trained = torch.nn.parallel.DistributedDataParallel(model) if world > 1 else model
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    if resume is not None:
        state = torch.load(folder / "out" / f"{resume}-{rank}.pt", weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        mix.load_state_dict(state["mix"])
        torch.set_rng_state(state["rng"])
    (folder / "out").mkdir(parents=True, exist_ok=True)
    while mix.updates < STEPS:
        for batch in mix.loader(collate_fn=default_data_collator):
            loss = trained(**batch).loss
            (loss / accumulation).backward()
            done = mix.updates
            mix.tell(loss)
            if mix.updates > done:
                optimizer.step()
                optimizer.zero_grad()
                state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "rng": torch.get_rng_state()}
                torch.save({**state, "mix": mix.state_dict()}, folder / "out" / f"{mix.updates}-{rank}.pt")
            if mix.updates == STEPS:
                break
    mix.close()
    return model.state_dict()


HOSTS = {
    "trainer": trainer,
    "sft": sft,
    "lora": lora,
    "packed": packed,
    "grpo": grpo,
    "sentences": sentences,
    "lightning": lightning,
    "accelerate": accelerated,
    "streams": streams,
}


def train(host, folder, resume=None, **options):
    """Train, and keep the weights."""
    weights = HOSTS[host](folder, resume, **options)
    if int(os.environ.get("RANK", 0)) == 0:
        save_file({name: tensor.contiguous().clone() for name, tensor in weights.items()}, folder / "weights")
    if torch.distributed.is_initialized():  # left open, it may abort at the end of the interpreter
        torch.distributed.barrier()
        torch.distributed.destroy_process_group()


def as_rank(rank, world, port, *args, **options):
    """Train as one of several processes, told of each other as torchrun tells them."""
    place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": world, "LOCAL_WORLD_SIZE": world, "GROUP_RANK": 0}
    address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "TORCHELASTIC_RUN_ID": "hosts"}
    os.environ.update({name: str(value) for name, value in {**place, **address}.items()})
    train(*args, **options)


def in_processes(host, world, folder, resume=None, **options):
    """The weights of a training in several processes: forks of this one, which has imported everything already."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    fork = multiprocessing.get_context("fork")
    ranks = [
        fork.Process(target=as_rank, args=(rank, world, port, host, folder, resume), kwargs=options)
        for rank in range(world)
    ]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join()
    assert not any(rank.exitcode for rank in ranks), f"exit codes {[rank.exitcode for rank in ranks]}"
    return load_file(folder / "weights")


def main(host, folder, *options):
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    values = {name: int(own) if own.isdigit() else own for name, own in (option.split("=") for option in options)}
    stops, twice, world = values.pop("check", None), values.pop("twice", 1), values.pop("processes", 1)
    if stops is None:
        train(host, Path(folder), **values)
        return
    run = functools.partial(in_processes, host, world) if world > 1 else HOSTS[host]
    wanted = [int(stop) for stop in str(stops).split(",")]
    check_host(functools.partial(run, **values), Path(folder), wanted, twice=bool(twice))


if __name__ == "__main__":
    main(*sys.argv[1:])
