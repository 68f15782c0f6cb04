"""The user's own accelerator, optimizer and scheduler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from accelerate import Accelerator
from torch import nn

from rota.errors import RotaError


@dataclass(frozen=True)
class Trainer:
    """What you have already, for `fit(…, trainer=Trainer(…))`. It is taken as it is, and left as it was.

    Args:
        accelerator: Where is trained, in which precision and with whom; one that is configured for FSDP2 shards the
            model.
        optimizer: Over the parameters of the model, with its own learning rate.
        scheduler: Of that optimizer; it is stepped after every update.

    >>> model = nn.Linear(2, 2)
    >>> Trainer(optimizer=torch.optim.SGD(model.parameters(), lr=0.1)).check(model)
    >>> Trainer(optimizer=torch.optim.SGD(nn.Linear(2, 2).parameters(), lr=0.1)).check(model)
    Traceback (most recent call last):
    ...
    rota.errors.RotaError: Trainer expects an optimizer over the parameters of the model. Found 2 that are not its.
    """

    accelerator: Accelerator | None = None
    optimizer: torch.optim.Optimizer | None = None
    scheduler: Any = None

    def __post_init__(self) -> None:
        if self.scheduler is not None and self.optimizer is None:
            raise RotaError("Trainer(scheduler=…) expects its optimizer beside it. Found none.")
        if isinstance(self.scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau):
            raise RotaError("Trainer expects a scheduler that follows the updates. Found ReduceLROnPlateau.")
        if self.accelerator is not None and self.accelerator.gradient_accumulation_steps != 1:
            raise RotaError(
                f"Trainer expects an accelerator that does not accumulate. Found gradient_accumulation_steps="
                f"{self.accelerator.gradient_accumulation_steps}. Say Settings(accumulate=…) instead."
            )

    def check(self, model: nn.Module) -> None:
        """Refuse an optimizer of another model."""
        if self.optimizer is None:
            return
        known = set(map(id, model.parameters()))
        strangers = sum(id(own) not in known for group in self.optimizer.param_groups for own in group["params"])
        if strangers:
            raise RotaError(
                f"Trainer expects an optimizer over the parameters of the model. Found {strangers} that are not its."
            )
