"""What an encoder is, and what it hands to the heads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

from torch import Tensor, nn

from rota.errors import RotaError
from rota.tasks import repeated


class Features(NamedTuple):
    """One vector per row, and for texts one per token with the mask of the real ones.

    Shapes: `rows` [N, D], `tokens` [N, L, D], `mask` [N, L].

    >>> import torch
    >>> Features(torch.zeros(2, 16)).repeated(3).rows.shape
    torch.Size([6, 16])
    """

    rows: Tensor
    tokens: Tensor | None = None
    mask: Tensor | None = None

    def repeated(self, copies: int) -> Features:
        """The same rows repeated, one copy after the other."""
        return Features(*(None if tensor is None else repeated(tensor, copies) for tensor in self))  # type: ignore[arg-type]


@dataclass(frozen=True)
class HeadStyle:
    """What heads are made of.

    Args:
        dropout: On what the head sees.
        hidden: Numbers of a layer with ReLU in between; None for a linear head.
        deviation: Standard deviation of the first weights, with biases at zero; None for torch's own way.

    >>> HeadStyle(dropout=0.1)
    HeadStyle(dropout=0.1, hidden=None, deviation=None)
    """

    dropout: float = 0.0
    hidden: int | None = None
    deviation: float | None = None


class Whose(NamedTuple):
    """Whose rows an encoder reads, for one that treats tasks differently.

    Args:
        tasks: The tasks that may have rows.
        rows: Which of them each row belongs to, [N]; None: all rows belong to the one task.

    >>> import torch
    >>> Whose(("rte", "mrpc"), torch.tensor([0, 1, 1])).tasks
    ('rte', 'mrpc')
    """

    tasks: tuple[str, ...]
    rows: Tensor | None = None


class Encoder(nn.Module):
    """The part that all tasks share: turns named inputs into `Features` of `width` numbers.

    >>> import torch
    >>> from rota.models import MultiTaskModel
    >>> from rota.tasks import Classification
    >>> class Flat(Encoder):
    ...     width = 64
    ...
    ...     def forward(self, inputs):
    ...         return Features(inputs["image"].flatten(1))
    >>> MultiTaskModel(Flat(), {"digit": Classification(10)})("digit", {"image": torch.zeros(3, 8, 8)}).shape
    torch.Size([3, 10])
    """

    width: int

    @property
    def style(self) -> HeadStyle:
        """The heads that suit it."""
        return HeadStyle()

    def describe(self) -> dict[str, Any]:
        """Plain JSON from which `build_encoder` makes it again, without its weights."""
        raise TypeError(f"{type(self).__name__} is an encoder that cannot be described")

    def frozen_parts(self) -> Sequence[nn.Module]:
        """What is not trained, and whose dropout never acts."""
        return ()

    def last_layers(self, count: int) -> Sequence[nn.Module]:
        """Its last `count` layers, which see rows one by one."""
        raise RotaError(
            f"Dropout in the last {count} layers expects an encoder with layers that can be counted. Found "
            f"{type(self).__name__}. Use the scope all or head."
        )

    def copied(self, inputs: dict[str, Tensor], copies: int, layers: int, *whose: Whose) -> Features:
        """Features of `copies` copies of the rows, one copy after the other; what comes before the last `layers` layers
        is computed once.

        Each of these layers gets copies of all that it is given about the rows; nothing but dropout makes them differ.
        """
        rows = len(next(iter(inputs.values())))

        def widened(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
            return tuple(map(again, args)), {name: again(value) for name, value in kwargs.items()}

        def again(value: Any) -> Any:
            """A later layer finds its main input copied already."""
            return repeated(value, copies) if isinstance(value, Tensor) and len(value) == rows else value

        hooks = [layer.register_forward_pre_hook(widened, with_kwargs=True) for layer in self.last_layers(layers)]
        try:
            found = self(inputs, *whose)
        finally:
            for hook in hooks:
                hook.remove()
        assert isinstance(found, Features)
        return found

    def forward(self, inputs: dict[str, Tensor]) -> Features:
        raise TypeError(f"{type(self).__name__} is an encoder without a forward pass")


@runtime_checkable
class Conditional(Protocol):
    """An encoder that treats tasks differently: it is called with the inputs and `Whose` they are.

    >>> from rota.models import CAMTL, SmallConv
    >>> isinstance(SmallConv(side=8), Conditional), issubclass(CAMTL, Conditional)
    (False, True)
    """

    def add_task(self, task: str, init: str) -> None:
        """Make room for a new task, which begins as `init` says."""

    def only_for(self, task: str) -> list[nn.Parameter]:
        """The parameters that a task has for itself."""
