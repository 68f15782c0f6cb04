"""transformers' Trainer and its children, such as trl's SFTTrainer: a mixin.

    class MyTrainer(rota.integrations.hf.Mixing, Trainer):
        pass

    sources = {"rte": rte, "mrpc": mrpc}
    MyTrainer(model, args, train_dataset=sources, policy=rota.Auto(["rte", "mrpc"])).train()

One update is one decision: `gradient_accumulation_steps` batches of one source in every process. What was decided and
heard lies in `trainer_state.json`; resumed from a checkpoint, a training goes on with the same decisions and rows.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import send_to_device
from torch.utils.data import DataLoader
from transformers import TrainerCallback
from transformers.trainer_callback import ExportableState

from rota.errors import RotaError
from rota.integrations._versions import require
from rota.mixing import JoinedDataset, Mix, join
from rota.policies import Policy
from rota.sources import Listen

__all__ = ["Mixing"]

Host: Any = object  # a Trainer stands behind the mixin in the list of base classes

require("transformers", "5.17", "6")

PREFETCH = 2  # batches of a worker, where nobody says otherwise
SOURCE = "rota source: "  # how sources are called while SFTTrainer prepares them


class MixState(TrainerCallback, ExportableState):
    """Keeps a mix in `trainer_state.json`. It finds it in the loader: Trainer may make callbacks anew."""

    mix: Mix | None = None

    def state(self) -> dict[str, Any]:
        return {"args": {}, "attributes": {"saved": self.mix.state_dict() if self.mix else None}}

    def on_train_begin(self, args: Any, state: Any, control: Any, train_dataloader: Any = None, **_: Any) -> None:
        self.mix = mix_of(train_dataloader)
        kept = state.stateful_callbacks.get(type(self).__name__)
        saved = kept["attributes"]["saved"] if isinstance(kept, Mapping) else None
        if not state.global_step:
            return
        if saved is None:
            raise RotaError(
                "A training that goes on expects a checkpoint of a Trainer with rota.integrations.hf.Mixing. Found one "
                "without a mix."
            )
        self.mix.load_state_dict(saved)
        if not args.ignore_data_skip:
            self.mix.expect_skipping()

    def on_train_end(self, *_: Any, **__: Any) -> None:
        if self.mix is not None:
            self.mix.close()


def mix_of(loader: Any) -> Mix:
    """The mix behind a loader."""
    sampler = loader.batch_sampler
    while not isinstance(sampler, Mix):
        sampler = getattr(sampler, "mix", None) or getattr(sampler, "batch_sampler", None)
        if sampler is None:
            raise RotaError("Expected a loader whose batches a mix draws. Found another: leave the loader to Mixing.")
    return sampler


class Mixing(Host):
    """A Trainer whose batches a policy chooses. It stands before the Trainer in the list of base classes.

    Args:
        policy: Over the names of the sources.
        train_dataset: Data sets by name, also as `rota.join({name: dataset, …})`; or one data set, with `task_column`.
        task_column: The column that says whose row each one is.
        listen, epoch, log: See `rota.Mix`.
        lag: Updates between a decision and the last one that it has heard of; by default as few as the loader's workers
            need.
        args, kwargs: Of the Trainer.

    The program of docs/hosts/trainer.md; docs/hosts/sft.md has one for `trl.SFTTrainer`:

        class MyTrainer(rota.integrations.hf.Mixing, Trainer):
            pass

        sources = rota.join({"rte": rte, "mrpc": mrpc})
        MyTrainer(model, args, train_dataset=sources, policy=rota.Auto(["rte", "mrpc"])).train()
    """

    train_dataset: Any
    host_takes_names = False  # whether the Trainer itself expects data sets by name

    def __init__(
        self,
        *args: Any,
        policy: Policy,
        task_column: str | None = None,
        listen: Listen | tuple[()] | None = None,
        lag: int | None = None,
        epoch: int | None = None,
        log: Path | str | None = None,
        **kwargs: Any,
    ) -> None:
        self._mix_options: dict[str, Any] = {"listen": listen, "epoch": epoch, "log": log}
        self._policy, self._lag, self._task_column = policy, lag, task_column
        self._divides: bool | None = None  # whether losses are shares of an update's, once that is known
        given = kwargs.get("train_dataset")
        if isinstance(given, Mapping) and not self.host_takes_names:
            given = kwargs["train_dataset"] = join(given)
        if _is_sft(self) and isinstance(given, JoinedDataset):
            self._prepare_each(given, *args, **kwargs)
        else:
            super().__init__(*args, **kwargs)
        if _is_sft(self) and task_column is not None and self.args.packing:
            raise RotaError(
                "Packing expects sources apart from each other, train_dataset=rota.join({…}). Found one data set with "
                f"the column '{task_column}', of which packing would put rows of several sources into one."
            )
        self.mix: Mix = self._make_mix()  # refuse now what cannot work
        self.add_callback(MixState())

    def _prepare_each(self, joined: JoinedDataset, *args: Any, **kwargs: Any) -> None:
        """SFTTrainer prepares (tokenises, packs) each evaluation set by itself, and so each source."""
        theirs = kwargs.pop("eval_dataset", None)
        config = kwargs.get("args") or (args[1] if len(args) > 1 else None)
        if getattr(config, "eval_packing", None) not in (None, getattr(config, "packing", None)):
            raise RotaError("Sources are packed as evaluation sets are. Found eval_packing that differs: leave it out.")
        several = theirs if isinstance(theirs, Mapping) else {} if theirs is None else {SOURCE: theirs}
        sources = {SOURCE + name: own for name, own in joined.datasets.items()}
        first = next(iter(joined.datasets.values()))
        super().__init__(*args, **{**kwargs, "train_dataset": first, "eval_dataset": {**several, **sources}})
        prepared: dict[str, Any] = dict(getattr(self, "eval_dataset"))  # noqa: B009 - of the Trainer
        self.train_dataset = join({name: prepared.pop(SOURCE + name) for name in joined.datasets})
        self.eval_dataset = prepared if isinstance(theirs, Mapping) else prepared.get(SOURCE)

    def _make_mix(self) -> Mix:
        args = self.args
        if args.auto_find_batch_size:
            raise RotaError("Mixing expects a batch size that is known. Found auto_find_batch_size: leave it out.")
        ahead = args.dataloader_num_workers * (args.dataloader_prefetch_factor or PREFETCH)
        least = -(-ahead // args.gradient_accumulation_steps)
        mix = Mix(
            self.sources(),
            self._policy,
            args.train_batch_size,
            seed=args.data_seed if args.data_seed is not None else args.seed,
            lag=least if self._lag is None else self._lag,
            by=self._task_column,
            accumulation=args.gradient_accumulation_steps,
            partial="fill",
            rank=args.process_index,
            world=args.world_size,
            **self._mix_options,
        )
        mix.refuse_reading_ahead(ahead, f"A loader with {args.dataloader_num_workers} workers")
        return mix

    def sources(self) -> Any:
        """What the mix draws from."""
        return self.train_dataset

    def get_train_dataloader(self) -> DataLoader[Any]:
        """The Trainer's own loader, with batches that the mix draws. It is not handed to accelerate, which would deal
        batches of different sources to different processes."""
        host = super().get_train_dataloader()  # it has removed columns and made its collator
        if self.mix.updates:
            self.mix = self._make_mix()  # a training that begins anew
        return loader_like(host, self.mix)

    def training_step(self, model: Any, inputs: Any, num_items_in_batch: Any = None) -> torch.Tensor:
        """One batch: forward, backward, and its mean loss to the mix."""
        own = _items(self, inputs)
        if self._divides is None and num_items_in_batch is not None:
            self._divides = self._divides_by_items(model, inputs, num_items_in_batch)
        loss: torch.Tensor = super().training_step(model, inputs, num_items_in_batch)
        self.mix.tell(self._own_mean(loss, own, num_items_in_batch))
        return loss

    def _own_mean(self, loss: torch.Tensor, own: torch.Tensor | None, items: Any) -> torch.Tensor:
        """The mean loss of a batch by itself: what Trainer returns may be its share of the mean of an update."""
        if items is None or not (self.model_accepts_loss_kwargs or self.compute_loss_func):
            return loss * self.current_gradient_accumulation_steps
        mean = loss / (self.args.world_size if self.args.average_tokens_across_devices else 1)
        return mean * items / own.to(loss.device).clamp(min=1) if self._divides and own is not None else mean

    def _divides_by_items(self, model: Any, inputs: Any, items: Any) -> bool:
        """Whether the loss is a sum divided by the labels of the whole update. Many models take that number and ignore
        it, which Trainer does not know either; so such a model is asked once, with the number and with twice of it."""
        if _is_sft(self) or self.compute_loss_func is not None or self.label_smoother is not None:
            return True
        if not self.model_accepts_loss_kwargs:
            return False
        plain = self.accelerator.unwrap_model(model)
        prepared, training = send_to_device(dict(inputs), self.args.device), plain.training
        plain.eval()
        try:
            with torch.no_grad(), torch.random.fork_rng(), self.compute_loss_context_manager():
                once, half = (plain(**prepared, num_items_in_batch=number) for number in (items, 2 * items))
        finally:
            plain.train(training)
        first, second = (out["loss"] if isinstance(out, Mapping) else out[0] for out in (once, half))
        return not torch.allclose(first, second)

    def log(self, logs: dict[str, float], *args: Any, **kwargs: Any) -> None:
        """The Trainer's numbers, and the share and loss of each source, on the same axis."""
        if "loss" in logs:
            shares = {f"share/{task}": share for task, share in self.mix.shares().items()}
            losses = {f"loss/{task}": loss for task, loss in self.mix.take_losses().items()}
            logs = {**logs, **shares, **losses}
        super().log(logs, *args, **kwargs)


