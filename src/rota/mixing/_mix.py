"""One source of batches for every loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rota.arrays import Ids
from rota.draws import Parking, Partial
from rota.errors import RotaError
from rota.mixing._dealing import Dealing, processes
from rota.mixing._deciding import Deciding
from rota.mixing._decision import Decision
from rota.mixing._drawing import Drawing
from rota.mixing._hearing import Hearing, told_source
from rota.mixing._mix_data import MixData
from rota.mixing._mix_feedback import MixFeedback
from rota.mixing._mix_log import MixLog
from rota.mixing._mix_sources import MixSources
from rota.mixing._wrong_use import (
    check_batch_sizes,
    check_host,
    check_left,
    check_names,
    check_numbers,
    check_state,
    reads_too_far,
)
from rota.policies import Policy
from rota.sources import Listen

if TYPE_CHECKING:
    from torch.utils.data import DataLoader

VERSION = 1
"""Of the form of `state_dict`."""


class Mix(MixFeedback, MixSources):
    """Batches of several data sets, drawn by a policy, for any loop: a batch sampler that learns and can be saved.

        mix = rota.Mix({"rte": rte, "mrpc": mrpc}, rota.Exp3S(["rte", "mrpc"]), batch_size=32)
        for batch in mix.loader(num_workers=2):
            loss = model(**batch).loss
            loss.backward()
            ...
            mix.tell(loss)

    A decision is the rows of one update: `batch_size × accumulation × world` rows of one task. Decision n hears exactly
    what was told about the decisions 0 … n − 1 − lag, however far a loader reads ahead; so decisions do not depend on
    the number of workers. It resumes exactly from `state_dict`; batches that were drawn ahead but not trained on are
    drawn again.

    Args:
        datasets: By name: map-style data sets (anything with `len` and row numbers), or streams (anything that can be
            iterated again and again). With `by`, one data set that holds the rows of all.
        policy: Over the same names.
        batch_size: Rows in a batch of one process; one number, or one for each name.
        seed: Of the draws and of the order of rows.
        lag: Decisions between a decision and the last one that it has heard of. A loader with workers needs at least
            workers × prefetch_factor / accumulation, rounded up.
        by: The column that says whose row each one is, or its values.
        accumulation: Batches in an update. Left at 1 in a host that accumulates, an update mixes tasks.
        partial: The last batch of a pass: "short", "fill" (up from the next pass) or "drop". By default short, or
            filled up where a host deals out batches.
        epoch: Updates of one iteration; by default as many as go once over all data sets.
        listen: What the policy hears of the losses that are told: the name of a measure in `rota.signals` or a function
            of a `View`; by default the usual one of what it hears; `()` for no feedback.
        blend: Rows of several tasks in one batch: the policy's mixture is the probability of each row's task. Losses
            are told by task.
        rank, world: This process among all; by default as torch.distributed says.
        host_shards: Hand out the batches of all processes one after the other, for a host that deals them out itself
            (a loader that went through accelerate's `prepare`).
        park_after: Losses in a row that are no numbers, after which a source is not drawn any more; by default never.
        log: A new folder for a log, which `rota report`, `rota improve` and `rota.offpolicy` read.
        log_rows: Log the number of each row, also where it follows from the seed and its place in a pass.

    >>> from rota import uniform
    >>> mix = Mix({"a": range(6), "b": range(4)}, uniform(["a", "b"]), batch_size=2)
    >>> len(mix), sum(len(batch) for batch in mix)
    (5, 10)
    """

    drop_last = False  # what DataLoader and accelerate look for in a batch sampler

    def __init__(
        self,
        datasets: Mapping[str, Any] | Any,
        policy: Policy,
        batch_size: int | Mapping[str, int] = 32,
        *,
        seed: int = 0,
        lag: int = 4,
        by: str | Sequence[Any] | None = None,
        accumulation: int = 1,
        partial: Partial | None = None,
        epoch: int | None = None,
        listen: Listen | tuple[()] | None = None,
        blend: bool = False,
        rank: int | None = None,
        world: int | None = None,
        host_shards: bool = False,
        park_after: int | None = None,
        log: Path | str | None = None,
        log_rows: bool = False,
    ) -> None:
        more = lag + 1 if isinstance(lag, int) else lag
        check_numbers(accumulation=accumulation, epoch=epoch, lag=more, park_after=park_after)
        self._data = MixData(datasets, by)
        sizes, streams = self._data.sizes, self._data.streams
        check_names(policy, sizes)
        self._batch_sizes = check_batch_sizes(batch_size, sizes)
        self._one_size = None if isinstance(batch_size, Mapping) else batch_size
        self._dealing = dealing = Dealing(*processes(rank, world), accumulation, host_shards)
        self.lag, self.seed, self._given_epoch = lag, seed, epoch
        self.partial: Partial = partial or ("fill" if host_shards else "short")
        self._parking = Parking(park_after)
        self._parking.refuse_turns(policy)
        rows = dealing.rows_of_an_update(self._batch_sizes)
        self._drawing = Drawing(policy, sizes, rows, seed, self.partial, blend, self._parking)
        if epoch is None and streams is not None:
            raise RotaError("A mix of streams expects epoch=…, the updates of one iteration. Found none.")
        self.epoch = epoch or self._drawing.updates_of_a_pass
        source = told_source(policy, listen)
        self.log = MixLog(Path(log), self, source, log_rows) if log is not None and dealing.rank == 0 else None
        self._hearing = Hearing(policy, source, self.log, self._parking)
        summed = dealing.world > 1 and (source is not None or log is not None)
        self._deciding = Deciding(self._drawing, self._hearing, dealing, lag, listen == (), summed, streams)
        self._open = self._deciding.open
        self._placeholders = False

    @property
    def policy(self) -> Policy:
        """Chooses the next task."""
        return self._drawing.policy

    @property
    def batch_size(self) -> int:
        """Rows in a batch of one process; the largest, where they differ."""
        return max(self._batch_sizes.values())

    @property
    def dataset(self) -> Any:
        """All rows in one map-style data set, whose row numbers are handed out; None for streams."""
        return self._data.dataset

    @property
    def sampler(self) -> range:
        """What hosts look for in a batch sampler; only its length means something."""
        return range(0 if self.dataset is None else len(self.dataset))

    @property
    def accumulation(self) -> int:
        """Batches of this process in an update."""
        return self._dealing.accumulation

    @property
    def sizes(self) -> dict[str, int | None]:
        """Rows of each data set; None for streams."""
        return dict(self._data.sizes)

    def __len__(self) -> int:
        return self.epoch * self._dealing.handed_out

    def __iter__(self) -> Iterator[list[int]]:
        """Batches of row numbers, to the end of the epoch; from the first batch on that was not told of."""
        for decision, place in self.decisions():
            if decision is None:
                yield [0] * self.batch_size  # the host has trained on it before, and drops it unfetched
            else:
                found = [self._data.numbers(task, ids) for task, ids in self._drawing.ids(decision).items()]
                whole = np.concatenate(found) if len(found) > 1 else found[0]
                yield self._drawing.dealt(decision, whole, self._dealing.shards[place])[0].tolist()

    def rows(self) -> Iterator[list[Any]]:
        """The same batches as rows of streams, which are read here."""
        assert self._data.streams is not None, "map-style data sets have row numbers"
        for decision, place in self.decisions():
            if decision is not None:
                whole = self._data.streams.rows(decision)
                own, _ = self._drawing.dealt(decision, np.arange(len(whole)), self._dealing.shards[place])
                yield [whole[k] for k in own]

    def decisions(self) -> Iterator[tuple[Decision | None, int]]:
        """Each batch of the epoch from where training stopped: its decision, and its place among the batches of that.
        None for what a host is going to drop."""
        at = self.place
        if self._placeholders:
            self._placeholders = False
            for _ in range(at % len(self)):
                yield None, 0
        ended = False
        while not ended:
            yield self._deciding.hand_out(at)
            at += 1
            ended = at % len(self) == 0  # looked at each time: an epoch is another one where sources came or left
        self._deciding.finish(at)

    @property
    def place(self) -> int:
        """The place of the next batch to train on, among all that are ever handed out."""
        self._deciding.forget_finished()
        return self._open.first_untold

    def loader(
        self,
        collate_fn: Callable[..., Any] | Mapping[str, Callable[..., Any]] | None = None,
        num_workers: int = 0,
        **options: Any,
    ) -> DataLoader[Any]:
        """A DataLoader of these batches.

        Args:
            collate_fn: Makes a batch of rows; one, or one for each task.
            num_workers: Processes that fetch rows ahead.
            options: Of `torch.utils.data.DataLoader`.
        """
        from rota.mixing._mix_loader import make_loader  # late: it loads torch

        return make_loader(self, collate_fn, num_workers, **options)

    def refuse_reading_ahead(self, batches: int, who: str) -> None:
        """Refuse a loader for which decisions would have to be made before their lag.

        Args:
            batches: As many as it holds beyond the one that is trained on.
            who: Reads them.
        """
        least = -(-batches // self._dealing.handed_out)
        if self._hearing.listens and self.lag < least:
            raise reads_too_far(who, batches, least, self.lag)

    def refuse_other_host(self, accumulation: int, world: int, who: str) -> None:
        """Refuse a host with other updates.

        Args:
            accumulation: Its batches in an update.
            world: Its processes.
            who: It is.
        """
        check_host(who, accumulation, world, self._dealing)

    def rows_of(self, decision: Decision) -> dict[str, tuple[Ids, tuple[int, int] | None]]:
        """The row numbers of a decision in each data set, and where they stand among those of all passes."""
        ids, spans = self._drawing.ids(decision), self._drawing.spans(decision)
        return {task: (own, spans[task]) for task, own in ids.items()}

    def state_dict(self) -> dict[str, Any]:
        """Everything, as plain JSON. It sends no message to other processes, and is the same in all of them."""
        streams, tasks = self._data.streams, self._data.sizes.keys() | self._open.tasks
        return {
            "version": VERSION,
            "identity": self.identity(),
            "shape": [self._dealing.accumulation, self._dealing.world],
            **self._deciding.state_dict(),
            "streams": None if streams is None else streams.state_dict(self._open.steps, tasks),
            "log": self.log.sync() if self.log else None,
            **({} if self._parking.after is None else {"parking": self._parking.state_dict()}),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from there; also with another number of processes, as long as an update has the same rows."""
        check_state(state, VERSION, self.identity(), [self._dealing.accumulation, self._dealing.world])
        check_left(state, self._data.sizes, self._data.left)
        self._deciding.load_state_dict(state)
        self._parking.load_state_dict(state.get("parking", {}))
        if self.log is not None and state["log"] is not None:
            self.log.cut_back(state["log"])
        if self._data.streams is not None:
            self._data.streams.load_state_dict(state["streams"])

    def close(self) -> None:
        """Training is over: the policy and the log get what still waits."""
        self._hearing.close(self._open.drawn)
        if self.log is not None:
            self.log.close()

    def expect_skipping(self) -> None:
        """The host will drop the batches of this epoch that were trained on before: hand out something in their place,
        once."""
        self._placeholders = True

    def identity(self) -> dict[str, Any]:
        """What a state must have in common with the mix that loads it."""
        return {
            "rows": self.sizes,
            "rows of an update": dict(self._drawing.rows),
            "partial": self.partial,
            "lag": self.lag,
            "seed": self.seed,
            "epoch": self.epoch,
            "blend": self._drawing.blend,
            **({} if self._parking.after is None else {"park_after": self._parking.after}),
        }
