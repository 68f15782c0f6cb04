"""One source of batches for every loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rota.arrays import Ids
from rota.draws import Partial
from rota.errors import RotaError
from rota.feedback import Feedback
from rota.mixing._dealing import Dealing, processes
from rota.mixing._decision import Decision, Heard, Means, as_scalar
from rota.mixing._drawing import Drawing
from rota.mixing._hearing import Hearing, told_source
from rota.mixing._mix_data import MixData
from rota.mixing._mix_log import MixLog
from rota.mixing._open_decisions import MixBatch, OpenDecisions
from rota.mixing._wrong_use import (
    check_batch_sizes,
    check_host,
    check_losses,
    check_names,
    check_numbers,
    check_observed,
    check_state,
    never_heard,
    not_told,
    reads_too_far,
)
from rota.policies import Policy
from rota.sources import Listen

if TYPE_CHECKING:
    from torch.utils.data import DataLoader

VERSION = 1
"""Of the form of `state_dict`."""
DEAF = 1000
"""Updates after which a policy that has heard nothing of what it listens to is refused."""


class Mix:
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
        log: Path | str | None = None,
        log_rows: bool = False,
    ) -> None:
        check_numbers(accumulation=accumulation, epoch=epoch, lag=lag + 1 if isinstance(lag, int) else lag)
        self._data = MixData(datasets, by)
        sizes = self._data.sizes
        check_names(policy, sizes)
        batch_sizes = check_batch_sizes(batch_size, sizes)
        self._dealing = dealing = Dealing(*processes(rank, world), accumulation, host_shards)
        self.policy, self.lag, self.seed = policy, lag, seed
        self.batch_size = max(batch_sizes.values())
        self.partial: Partial = partial or ("fill" if host_shards else "short")
        rows = {task: size * accumulation * dealing.world for task, size in batch_sizes.items()}
        self._drawing = Drawing(policy, sizes, rows, seed, self.partial, blend)
        if epoch is None and self._data.streams is not None:
            raise RotaError("A mix of streams expects epoch=…, the updates of one iteration. Found none.")
        self.epoch = epoch or self._drawing.updates_of_a_pass
        source = told_source(policy, listen)
        self._listening = source is not None
        self._deaf = listen == ()
        self._sums = dealing.world > 1 and (self._listening or log is not None)
        self.log = MixLog(Path(log), self, source, log_rows) if log is not None and dealing.rank == 0 else None
        self._hearing = Hearing(policy, source, self.log)
        self._open = OpenDecisions(dealing)
        self._finished = 0  # batches until the end of an iteration that was not broken off
        self._placeholders = False

    # Batches

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
        self._forget_finished()
        at, per = self._open.first_untold, self._dealing.handed_out
        start = at // len(self) * len(self)
        if self._placeholders:
            self._placeholders = False
            for _ in range(at - start):
                yield None, 0
        while at < start + len(self):
            while self._open.drawn <= at // per:
                self._draw()
            yield self._open.hand_out(at), at % per
            at += 1
        self._finished = at

    def _forget_finished(self) -> None:
        """Where the policy hears nothing, nobody has to tell: an iteration that went to its end was trained on."""
        while not self._listening and len(self._open) and self._open.first_untold < self._finished:
            self.skip()

    def _draw(self) -> None:
        drawn = self._open.drawn
        self._hear(drawn - self.lag)
        self._open.add(self._drawing.draw(drawn))

    def _hear(self, until: int) -> None:
        """Let the policy hear of the first `until` decisions."""
        if self._hearing.told < until and self._listening:
            raise not_told(self.current, self._open.drawn, until, self.lag, self._open.drawn - self._hearing.told)
        while self._hearing.told < until:
            self.skip()
        self._hearing.deliver(until)
        somebody = self._listening or self._deaf or self._hearing.observed
        if self._open.drawn == DEAF and self.policy.hears and not somebody:
            raise never_heard(self.policy, DEAF)

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
        if self._listening and self.lag < least:
            raise reads_too_far(who, batches, least, self.lag)

    def refuse_other_host(self, accumulation: int, world: int, who: str) -> None:
        """Refuse a host with other updates.

        Args:
            accumulation: Its batches in an update.
            world: Its processes.
            who: It is.
        """
        check_host(who, accumulation, world, self._dealing)

    # Feedback

    @property
    def current(self) -> MixBatch:
        """The oldest batch that was not told of: the one that is trained on."""
        return self._open.current

    def tell(self, value: Any, number: int | None = None, *, reduced: bool = False) -> None:
        """The loss of a batch, before its update.

        Args:
            value: The mean over the batch's rows: a number or a tensor, which is read when it is due. Where batches
                have rows of several tasks, a mapping from task to that.
            number: Which batch; by default the oldest one that was not told of, `current`.
            reduced: Whether it is the mean over all processes already; else it is summed over them, weighted by rows.
        """
        decision, batch = self._open.waiting(number)
        counted = self._drawing.counted(decision, self._dealing.own[batch])
        check_losses(value, self._drawing.blend, counted)
        losses = value if self._drawing.blend else {decision.tasks[0]: value}
        decision.reduced = reduced
        self._note(decision, batch, {task: (as_scalar(own), counted[task]) for task, own in losses.items()})

    def pass_over(self, number: int) -> None:
        """The loop has gone on from a batch: it was trained on, also where nobody told of it because nobody listens."""
        if not self._listening and len(self._open) and self.current.number == number:
            self.skip()

    def skip(self, number: int | None = None) -> None:
        """A batch was dropped, or nobody knows its loss: nothing is heard of it."""
        self._note(*self._open.waiting(number), {})

    def _note(self, decision: Decision, batch: int, heard: Heard) -> None:
        decision.told[batch] = heard
        for done in self._open.take_told():
            self._hearing.add(done, Means(done.told.values(), done.tasks, self._sums and not done.reduced))
            if self._data.streams is not None:
                self._data.streams.forget(done.step)

    def observe(self, values: Mapping[str, float], about: str | None = None) -> None:
        """What was measured about tasks between updates: dev scores, uncertainty, rewards.

        It is heard `lag` decisions late, as all else, and the same in all processes if you give them the same. What the
        policy does not hear is logged; a "score" is drawn in the report.

        Args:
            values: By task.
            about: The word for it (`Policy.hears`), where the policy hears several.
        """
        check_observed(values, self._data.sizes)
        step = self._hearing.told
        if values:
            self._hearing.report([Feedback(task, float(own), None, step, about=about) for task, own in values.items()])

    @property
    def unheard(self) -> int:
        """Losses that were no numbers, so that the policy did not hear them."""
        return self._hearing.unheard

    @property
    def updates(self) -> int:
        """Updates of which everything was told."""
        return self._hearing.told

    def shares(self) -> dict[str, float]:
        """The share of the coming updates that each task can expect."""
        return self.policy.expected_shares(self._open.drawn)

    def take_losses(self) -> dict[str, float]:
        """For trackers: the mean loss of each task since the last call, as far as it was told."""
        return self._hearing.take_losses()

    def rows_of(self, decision: Decision) -> dict[str, tuple[Ids, tuple[int, int] | None]]:
        """The row numbers of a decision in each data set, and where they stand among those of all passes."""
        ids, spans = self._drawing.ids(decision), self._drawing.spans(decision)
        return {task: (own, spans[task]) for task, own in ids.items()}

    # Saved and loaded

    def state_dict(self) -> dict[str, Any]:
        """Everything, as plain JSON. It sends no message to other processes, and is the same in all of them."""
        streams = self._data.streams
        return {
            "version": VERSION,
            "identity": self.identity(),
            "shape": [self._dealing.accumulation, self._dealing.world],
            "policy": self.policy.state_dict(),
            "draws": self._drawing.state_dict(),
            "open": self._open.state_dict(),
            "hearing": self._hearing.state_dict(),
            "streams": None if streams is None else streams.state_dict(self._open.steps),
            "log": self.log.sync() if self.log else None,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from there; also with another number of processes, as long as an update has the same rows."""
        check_state(state, VERSION, self.identity(), [self._dealing.accumulation, self._dealing.world])
        self.policy.load_state_dict(state["policy"])
        self._drawing.load_state_dict(state["draws"])
        self._hearing.load_state_dict(state["hearing"])
        self._open.load_state_dict(state["open"])
        self._finished = 0
        if self.log is not None and state["log"] is not None:
            self.log.cut_back(state["log"])
        if self._data.streams is not None:
            self._data.streams.load_state_dict(state["streams"])

    def close(self) -> None:
        """Training is over: the policy and the log get what still waits."""
        self._hearing.deliver(self._hearing.told)
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
        }
