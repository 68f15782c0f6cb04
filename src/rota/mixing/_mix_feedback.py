"""What a loop tells a mix, and what the mix says about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rota.feedback import Feedback
from rota.mixing._dealing import Dealing
from rota.mixing._deciding import Deciding
from rota.mixing._decision import as_scalar
from rota.mixing._drawing import Drawing
from rota.mixing._hearing import Hearing
from rota.mixing._mix_data import MixData
from rota.mixing._open_decisions import MixBatch, OpenDecisions
from rota.mixing._wrong_use import check_losses, check_observed


class MixFeedback:
    """The part of a mix that hears."""

    _data: MixData
    _dealing: Dealing
    _drawing: Drawing
    _hearing: Hearing
    _deciding: Deciding
    _open: OpenDecisions

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
        self._deciding.note(decision, batch, {task: (as_scalar(own), counted[task]) for task, own in losses.items()})

    def pass_over(self, number: int) -> None:
        """The loop has gone on from a batch: it was trained on, also where nobody told of it because nobody listens."""
        if not self._hearing.listens and len(self._open) and self.current.number == number:
            self.skip()

    def skip(self, number: int | None = None) -> None:
        """A batch was dropped, or nobody knows its loss: nothing is heard of it."""
        self._deciding.skip(number)

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
        return self._drawing.drawn_from.expected_shares(self._open.drawn)

    def take_losses(self) -> dict[str, float]:
        """For trackers: the mean loss of each task since the last call, as far as it was told."""
        return self._hearing.take_losses()
