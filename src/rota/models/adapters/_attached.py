"""What is attached to the modules of a transformer, which stay as they are: a task's own parts change what they say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from rota.errors import RotaError
from rota.models.core import Whose
from rota.tasks import repeated

DEVIATION = 0.02  # of first weights, as BERT has it

ENDS = {
    "attention": (
        ("attention.attn.o", "attention.dropout"),  # MPNet
        ("attention.output.dropout", "attention.output.dropout"),  # BERT, RoBERTa, ELECTRA, DeBERTa
        ("attention.output_dropout", "attention.output_dropout"),  # ALBERT
        ("attention.out_lin", "attention.out_lin"),  # DistilBERT
        ("attn.out_drop", "attn.out_drop"),  # ModernBERT
    ),
    "feed-forward part": (
        ("output.dropout", "output.dropout"),
        ("ffn_output", "ffn_output"),
        ("ffn.dropout", "ffn.dropout"),
        ("mlp.Wo", "mlp.Wo"),
    ),
}
"""For each half of a layer: what it has where it is built so, and the module that speaks last before its input is
added."""


class NowRead:
    """The rows that an encoder reads now: whose they are, and what of them is no padding."""

    def __init__(self) -> None:
        self.whose = Whose(())
        self.mask: Tensor | None = None
        self.passes = 0
        """How often an encoder began to read."""

    def of_rows(self, values: Sequence[Tensor], count: int) -> Tensor:
        """What belongs to each of `count` rows, [N, …]; where all belong to one task, its value alone.

        Args:
            values: One for each task that has rows.
            count: More than the rows where copies of them came in on the way, one after the other.
        """
        if len(values) == 1 or self.whose.rows is None:
            return values[0]
        rows = self.whose.rows
        return torch.stack(list(values))[repeated(rows, count // len(rows))]

    def real(self, count: int) -> Tensor:
        """The mask of so many rows."""
        assert self.mask is not None, "an encoder tells which rows it reads"
        return repeated(self.mask, count // len(self.mask))

    def linear(self, x: Tensor, layers: Sequence[nn.Linear]) -> Tensor:
        """What the linear layer of its task makes of each row [N, L, D]."""
        if len(layers) == 1:
            found: Tensor = layers[0](x)
            return found
        weights = self.of_rows([layer.weight for layer in layers], len(x))
        made = x @ weights.transpose(1, 2)
        biases = [layer.bias for layer in layers if layer.bias is not None]
        return made + self.of_rows(biases, len(x))[:, None] if biases else made


class Attached:
    """Called with what a module says, and says something else, with the parts of the tasks whose rows are read.

    Args:
        tasks: The parts of each task.
        rows: Which rows are read.
        change: Makes of what the module read and said what is said instead.
        once: Whether it reads rows once in a pass and then, in DeBERTa, positions that all rows share: these it says as
            it did before.
    """

    def __init__(
        self,
        tasks: nn.ModuleDict,
        rows: NowRead,
        change: Callable[[list[Any], NowRead, Tensor, Tensor], Tensor],
        once: bool = False,
    ) -> None:
        self._tasks, self._rows, self._change, self._once, self._passed = tasks, rows, change, once, 0

    def __call__(self, module: nn.Module, args: tuple[Any, ...], output: Tensor) -> Tensor:
        if self._once and self._passed == self._rows.passes:
            return output
        self._passed = self._rows.passes
        parts = [self._tasks[task] for task in self._rows.whose.tasks]
        return self._change(parts, self._rows, args[0], output).to(output.dtype)


def ends(layers: Sequence[nn.Module], half: str) -> list[nn.Module]:
    """The module of each layer that speaks last in the attention, or in the feed-forward part."""
    return [_end(layer, half) for layer in layers]


def _end(layer: nn.Module, half: str) -> nn.Module:
    modules = dict(layer.named_modules())
    for form, place in ENDS[half]:
        if form in modules and place in modules:
            return modules[place]
    raise RotaError(
        f"Adapters expect layers in which the {half} ends as in BERT, DeBERTa, ModernBERT, DistilBERT, MPNet or "
        f"ALBERT. Found {type(layer).__name__}. Use one of these, or Plan(adapter='lora')."
    )
