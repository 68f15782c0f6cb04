"""A DataLoader of a mix."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import DataLoader, IterableDataset, default_collate

from rota.errors import RotaError
from rota.seeds import integer

if TYPE_CHECKING:
    from rota.mixing._mix import Mix

PREFETCH = 2  # batches of a worker, where nobody says otherwise: torch's own default
BatchCollator = Callable[..., Any]
END = object()


@dataclass(frozen=True)
class CollateByTask:
    """The collator of each task, by the name that the rows of a batch carry."""

    collators: Mapping[str, BatchCollator]

    def __call__(self, rows: Any) -> Any:
        if rows.task not in self.collators:
            raise RotaError(
                f"Expected a collator for each source. Found {', '.join(self.collators)}, not '{rows.task}'."
            )
        return self.collators[rows.task](list(rows))


class StreamRows(IterableDataset[Any]):
    """The batches of a mix of streams, made in the training process: what is heard must reach it."""

    def __init__(self, mix: Mix, collate: BatchCollator) -> None:
        self._mix, self._collate = mix, collate

    def __iter__(self) -> Iterator[Any]:
        for rows in self._mix.rows():
            yield self._collate(rows)

    def __len__(self) -> int:
        return len(self._mix)


class MixLoader(DataLoader[Any]):
    """Knows which batches were handed out, so that a policy without feedback needs no `tell`.

    Its generator is its own: that of the training is left alone, and workers are seeded by the number of the epoch.
    """

    def __init__(self, mix: Mix, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{**options, "generator": torch.Generator()})
        self.mix = mix
        self._copied = len(mix.sampler)  # rows that workers know

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        assert self.generator is not None
        self.generator.manual_seed(integer(self.mix.seed, "workers", self.mix.updates // self.mix.epoch))
        at = self.mix.place
        batches = self._begin()
        while (batch := next(batches, END)) is not END:
            number = self.mix.current.number
            at += 1
            try:
                yield batch
            finally:  # also where the loop is left after this batch
                self.mix.pass_over(number)
            if self.num_workers and self._copied != len(self.mix.sampler):
                batches = self._begin_again(at)

    def _begin(self) -> Iterator[Any]:
        rows = len(self.mix.sampler)
        if self._copied != rows:
            self._iterator = None  # workers that persist have copied the rows before there were more
        self._copied = rows
        return super().__iter__()

    def _begin_again(self, at: int) -> Iterator[Any]:
        """A source was added, and workers have copied the rows before: begin with new ones, at the same batch."""
        first = self.mix.place
        if first > at:
            raise RotaError(
                f"A loader that reads further ahead than lag={self.mix.lag} cannot go on where a source was added. "
                f"Expected Mix(…, lag=…) of at least num_workers × prefetch_factor. Begin a new iteration otherwise."
            )
        return itertools.islice(self._begin(), at - first, None)

    def state_dict(self) -> dict[str, Any]:
        """Of the mix: a host that saves its loaders saves all that there is to save."""
        return self.mix.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.mix.load_state_dict(state)


def make_loader(
    mix: Mix, collate_fn: BatchCollator | Mapping[str, BatchCollator] | None, num_workers: int, **options: Any
) -> MixLoader:
    """See `Mix.loader`."""
    for name in ("batch_size", "shuffle", "sampler", "batch_sampler", "drop_last", "generator", "dataset"):
        if name in options:
            raise RotaError(f"mix.loader decides about {name} itself. Found {name}={options[name]!r}: leave it out.")
    collate: BatchCollator = (
        CollateByTask(collate_fn) if isinstance(collate_fn, Mapping) else collate_fn or default_collate
    )
    if mix.dataset is None:
        if num_workers:
            raise RotaError(
                f"A mix of streams is read in the training process, so that its place can be saved. Found num_workers="
                f"{num_workers}: leave it out."
            )
        return MixLoader(mix, StreamRows(mix, collate), batch_size=None, **options)
    ahead = num_workers * (options.get("prefetch_factor") or PREFETCH)
    mix.refuse_reading_ahead(ahead, f"A loader with {num_workers} workers")
    return MixLoader(mix, mix.dataset, batch_sampler=mix, collate_fn=collate, num_workers=num_workers, **options)
