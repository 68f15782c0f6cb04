"""Copies of tensors that can be brought back in place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor


class Saved:
    """Copies of tensors, side by side in one buffer for each type and device; brought back to the bit."""

    @torch.no_grad()
    def __init__(self, tensors: Iterable[Tensor]) -> None:
        kinds: dict[tuple[torch.dtype, torch.device], list[Tensor]] = {}
        for tensor in tensors:
            kinds.setdefault((tensor.dtype, tensor.device), []).append(tensor)
        self._tensors = list(kinds.values())
        self.buffers = [torch.cat([tensor.reshape(-1) for tensor in own]) for own in self._tensors]

    @torch.no_grad()
    def restore(self) -> None:
        """Every tensor is what it was, where it was."""
        for own, buffer in zip(self._tensors, self.buffers, strict=True):
            for tensor, part in zip(own, torch.split(buffer, [tensor.numel() for tensor in own]), strict=True):
                tensor.copy_(part.view(tensor.shape))


class Kept:
    """Copies of the same tensors at several moments, by name."""

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self._own = list(tensors)
        self._moments: dict[str, Saved] = {}

    def keep(self, name: str) -> None:
        """Remember them as they are now."""
        self._moments[name] = Saved(self._own)

    def bring(self, name: str) -> None:
        """They are again what they were then."""
        if self._own:  # a moment of nothing leaves no trace in a checkpoint
            self._moments[name].restore()

    def __contains__(self, name: str) -> bool:
        return name in self._moments

    def clear(self) -> None:
        self._moments.clear()

    def tensors(self) -> dict[str, Tensor]:
        """What is remembered, for a checkpoint."""
        return {f"{name}.{k}": own for name, saved in self._moments.items() for k, own in enumerate(saved.buffers)}

    def load_tensors(self, tensors: dict[str, Tensor]) -> None:
        for name in dict.fromkeys(key.rpartition(".")[0] for key in tensors):
            self.keep(name)
            for k, buffer in enumerate(self._moments[name].buffers):
                buffer.copy_(tensors[f"{name}.{k}"])
