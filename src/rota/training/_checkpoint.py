"""Checkpoints that are whole or absent, say whose they are, and cannot execute code."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import safetensors.torch
from torch import Tensor

from rota.errors import RotaError, resuming
from rota.runlog import StateRecord, check_record, refuse_lost, write_json
from rota.training._shards import Shards
from rota.training._tensor_file import hash_of, tensor_pieces, write_pieces

MANIFEST, STATE, SUFFIX = "manifest.json", "state.json", ".safetensors"
FORMAT = 1  # of the state; one that cannot be read any more gets another number
KEPT = 2  # the latest, and the one before it in case the latest is damaged


Found = tuple[dict[str, Any], dict[str, Any]]
"""The state in a checkpoint, and what each part of it holds: a dict of tensors; or `Shards`, from which each process
reads what it needs."""


class Checkpoints:
    """The checkpoints of one run, and its best model.

        checkpoints/step-00000200/   model.safetensors  optimizer.safetensors  state.json  manifest.json
        best/step-00000180/          model.safetensors  manifest.json

    Of a model that is sharded over processes, `model/` and `optimizer/` are folders with a file of each process.

    A folder is written under another name and then renamed, so that a crash leaves no half checkpoint; the
    manifest holds the run's id and a hash of every file, so that a damaged or foreign one is noticed.

    >>> import tempfile
    >>> import torch
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoints = Checkpoints(Path(folder), run="exp3s-0")
    ...     for step in (100, 200, 300):
    ...         checkpoints.save(step, {"model": {"weight": torch.ones(2)}}, {"done": step})
    ...     checkpoints.names(), checkpoints.latest_step()
    (['step-00000200', 'step-00000300'], 300)
    """

    def __init__(self, folder: Path, run: str) -> None:
        self._folder, self._run = folder, run

    def save(self, step: int, tensors: Mapping[str, dict[str, Tensor]], state: dict[str, Any]) -> None:
        """Write the checkpoint of `step` and drop the ones that are too old."""
        self._write(self._folder / "checkpoints" / _name(step), step, tensors, state)
        self._drop_old()

    def _drop_old(self) -> None:
        for old in self.names()[:-KEPT]:
            _remove(self._folder / "checkpoints" / old)

    def save_best(self, step: int, model: dict[str, Tensor]) -> None:
        """Write the best model beside older best ones; `prune_best` drops those when nobody needs them."""
        self._write(self._best(step), step, {"model": model}, None)

    def prune_best(self, steps: Collection[int]) -> None:
        """Drop all best models but those of `steps`."""
        for path in (self._folder / "best").glob("step-*"):
            if path.name not in map(_name, steps):
                _remove(path)

    def remove(self, best: bool) -> None:
        """Remove all checkpoints, and the best models, too, if asked."""
        for kind in ("checkpoints", *(["best"] if best else [])):
            _remove(self._folder / kind)

    def best_steps(self) -> list[int]:
        """The steps of the best models that are there, oldest first."""
        return sorted(int(path.name.removeprefix("step-")) for path in (self._folder / "best").glob("step-*"))

    def load_best(self, step: int) -> dict[str, Tensor]:
        tensors: dict[str, Tensor] = self._read(self._best(step))[1]["model"]
        return tensors

    def _best(self, step: int) -> Path:
        return self._folder / "best" / _name(step)

    def names(self) -> list[str]:
        """Names of the checkpoints, oldest first."""
        paths = (self._folder / "checkpoints").glob("step-*")
        return sorted(path.name for path in paths if re.fullmatch(r"step-\d{8,}", path.name))

    def latest_step(self) -> int:
        """The step of the latest checkpoint, 0 if there is none."""
        return int(self.names()[-1].removeprefix("step-")) if self.names() else 0

    def drop_after(self, step: int) -> None:
        """Drop the checkpoints that come after `step`, and what a killed process left half written."""
        refuse_lost(self._folder / "checkpoints")
        self._drop_unfinished()
        for name in self.names():
            if name > _name(step):
                _remove(self._folder / "checkpoints" / name)

    def log_end(self, name: str | None = None) -> int:
        """How many bytes of the log belong to a checkpoint, by default to the latest; 0 if there is none."""
        found = self.load(name)
        return (found[0]["log"] or 0) if found else 0

    def bring_back(self) -> None:
        """A process that died while it replaced a checkpoint has left the old one beside it."""
        for old in (self._folder / "checkpoints").glob("tmp-old-step-*"):
            path = old.with_name(old.name.removeprefix("tmp-old-"))
            if not path.exists():
                old.rename(path)

    def make_room(self) -> None:
        """Give up the older checkpoint where there are two, for a disk that is full."""
        self._drop_unfinished()
        for name in self.names()[:-1]:
            _remove(self._folder / "checkpoints" / name)

    def _drop_unfinished(self) -> None:
        for leftover in self._folder.glob("*/tmp-*"):
            shutil.rmtree(leftover, ignore_errors=True)

    def load(self, name: str | None = None) -> Found | None:
        """State and tensors of a checkpoint, by default the latest; None if there is none yet."""
        names = self.names()
        if name is None and not names:
            return None
        chosen = names[-1] if name is None else name
        if chosen not in names:
            raise RotaError(
                f"Expected a checkpoint '{chosen}' in {self._folder}. Found {', '.join(names) or 'none'}. "
                f"Choose one of these: {resuming(self._folder, 'NAME')}."
            )
        try:
            return self._read_state(self._folder / "checkpoints" / chosen)
        except RotaError as error:
            raise RotaError(f"{error} {self._offer(chosen)}") from error

    def _offer(self, broken: str) -> str:
        for name in reversed(self.names()):
            if name != broken:
                try:
                    self._read_state(self._folder / "checkpoints" / name)
                except RotaError:
                    continue
                return f"The one before is good: continue with {resuming(self._folder, name)}."
        return "There is no other good checkpoint: start again in a new folder."

    def _write(
        self, path: Path, step: int, tensors: Mapping[str, dict[str, Tensor]], state: dict[str, Any] | None
    ) -> None:
        with self._replacing(path) as temporary:
            hashes = {
                f"{name}{SUFFIX}": write_pieces(temporary / f"{name}{SUFFIX}", tensor_pieces(own))
                for name, own in tensors.items()
            }
            self._describe(temporary, step, hashes, state)

    @contextlib.contextmanager
    def _replacing(self, path: Path) -> Iterator[Path]:
        """A folder that takes the place of one of this name, if there is one, once all is written; or that is gone."""
        temporary = self._begin(path)
        try:
            yield temporary
            self._take_place(path)
        except OSError:
            shutil.rmtree(temporary, ignore_errors=True)
            raise

    def _temporary(self, path: Path) -> Path:
        return path.parent / f"tmp-{path.name}"

    def _begin(self, path: Path) -> Path:
        refuse_lost(path)
        temporary, replaced = self._temporary(path), path.parent / f"tmp-old-{path.name}"
        for leftover in (temporary, replaced):
            shutil.rmtree(leftover, ignore_errors=True)
        temporary.mkdir(parents=True)
        return temporary

    def _describe(self, temporary: Path, step: int, hashes: Mapping[str, str], state: dict[str, Any] | None) -> None:
        """The last files: what is remembered beside tensors, and the manifest."""
        found = dict(hashes)
        if state is not None:
            found[STATE] = write_pieces(temporary / STATE, [json.dumps(state, allow_nan=False).encode()])
        write_json(temporary / MANIFEST, {"run": self._run, "format": FORMAT, "step": step, "files": found})

    def _take_place(self, path: Path) -> None:
        temporary, replaced = self._temporary(path), path.parent / f"tmp-old-{path.name}"
        refuse_lost(path)
        if path.exists():
            path.rename(replaced)
        try:
            temporary.rename(path)
        except OSError:
            if replaced.exists():
                replaced.rename(path)
            raise
        shutil.rmtree(replaced, ignore_errors=True)

    def _read_state(self, path: Path) -> Found:
        state, tensors = self._read(path)
        check_record(state, StateRecord, path / STATE)
        return state, tensors

    def _read(self, path: Path) -> Found:
        try:
            manifest = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
            run, files = manifest["run"], dict(manifest["files"])
            damaged = self._damaged(path, files)
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise RotaError(f"Expected a whole checkpoint at {path}. Found a damaged one ({error}).") from error
        if damaged:
            raise RotaError(f"Expected a whole checkpoint at {path}. Found {', '.join(damaged)} damaged.")
        if run != self._run:
            raise RotaError(f"Expected a checkpoint of run {self._run} at {path}. Found one of run {run}.")
        if manifest.get("format", FORMAT) != FORMAT:
            raise RotaError(
                f"Expected a checkpoint of format {FORMAT} at {path}. Found {manifest['format']!r}. Go on with the "
                f"version of rota that wrote it."
            )
        try:
            state = json.loads((path / STATE).read_bytes()) if STATE in files else {}
            tensors = self._tensors(path, [name for name in files if name != STATE])
        except (OSError, ValueError, RecursionError, safetensors.SafetensorError) as error:
            raise RotaError(f"Expected a whole checkpoint at {path}. Found a damaged one ({error}).") from error
        return state, tensors

    def _damaged(self, path: Path, files: Mapping[str, str]) -> list[str]:
        """The files whose content is not what the manifest says."""
        return [name for name, expected in files.items() if hash_of(path / name) != expected]

    def _tensors(self, path: Path, files: Sequence[str]) -> dict[str, Any]:
        """What the files of a checkpoint hold, by the part of it that they are."""
        shards = {name.partition("/")[0] for name in files if "/" in name}
        whole = {
            name.removesuffix(SUFFIX): safetensors.torch.load_file(path / name) for name in files if "/" not in name
        }
        return {**whole, **{name: Shards(path / name) for name in shards}}


def _remove(path: Path) -> None:
    """Remove a folder, if it is there, under another name: a crash in the middle of it must not leave half of one."""
    if path.is_dir():
        gone = path.with_name(f"tmp-gone-{path.name}")
        shutil.rmtree(gone, ignore_errors=True)
        path.rename(gone)
        shutil.rmtree(gone)


def _name(step: int) -> str:
    return f"step-{step:08d}"
