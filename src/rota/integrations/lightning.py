"""Lightning: a callback beside the loader of a mix.

    mix = rota.Mix({"rte": rte, "mrpc": mrpc}, rota.Auto(["rte", "mrpc"]), batch_size=32)
    trainer = L.Trainer(callbacks=[rota.integrations.lightning.MixCallback(mix)], use_distributed_sampler=False)
    trainer.fit(module, mix.loader(num_workers=2))

Lightning saves the loader, and so the mix; it does not save generators, so that a model with dropout would go on with
other losses, and a policy that listens with other decisions. The callback saves them, of each process.
"""

from __future__ import annotations

import random
from typing import Any

import lightning
import numpy as np
import torch

from rota.errors import RotaError
from rota.integrations._versions import require
from rota.mixing import Mix

__all__ = ["MixCallback"]

require("lightning", "2.5", "3")


class MixCallback(lightning.Callback):
    """Tells a mix the loss that `training_step` returns, logs shares and losses of each source, keeps generators.

    Args:
        mix: Whose loader is trained on.

    The program of docs/hosts/lightning.md:

        mix = rota.Mix({"rte": rte, "mrpc": mrpc}, rota.Auto(["rte", "mrpc"]), batch_size=4)
        callback = rota.integrations.lightning.MixCallback(mix)
        trainer = L.Trainer(max_steps=6, accelerator="cpu", callbacks=[callback], use_distributed_sampler=False)
        trainer.fit(module, mix.loader(collate_fn=collate))
    """

    def __init__(self, mix: Mix) -> None:
        self.mix = mix
        self._generators: Any = None  # to go on with, of this process

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        if stage != "fit":
            return
        self.mix.refuse_other_host(trainer.accumulate_grad_batches, trainer.world_size, "Lightning's Trainer")

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        if self._generators is not None:
            set_generators(self._generators)
            self._generators = None

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        loss = outputs["loss"] if isinstance(outputs, dict) else outputs
        if loss is None:
            self.mix.skip()  # training_step left the batch out
        else:
            self.mix.tell(loss * trainer.accumulate_grad_batches)  # Lightning has divided it
        if trainer.logger is not None and (trainer.global_step % trainer.log_every_n_steps) == 0:
            values = {f"share/{task}": share for task, share in self.mix.shares().items()}
            values |= {f"loss/{task}": own for task, own in self.mix.take_losses().items()}
            pl_module.log_dict(values)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self.mix.close()

    def state_dict(self) -> dict[str, Any]:
        """The generators of all processes; Lightning asks all of them."""
        own = generators()
        if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
            return {"generators": [own]}
        gathered: list[Any] = [None] * torch.distributed.get_world_size()
        torch.distributed.all_gather_object(gathered, own)
        return {"generators": gathered}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        saved = state_dict["generators"]
        rank = torch.distributed.get_rank() if torch.distributed.is_initialized() else 0
        if rank >= len(saved):
            raise RotaError(f"Expected the generators of {rank + 1} processes. Found those of {len(saved)}.")
        self._generators = saved[rank]


def generators() -> dict[str, Any]:
    """The state of every generator that a training draws from, in this process."""
    kind, keys, position, has_gauss, cached = np.random.get_state()
    found = {
        "torch": torch.get_rng_state(),
        "numpy": [kind, torch.from_numpy(np.asarray(keys).astype(np.int64)), position, has_gauss, cached],
        "python": random.getstate(),
    }
    if torch.cuda.is_available():
        found["cuda"] = torch.cuda.get_rng_state_all()
    return found


def set_generators(state: dict[str, Any]) -> None:
    """Go on with what `generators` returned."""
    torch.set_rng_state(state["torch"].cpu())
    kind, keys, *rest = state["numpy"]
    np.random.set_state((kind, keys.cpu().numpy().astype(np.uint32), *rest))
    version, numbers, gauss = state["python"]
    random.setstate((version, tuple(numbers), gauss))
    if torch.cuda.is_available() and "cuda" in state:
        torch.cuda.set_rng_state_all([own.cpu() for own in state["cuda"]])
