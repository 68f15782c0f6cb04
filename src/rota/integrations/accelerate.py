"""A loop of one's own with accelerate: three lines.

    loader = rota.integrations.accelerate.mixed(accelerator, mix)
    for batch in loader:
        with accelerator.accumulate(model):
            loss = model(**batch).loss
            ...
        mix.tell(loss)

`accelerator.save_state` then saves the mix as well. The loader is not handed to `prepare`, which would read a batch
ahead and deal batches of different sources to different processes; and a StatefulDataLoader saves where it has fetched
to, not where training has come to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from accelerate import Accelerator
from accelerate.utils import send_to_device

from rota.integrations._versions import require
from rota.mixing import Mix

__all__ = ["mixed"]

require("accelerate", "1.10", "2")


class DeviceLoader:
    """Batches on the device of an accelerator."""

    def __init__(self, accelerator: Accelerator, loader: Any) -> None:
        self._accelerator, self._loader = accelerator, loader

    def __len__(self) -> int:
        return len(self._loader)

    def __iter__(self) -> Iterator[Any]:
        for batch in self._loader:
            yield send_to_device(batch, self._accelerator.device, non_blocking=True)


def mixed(accelerator: Accelerator, mix: Mix, **options: Any) -> DeviceLoader:
    """The loader of a mix for a loop with accelerate, which then saves and loads the mix with its own state.

    Args:
        accelerator: Of the loop.
        mix: With as many batches in an update, and as many processes, as the accelerator.
        options: Of `Mix.loader`.

    The program of docs/hosts/accelerate.md:

        mix = rota.Mix({"rte": rte, "mrpc": mrpc}, rota.Auto(["rte", "mrpc"]), batch_size=4)
        for batch in rota.integrations.accelerate.mixed(accelerator, mix, collate_fn=collate):
            loss = train_on(batch)
            mix.tell(loss)
        accelerator.save_state(folder)
    """
    mix.refuse_other_host(accelerator.gradient_accumulation_steps, accelerator.num_processes, "The accelerator")
    accelerator.register_for_checkpointing(mix)
    return DeviceLoader(accelerator, mix.loader(**options))
