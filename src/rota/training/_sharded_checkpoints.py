"""Checkpoints of a model that is sharded over processes: all of them write, one makes the folder."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from rota.evaluation import Gather
from rota.training._checkpoint import Checkpoints
from rota.training._shards import Shards
from rota.training._tensor_file import hash_of, tensor_pieces, write_pieces


class ShardedCheckpoints(Checkpoints):
    """Its methods are called in all processes, and fail in all of them alike.

        checkpoints/step-00000200/   model/  optimizer/  state.json  manifest.json
        best/step-00000180/          model.safetensors  manifest.json

    The best model is one ordinary file, for which one tensor after the other is gathered: readers of finished runs need
    to know nothing. The parts in `model/` and `optimizer/` fit any number of processes.

    Args:
        folder: Of the run.
        run: Its id.
        gather: Collects one object per process, in the order of the ranks.
        rank: This process; the first one makes folders.
    """

    def __init__(self, folder: Path, run: str, gather: Gather, rank: int) -> None:
        super().__init__(folder, run)
        self._gather, self._rank = gather, rank

    def save_best(self, step: int, model: dict[str, Tensor]) -> None:
        path = self._best(step)
        self._first(lambda: self._begin(path))
        temporary, pieces = self._temporary(path), tensor_pieces(model)
        hashes: dict[str, str] = {}

        def write() -> None:
            try:
                if self._rank == 0:
                    hashes["model.safetensors"] = write_pieces(temporary / "model.safetensors", pieces)
            finally:
                for _ in pieces:  # whoever does not write, or cannot any more, still has its parts of the others
                    pass

        self._finish(path, step, write, hashes, None)

    def best_shards(self, step: int) -> Shards:
        """The best model of a step, for each process to read its part of."""
        shards: Shards = self._read(self._best(step))[1]["model"]
        return shards

    def _write(
        self, path: Path, step: int, tensors: Mapping[str, dict[str, Tensor]], state: dict[str, Any] | None
    ) -> None:
        self._first(lambda: self._begin(path))
        temporary, hashes = self._temporary(path), dict[str, str]()

        def write() -> None:
            for name, own in tensors.items():
                for file in Shards(temporary / name).write(own, self._rank):
                    hashes[f"{name}/{file.name}"] = hash_of(file)

        self._finish(path, step, write, hashes, state)

    def _finish(
        self,
        path: Path,
        step: int,
        write: Callable[[], None],
        hashes: dict[str, str],
        state: dict[str, Any] | None,
    ) -> None:
        temporary = self._temporary(path)
        try:
            self._alike(write)
            every = {name: own for each in self._gather(hashes) for name, own in each.items()}
            self._first(lambda: self._describe(temporary, step, every, state))
            self._first(lambda: self._take_place(path))
        except OSError:
            self._first(lambda: shutil.rmtree(temporary, ignore_errors=True))
            raise

    def prune_best(self, steps: Collection[int]) -> None:
        self._first(lambda: super(ShardedCheckpoints, self).prune_best(steps))

    def make_room(self) -> None:
        self._first(super().make_room)

    def _drop_old(self) -> None:
        self._first(super()._drop_old)

    def _damaged(self, path: Path, files: Mapping[str, str]) -> list[str]:
        world = len(self._gather(None))
        own = dict(list(files.items())[self._rank :: world])
        found: list[str] = []
        self._alike(lambda: found.extend(super(ShardedCheckpoints, self)._damaged(path, own)))
        return [name for each in self._gather(found) for name in each]

    def _tensors(self, path: Path, files: Sequence[str]) -> dict[str, Any]:
        return {name.partition("/")[0].removesuffix(".safetensors"): Shards((path / name).parent) for name in files}

    def _first(self, work: Callable[[], object]) -> None:
        """Done by the first process, while the others wait."""
        self._alike(work if self._rank == 0 else lambda: None)

    def _alike(self, work: Callable[[], object]) -> None:
        """Done by all of them; where it fails in one, it fails in all: none waits for another that has given up."""
        failed: OSError | None = None
        try:
            work()
        except OSError as error:
            failed = error
        others = self._gather(None if failed is None else (failed.errno, failed.strerror or str(failed)))
        if failed is not None:
            raise failed
        for other in others:
            if other is not None:
                raise OSError(*other)
