"""The state of the optimizer in branches that begin at the same parameters."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

Memory = Literal["reset", "shared", "own"]
"""What the optimizer of a branch remembers: nothing (reset), what the target's branch knew at the end of the last round
(shared), or what it knew itself at the end of its last branch (own)."""

SHARED = "shared"


class BranchStates:
    """Gives each branch the memory of the optimizer (momentum, averages of gradients) that it is to begin with.

    Numbers are changed in place: a captured step finds them where they were. What has no memory yet gets zeros, which
    is how the first update would find it.

    Args:
        optimizer: Of all branches.
        memory: What a branch remembers; "reset" needs no copy of anything.
        heir: The branch whose memory is the shared one in the next round.
    """

    def __init__(self, optimizer: torch.optim.Optimizer, memory: Memory, heir: str) -> None:
        self._optimizer, self._memory, self._heir = optimizer, memory, heir
        self._saved: dict[str, dict[str, Tensor]] = {}
        self._next: dict[str, Tensor] | None = None

    def enter(self, branch: str) -> None:
        """A branch begins."""
        key = branch if self._memory == "own" else SHARED
        self._put({} if self._memory == "reset" else self._saved.get(key, {}))

    def leave(self, branch: str) -> None:
        """It is over."""
        if self._memory == "own":
            self._saved[branch] = self._read()
        elif self._memory == "shared" and branch == self._heir:
            self._next = self._read()

    def round_over(self) -> None:
        """All branches of the round are over."""
        if self._next is not None:
            self._saved[SHARED], self._next = self._next, None

    def tensors(self) -> dict[str, Tensor]:
        """What is remembered, for a checkpoint."""
        moments = {**self._saved, **({} if self._next is None else {"next": self._next})}
        return {f"{name}|{key}": own for name, state in moments.items() for key, own in state.items()}

    def load_tensors(self, tensors: dict[str, Tensor]) -> None:
        self._saved, self._next = {}, None
        for name, tensor in tensors.items():
            branch, _, key = name.rpartition("|")
            self._saved.setdefault(branch, {})[key] = tensor.clone()
        self._next = self._saved.pop("next", None) if self._memory == "shared" else None

    def _parameters(self) -> list[Tensor]:
        return [parameter for group in self._optimizer.param_groups for parameter in group["params"]]

    def _read(self) -> dict[str, Tensor]:
        return {
            f"{number}.{name}": value.clone()
            for number, parameter in enumerate(self._parameters())
            for name, value in self._optimizer.state.get(parameter, {}).items()
            if isinstance(value, Tensor)
        }

    @torch.no_grad()
    def _put(self, saved: dict[str, Tensor]) -> None:
        for number, parameter in enumerate(self._parameters()):
            for name, value in self._optimizer.state.get(parameter, {}).items():
                if isinstance(value, Tensor):
                    known = saved.get(f"{number}.{name}")
                    value.zero_() if known is None else value.copy_(known)
