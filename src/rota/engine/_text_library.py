"""Training texts of several tasks in the memory of a device, as one line of tokens."""

from __future__ import annotations

import hashlib

import numpy as np
import torch
from torch import Tensor

from rota.arrays import Ids
from rota.tasks import Rows, SupportsDeviceRows

AT_ONCE = 4096  # rows that are taken together while they are moved


class TextLibrary:
    """Rows are added once: those of another run that are the same tokens and labels are the same rows here.

    Args:
        device: Where.

    >>> from rota.tasks import TensorRows
    >>> tokens = torch.tensor([[3, 7, 0], [4, 0, 0]])
    >>> inputs = {"tokens": tokens, "mask": tokens > 0, "types": tokens * 0}
    >>> rows = TensorRows(inputs, torch.tensor([1, 0]), lengths=torch.tensor([2, 1]))
    >>> library = TextLibrary(torch.device("cpu"))
    >>> library.add(rows), library.add(rows), library.tokens.tolist(), library.lengths.tolist()
    (0, 0, [3, 7, 4], [2, 1])
    """

    def __init__(self, device: torch.device) -> None:
        self.tokens, self.types = (torch.zeros(0, dtype=torch.long, device=device) for _ in range(2))
        self.starts, self.lengths = (torch.zeros(0, dtype=torch.long, device=device) for _ in range(2))
        self.labels = torch.zeros(0, dtype=torch.float64, device=device)
        self.longest = 0
        self.version = 0
        """How often its tensors were exchanged for longer ones."""
        self._known: dict[bytes, int] = {}

    def add(self, rows: Rows) -> int | None:
        """The number that its first row has here; None where they are no plain texts with a number as the label."""
        lengths = rows.lengths()
        if lengths is None or not isinstance(rows, SupportsDeviceRows) or len(rows) == 0:
            return None
        digest = hashlib.blake2b(lengths.tobytes())
        for tensor in rows.device_rows().tensors:
            digest.update(np.ascontiguousarray(tensor.numpy()).tobytes())
        key = digest.digest()
        if key not in self._known:
            found = _lines(rows, lengths)
            if found is None:
                return None
            self._known[key] = len(self.lengths)
            self._append(*found, torch.from_numpy(np.asarray(lengths, dtype=np.int64)))
        return self._known[key]

    def _append(self, tokens: Tensor, types: Tensor, labels: Tensor, lengths: Tensor) -> None:
        starts = lengths.cumsum(0) - lengths + len(self.tokens)
        device = self.tokens.device
        self.tokens, self.types, self.labels, self.lengths, self.starts = (
            torch.cat([own, more.to(device=device, dtype=own.dtype)])
            for own, more in (
                (self.tokens, tokens),
                (self.types, types),
                (self.labels, labels),
                (self.lengths, lengths),
                (self.starts, starts),
            )
        )
        self.longest = max(self.longest, int(lengths.max()))
        self.version += 1


def _lines(rows: Rows, lengths: Ids) -> tuple[Tensor, Tensor, Tensor] | None:
    """Tokens and types of all rows in one line each, and the labels."""
    found: list[tuple[Tensor, Tensor, Tensor]] = []
    for start in range(0, len(rows), AT_ONCE):
        ids = np.arange(start, min(start + AT_ONCE, len(rows)))
        batch = rows.batch(ids)
        tokens, mask = batch.inputs.get("tokens"), batch.inputs.get("mask")
        if tokens is None or mask is None or tokens.dim() != 2 or batch.labels.dim() != 1:
            return None
        expected = torch.arange(tokens.shape[1]) < torch.from_numpy(np.asarray(lengths[ids]))[:, None]
        if not torch.equal(mask.bool(), expected):
            return None
        types = batch.inputs.get("types", torch.zeros_like(tokens))
        found.append((tokens[expected], types[expected], batch.labels))
    tokens, types, labels = (torch.cat(list(column)) for column in zip(*found, strict=True))
    return tokens, types, labels
