"""Tensors that are sharded over processes, in files: each process writes its part, and reads what it needs."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from rota.errors import RotaError


class Shards:
    """A folder with the parts of tensors, through `torch.distributed.checkpoint` and its safetensors storage: the other
    one writes a pickle, which can execute code.

    Args:
        folder: Each file in it holds some parts of some tensors, and says which.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, tensors: Mapping[str, Tensor], rank: int) -> list[Path]:
        """Write this process's part of each tensor; return its files. All processes write together; a tensor that they
        all have is written by one of them."""
        checkpoint = _torch()
        writer = checkpoint.HuggingFaceStorageWriter(str(self.folder), save_distributed=True)
        try:
            checkpoint.save(dict(tensors), storage_writer=writer)
        except checkpoint.CheckpointException as error:
            raise _cause(error) from error
        return sorted(self.folder.glob(f"shard-{rank + 1:05d}-*.safetensors"))

    def read_into(self, tensors: Mapping[str, Tensor]) -> None:
        """Fill tensors with what was written under their names, however many processes wrote it, or one alone."""
        checkpoint = _torch()
        reader = checkpoint.HuggingFaceStorageReader(str(self.folder))
        found: dict[str, Any] = reader.read_metadata().state_dict_metadata
        other = sorted(found.keys() ^ tensors.keys())
        other += [name for name, own in tensors.items() if name in found and found[name].size != own.shape]
        if other:
            raise RotaError(
                f"Expected the tensors of this model in {self.folder}. Missing, unknown or of another size: "
                f"{', '.join(other[:5])}."
            )
        try:
            checkpoint.load(dict(tensors), storage_reader=reader)
        except checkpoint.CheckpointException as error:
            raise _cause(error) from error


def _torch() -> Any:
    """Late, for it takes a second; its public names are not marked as such."""
    return importlib.import_module("torch.distributed.checkpoint")


def _cause(error: Any) -> BaseException:
    """What went wrong in one of the processes; a full disk first."""
    causes = [failure for failure, _ in error.failures.values()]
    disk = [cause for cause in causes if isinstance(cause, OSError)]
    return (disk or causes or [error])[0]
