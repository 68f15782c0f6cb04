"""Sources of a mix that come, go and are parked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rota.draws import Parking
from rota.mixing._dealing import Dealing
from rota.mixing._deciding import Deciding
from rota.mixing._drawing import Drawing
from rota.mixing._hearing import Hearing
from rota.mixing._mix_data import MixData
from rota.mixing._wrong_use import check_back, check_batch_sizes, check_names, check_removed
from rota.policies import Policy


class MixSources:
    """The part of a mix that changes its sources."""

    epoch: int
    """Updates of one iteration."""
    _given_epoch: int | None
    _batch_sizes: dict[str, int]
    _one_size: int | None
    _data: MixData
    _dealing: Dealing
    _drawing: Drawing
    _hearing: Hearing
    _deciding: Deciding
    _parking: Parking

    def add(
        self, datasets: Mapping[str, Any], policy: Policy, batch_size: int | Mapping[str, int] | None = None
    ) -> None:
        """More sources, while training goes on. Call it between two updates, after `tell`, and the same in all
        processes.

        The next `lag` updates are drawn as before: a loader may have fetched them already. From then on the new policy
        draws. Rows of the other sources are gone on with.

        Args:
            datasets: By name; rows by number or streams, as the mix has.
            policy: Over all names, of the same kind as before. It takes over what that one has learnt.
            batch_size: Of the new sources, where it is not the same for all.

        >>> import rota
        >>> mix = rota.Mix({"a": range(6)}, rota.Exp3S(["a"]), batch_size=2)
        >>> mix.add({"b": range(4)}, rota.Exp3S(["a", "b"]))
        >>> mix.shares()
        {'a': 0.5, 'b': 0.5}
        """
        self._data.refuse(datasets)
        check_back(datasets, self._deciding.in_use)
        given = self._one_size if batch_size is None else batch_size
        sizes = check_batch_sizes({} if given is None else given, datasets)
        self._change(policy, datasets, (), {**self._batch_sizes, **sizes})

    def remove(self, names: str | Sequence[str], policy: Policy) -> None:
        """Fewer sources, while training goes on. Call it between two updates, after `tell`, and the same in all
        processes.

        The next `lag` updates are drawn as before: a loader may have fetched them already, with rows of sources that
        leave. What is told of those is logged, but not heard.

        Args:
            names: Of those that leave.
            policy: Over the names that stay, of the same kind as before. It takes over what that one has learnt.

        >>> import rota
        >>> mix = rota.Mix({"a": range(6), "b": range(4)}, rota.Exp3S(["a", "b"]), batch_size=2)
        >>> mix.remove("b", rota.Exp3S(["a"]))
        >>> mix.sizes
        {'a': 6}
        """
        dropped = [names] if isinstance(names, str) else list(names)
        check_removed(dropped, self._data.sizes)
        self._change(policy, {}, dropped, {task: n for task, n in self._batch_sizes.items() if task not in dropped})

    def _change(
        self, policy: Policy, added: Mapping[str, Any], dropped: Sequence[str], batch_sizes: dict[str, int]
    ) -> None:
        sizes, rows = self._data.sizes_after(added, dropped), self._dealing.rows_of_an_update(batch_sizes)
        check_names(policy, sizes)
        self._parking.refuse_turns(policy)
        self._drawing.refuse(policy, sizes, rows)
        step = self._deciding.draw_ahead()
        policy.take_over(self._drawing.policy)
        self._data.change(added, dropped)
        self._drawing.change(policy, sizes, rows)
        self._hearing.change(policy, dropped)
        self._parking.forget(dropped)
        self._batch_sizes = batch_sizes
        self.epoch = self._given_epoch or self._drawing.updates_of_a_pass
        shares = self._drawing.drawn_from.expected_shares(step)
        change = {"added": list(added), "dropped": list(dropped), "rows": {task: sizes[task] for task in added}}
        self._hearing.happen({"kind": "tasks", "step": step, **change, "mixture": shares})

    @property
    def parked(self) -> dict[str, str]:
        """Sources that are not drawn because their losses are no numbers, and the reason of each."""
        return dict(self._parking.reasons)

    def unpark(self, name: str) -> None:
        """Draw from a source again that was parked; as with `add`, the next `lag` updates are drawn as before."""
        self._parking.refuse_unparked(name)
        step = self._deciding.draw_ahead()
        self._parking.forget([name])
        self._hearing.happen({"kind": "unparked", "step": step, "task": name})
