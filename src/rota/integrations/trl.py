"""trl's GRPOTrainer: a mixin. (SFTTrainer takes `rota.integrations.hf.Mixing`.)

    class MyTrainer(rota.integrations.trl.MixingGRPO, GRPOTrainer):
        pass

    sources = rota.join({"sums": sums, "words": words})
    MyTrainer(model, reward_funcs, args, train_dataset=sources, policy=rota.Exp3S(["sums", "words"])).train()

One decision is one batch of prompts for which completions are generated. The policy hears what the rewards of their
groups say about how much there is to learn.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import concatenate_datasets
from torch.utils.data import DataLoader

from rota.arrays import Floats
from rota.errors import RotaError, unknown_name
from rota.integrations._versions import require
from rota.integrations.hf import MixState, loader_like
from rota.mixing import JoinedDataset, Mix, join
from rota.policies import Policy
from rota.sources import EachStep

__all__ = ["VALUES", "MixingGRPO", "advantage", "solved", "spread"]

Host: Any = object  # a GRPOTrainer stands behind the mixin in the list of base classes

require("trl", "1.16", "2")

RewardValue = Callable[[Floats], float]
"""Turns the rewards of a batch of prompts, one row of generations each, into what the policy hears."""


def spread(rewards: Floats) -> float:
    """The mean spread of the rewards in a group: where all generations earn the same there is nothing to learn.

    >>> spread(np.array([[0.0, 1.0, 1.0, 0.0], [1.0, 1.0, 1.0, 1.0]]))
    0.25
    """
    return float(rewards.std(axis=1).mean())


def advantage(rewards: Floats) -> float:
    """The mean absolute advantage: how far generations are from the mean of their group.

    >>> advantage(np.array([[0.0, 1.0, 1.0, 0.0], [1.0, 1.0, 1.0, 1.0]]))
    0.25
    """
    return float(np.abs(rewards - rewards.mean(axis=1, keepdims=True)).mean())


def solved(rewards: Floats) -> float:
    """The share of generations that earn a reward of one or more.

    >>> solved(np.array([0.0, 1.0, 1.0, 0.0]))
    0.5
    """
    return float((rewards >= 1.0).mean())


VALUES: dict[str, RewardValue] = {"spread": spread, "advantage": advantage, "solved": solved}
"""What a policy may hear of the rewards of a group, by name."""


class GroupSampler:
    """The batches of one process, in the order in which trl generates: the prompts of a decision, each as often as it
    has generations, and all of that as often as they are trained on.

    Args:
        mix: Draws prompts, of all processes together.
        generations: Of each prompt.
        repeats: Batches that a generation is used for.
        rank, world: This process among all.
    """

    drop_last = False

    def __init__(self, mix: Mix, generations: int, repeats: int, rank: int, world: int) -> None:
        self.mix, self._generations, self._repeats, self._rank, self._world = mix, generations, repeats, rank, world
        self.batch_size = mix.batch_size * generations // world
        self.sampler = mix.sampler

    def __len__(self) -> int:
        return len(self.mix) * self._repeats

    def __iter__(self) -> Iterator[list[int]]:
        for prompts in self.mix:
            rows = np.repeat(prompts, self._generations)
            own = np.split(rows, self._world)[self._rank].tolist()
            for _ in range(self._repeats):
                yield own


class MixingGRPO(Host):
    """A GRPOTrainer whose prompts a policy chooses. It stands before the trainer in the list of base classes.

    Args:
        reward_funcs: Functions, as GRPOTrainer takes them; reward models are not heard.
        policy: Over the names of the sources, with one word that it hears.
        train_dataset: Data sets by name, also as `rota.join({name: dataset, …})`.
        value: What the policy hears of the rewards: "spread", "advantage", "solved", or a function of your own.
        lag: Decisions between a decision and the last one that it has heard of; by default as few as possible.
        log: See `rota.Mix`.
        args, kwargs: Of the trainer.

    The program of docs/hosts/grpo.md:

        class MyTrainer(rota.integrations.trl.MixingGRPO, GRPOTrainer):
            pass

        sources, policy = rota.join({"sums": sums, "words": words}), rota.Exp3S(["sums", "words"])
        MyTrainer(model, reward_funcs, args, train_dataset=sources, processing_class=tokenizer, policy=policy).train()
    """

    def __init__(
        self,
        *args: Any,
        policy: Policy,
        value: str | RewardValue = "spread",
        lag: int | None = None,
        log: Path | str | None = None,
        **kwargs: Any,
    ) -> None:
        given = kwargs.get("train_dataset")
        joined = join(given) if isinstance(given, Mapping) else given
        if not isinstance(joined, JoinedDataset):
            raise RotaError(
                f"MixingGRPO expects data sets by name, train_dataset={{'sums': sums, …}}. Found a "
                f"{type(joined).__name__}."
            )
        if isinstance(value, str) and value not in VALUES:
            raise unknown_name("value of rewards", value, VALUES)
        self._value: RewardValue = VALUES[value] if isinstance(value, str) else value
        self._policy, self._lag, self._log, self._joined = policy, lag, log, joined
        heard, kwargs = self._with_heard_rewards(list(args), kwargs)
        super().__init__(*heard, **{**kwargs, "train_dataset": concatenate_datasets(list(joined.datasets.values()))})
        self.mix = self._make_mix()
        self.add_callback(MixState())

    def _with_heard_rewards(self, args: list[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        given = args[1] if len(args) > 1 else kwargs.get("reward_funcs")
        functions = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
        self._rewards: dict[int, list[float]] = {}
        self._functions = len(functions)
        heard = [self._heard(place, function) for place, function in enumerate(functions)]
        return ([args[0], heard, *args[2:]], kwargs) if len(args) > 1 else (args, {**kwargs, "reward_funcs": heard})

    def _heard(self, place: int, function: Any) -> Any:
        if not callable(function) or isinstance(function, torch.nn.Module):
            raise RotaError(f"MixingGRPO hears reward functions. Found {function!r}: wrap it in a function.")

        @functools.wraps(function)
        def reward(*args: Any, **kwargs: Any) -> Any:
            found = function(*args, **kwargs)
            if self.model.training:
                self._rewards[place] = [math.nan if own is None else float(own) for own in found]
                if len(self._rewards) == self._functions:
                    self._tell()
            return found

        return reward

    def _tell(self) -> None:
        """All rewards of a batch are known: the policy hears of all processes' groups together."""
        columns = torch.tensor([self._rewards[place] for place in range(self._functions)], dtype=torch.float32)
        self._rewards = {}
        weights = self.args.reward_weights or [1.0] * self._functions
        own = (columns.nan_to_num(0.0) * torch.tensor(weights)[:, None]).sum(0)
        whole = self.accelerator.gather(own.to(self.accelerator.device)).cpu().numpy().astype(np.float64)
        self.mix.tell(self._value(whole.reshape(-1, self.num_generations)), reduced=True)

    @property
    def _repeats(self) -> int:
        """Batches of a process that one generation is used for."""
        return int(self.num_iterations * self.args.steps_per_generation)

    def _make_mix(self) -> Mix:
        """Every process draws the prompts of all: groups may lie in several of them."""
        args, words = self.args, self._policy.hears
        if words is not None and len(words) > 1:
            raise RotaError(
                f"MixingGRPO expects a policy that hears one thing, of rewards. Found {type(self._policy).__name__}, "
                f"which hears {' and '.join(words)}."
            )
        if args.save_strategy == "steps" and args.save_steps * args.gradient_accumulation_steps % self._repeats:
            raise RotaError(
                f"MixingGRPO expects checkpoints where a new generation begins, every {self._repeats} batches. Found "
                f"save_steps={args.save_steps} with gradient_accumulation_steps={args.gradient_accumulation_steps}."
            )
        return Mix(
            self._joined,
            self._policy,
            args.generation_batch_size // self.num_generations,
            seed=args.seed,
            lag=self._least_lag if self._lag is None else self._lag,
            partial="fill",
            listen=EachStep("training_loss", says=words[0]) if words else () if words == () else "training_loss",
            rank=0,
            world=1,
            log=self._log if args.process_index == 0 else None,
        )

    @property
    def _least_lag(self) -> int:
        """Batches of an update are fetched at once: those of a later generation before an earlier one was scored."""
        return -(-self.args.gradient_accumulation_steps // self._repeats)

    def get_train_dataloader(self) -> DataLoader[Any]:
        """The trainer's own loader, with prompts that the mix draws."""
        host = super().get_train_dataloader()
        if self.mix.updates:
            self.mix = self._make_mix()  # a training that begins anew
        args = self.args
        sampler = GroupSampler(self.mix, self.num_generations, self._repeats, args.process_index, args.world_size)
        return loader_like(host, sampler)

    def log(self, logs: dict[str, float], *args: Any, **kwargs: Any) -> None:
        """The trainer's numbers, and the share and value of each source, on the same axis."""
        if "loss" in logs:
            shares = {f"share/{task}": share for task, share in self.mix.shares().items()}
            values = {f"value/{task}": value for task, value in self.mix.take_losses().items()}
            logs = {**logs, **shares, **values}
        super().log(logs, *args, **kwargs)
