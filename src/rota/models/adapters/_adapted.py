"""A transformer that all tasks share, with adapters of each."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from rota.errors import RotaError, unknown_name
from rota.models.adapters._adapter import Adapter
from rota.models.adapters._attached import NowRead
from rota.models.core import Counted, Features, Pooling, Pretrained, Whose, check_name, count_parameters

BEGIN_ANEW = ("random", "xavier")
"""Names under which the parts of a new task begin as those of all tasks did."""


class Adapted(Pretrained):
    """A pretrained transformer that each task adapts by parts of its own. Before training all tasks have the plain one.

    The modules of the transformer stay as they are; the parts are attached to them. Rows of several tasks may be read
    together.

    Args:
        transformer: The pretrained model of `transformers`; it is taken over.
        tasks: Their names.
        adapter: The kind of parts.
        pooling, hidden: See `Pretrained`.
        frozen: Layers from below that are frozen, with the embeddings; 0: everything is trained. None: as in the
            adapter's paper, all of the encoder or nothing of it; its dropout acts nevertheless, as it does there.

    >>> from transformers import BertConfig, BertModel
    >>> from rota.models.adapters import make_adapter
    >>> sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    >>> encoder = Adapted(BertModel(BertConfig(vocab_size=50, **sizes)), ["rte", "mrpc"], make_adapter("lora:r=2"))
    >>> sum(own.numel() for own in encoder.parameters() if own.requires_grad)  # tasks × layers × q, v × r × (in + out)
    512
    """

    def __init__(
        self,
        transformer: Any,
        tasks: Sequence[str],
        adapter: Adapter,
        pooling: Pooling = "first",
        hidden: int | None = None,
        frozen: int | Literal["half"] | None = None,
    ) -> None:
        for task in tasks:
            check_name(task)
        super().__init__(transformer, pooling, hidden)
        self.adapter, self.rows = adapter, NowRead()
        self.tasks = nn.ModuleDict()
        for task in tasks:  # one by one: otherwise torch sorts them
            self.tasks[task] = adapter.begin(self)
        adapter.attach(self, self.tasks, self.rows)
        self.asked: int | None = None
        if frozen is None:
            self.transformer.requires_grad_(adapter.trains_encoder)
            for module in adapter.trained(self):
                module.requires_grad_(True)
        else:
            self.freeze(frozen)

    def freeze(self, frozen: int | Literal["half"]) -> None:
        super().freeze(frozen)
        self.asked = self.frozen

    @property
    def separable(self) -> bool:
        """Tasks have a say in all layers."""
        return False

    @property
    def known(self) -> list[str]:
        return list(self.tasks)

    def added(self) -> dict[str, list[nn.Parameter]]:
        found: dict[str, list[nn.Parameter]] = {}
        for parts in self.tasks.values():
            for name, part in parts.named_children():
                found.setdefault(name.replace("_", " "), []).extend(part.parameters())
        return found

    def describe(self) -> dict[str, Any]:
        about = {"tasks": self.known, "adapter": str(self.adapter), "frozen": self.asked}
        return {**super().describe(), "type": "Adapted", **about}

    def add_task(self, task: str, init: str) -> None:
        """Parts for a new task, which begin as those of another one, as the `average` of all, or anew (`random`)."""
        if task in self.tasks:
            raise RotaError(f"Expected a task that the encoder does not know yet. Found '{task}'.")
        new = self.adapter.begin(self)
        if init in self.tasks:
            new.load_state_dict(self.tasks[init].state_dict())
        elif init == "average" and self.tasks:
            states = [own.state_dict() for own in self.tasks.values()]
            new.load_state_dict({name: torch.stack([own[name] for own in states]).mean(0) for name in states[0]})
        elif init not in ("average", *BEGIN_ANEW):
            raise unknown_name("beginning of a new task", init, [*self.tasks, "average", *BEGIN_ANEW])
        self.tasks[task] = new.to(next(self.transformer.parameters()).device)

    def only_for(self, task: str) -> list[nn.Parameter]:
        return list(self.tasks[task].parameters())

    def forward(self, inputs: dict[str, Tensor], whose: Whose | None = None) -> Features:
        if whose is None:
            raise TypeError("an encoder with adapters is told whose rows it reads")
        for task in whose.tasks:
            if task not in self.tasks:
                raise unknown_name("task", task, list(self.tasks))
        with self._reading(whose, inputs["mask"]):
            return super().forward(inputs)

    @contextlib.contextmanager
    def _reading(self, whose: Whose, mask: Tensor) -> Iterator[None]:
        self.rows.whose, self.rows.mask = whose, mask
        self.rows.passes += 1
        try:
            yield
        finally:
            self.rows.whose, self.rows.mask = Whose(()), None


def adapted_counts(encoder: Pretrained, adapter: Adapter, tasks: int) -> Counted:
    """The parameters of an encoder with adapters of so many tasks, which need no weights.

    >>> from rota.models.adapters import LoRA
    >>> from rota.models.core import outline
    >>> counted = adapted_counts(outline("minilm"), LoRA(r=8), tasks=9)
    >>> counted.added == 9 * 6 * 2 * 8 * (384 + 384), counted.base.trained
    (True, 0)
    """
    if tasks < 1:
        raise RotaError(f"Parameters per task expect at least one task. Found {tasks}.")
    names = [f"task {number}" for number in range(tasks)]
    with torch.device("meta"):
        return count_parameters(Adapted(encoder.transformer, names, adapter, encoder.pooling))