def loader_like(host: DataLoader[Any], sampler: Any) -> DataLoader[Any]:
    """A loader as the host made it, but for who draws the batches; with a generator of its own, since that of the
    training must not depend on how often a loader is opened."""
    workers: dict[str, Any] = {}
    if host.num_workers:
        workers = {"prefetch_factor": host.prefetch_factor, "persistent_workers": host.persistent_workers}
    return DataLoader(
        host.dataset,
        batch_sampler=sampler,
        collate_fn=host.collate_fn,
        num_workers=host.num_workers,
        pin_memory=host.pin_memory,
        worker_init_fn=host.worker_init_fn,
        multiprocessing_context=host.multiprocessing_context,
        generator=torch.Generator(),
        **workers,
    )


def _items(trainer: Any, inputs: Mapping[str, Any]) -> torch.Tensor | None:
    """Labels that count in a batch, as Trainer counts them; None where there are none to count."""
    labels = inputs.get("labels")
    if "shift_labels" in inputs:
        labels = inputs["shift_labels"]
    elif labels is not None and getattr(trainer, "_loss_shifts_labels", labels.dim() > 1):
        labels = labels[..., 1:]  # Trainer has no public word for whether its model predicts the next token
    if labels is None or labels.is_floating_point():
        return None
    return labels.ne(-100).sum()


def _is_sft(trainer: Any) -> bool:
    trl = sys.modules.get("trl")  # who has an SFTTrainer has imported it
    return trl is not None and isinstance(trainer, trl.SFTTrainer)
