"""Sources that speak after every update."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar

from rota.errors import unknown_name
from rota.sources._source import Feed, Source

if TYPE_CHECKING:
    from torch import Tensor

    from rota.evaluation import RunAccess
    from rota.signals import View

NAMED = {
    "training_loss": "loss",
    "visit_gain": "gain",
    "prediction_gain": "gain",
    "relative_gain": "gain",
    "improving_loss": "gain",
    "mean_advantage": "reward",
}
"""What the functions of `rota.signals` measure."""
MEMORYLESS = {"training_loss", "prediction_gain", "relative_gain", "mean_advantage"}
"""Those that do not look back to the task's last visit."""
AFTER_UPDATE = {"prediction_gain", "relative_gain"}
"""Those that ask for the loss after the update, which is a forward pass."""


@dataclass(frozen=True)
class EachStep(Source):
    """A number from the losses of each step.

    Args:
        measure: The name of a function in `rota.signals`, or one of your own that turns a `View` into a number on the
            device.
        says: The word for it; by default that of the function.

    >>> EachStep("visit_gain").says
    'gain'
    """

    name: ClassVar[str] = "each step"
    each_step: ClassVar[bool] = True
    measure: str | Callable[[View], Tensor] = "training_loss"
    says: str = ""

    def __post_init__(self) -> None:
        known = getattr(self.measure, "__name__", self.measure)
        if isinstance(self.measure, str) and self.measure not in NAMED:
            raise unknown_name("measure of a step", self.measure, NAMED)
        if not isinstance(self.measure, str) and getattr(self.measure, "__module__", "").startswith("rota.signals"):
            object.__setattr__(self, "measure", known)
        if not self.says:
            object.__setattr__(self, "says", NAMED.get(str(known), str(known)))

    @property
    def asks_again(self) -> bool:
        """Whether it is known to need the loss after the update."""
        return self.measure in AFTER_UPDATE

    def open(self, run: RunAccess) -> Feed:
        if not isinstance(self.measure, str):
            return EachStepFeed(self.measure)
        from rota import signals  # late: it loads torch

        found = getattr(signals, self.measure)
        if self.measure not in MEMORYLESS:
            return EachStepFeed(found)
        feed = Feed()
        feed.after_update = found
        return feed

    def describe(self) -> dict[str, Any]:
        measure = self.measure if isinstance(self.measure, str) else _identity(self.measure)
        return {"source": self.name, "says": self.says, "measure": measure}


class EachStepFeed(Feed):
    """Remembers the loss of each task at its last visit."""

    def __init__(self, measure: Callable[[View], Tensor]) -> None:
        self._measure = measure
        self._last: dict[str, Tensor | float] = {}  # plain numbers after a resume
        self.after_update = self._after_update

    def _after_update(self, view: View) -> Tensor:
        last = self._last.get(view.task)
        # In a mix losses are plain numbers already.
        remade = isinstance(last, float) and not isinstance(view.loss, float)
        previous: Any = view.loss.new_tensor(last) if remade else last
        self._last[view.task] = view.loss
        return self._measure(view.since(previous))

    def state_dict(self) -> dict[str, Any]:
        return {"last": {task: float(loss) for task, loss in self._last.items()}}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._last = dict(state["last"])

    def carried(self, state: dict[str, Any], tasks: Collection[str]) -> dict[str, Any]:
        return {"last": {task: loss for task, loss in state["last"].items() if task in tasks}}


def _identity(function: Callable[..., Any]) -> str:
    """Where a user's function is from, and its code: two lambdas have one name."""
    place = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', type(function).__name__)}"
    if not isinstance(function, FunctionType):
        return place
    code = function.__code__
    constants = [constant for constant in code.co_consts if isinstance(constant, int | float | str | bytes | None)]
    does = repr((code.co_code, constants, code.co_names)).encode()
    return f"{place} {hashlib.sha256(does).hexdigest()[:12]}"
