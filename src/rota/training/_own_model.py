"""The user's own models: called through `forward`, and tried before anything is trained."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from rota.engine import Learner, at_least_float
from rota.errors import RotaError
from rota.models import LanguageModel
from rota.tasks import Task

Forward = Callable[[nn.Module, str, dict[str, Tensor]], Tensor]
"""Asks a model about inputs of a task, by their names; returns what the head of the task says of each row."""
TRIED = 2  # rows of each task


class CalledModel(nn.Module):
    """A model that answers `model(task, inputs)` by a function of yours."""

    def __init__(self, model: nn.Module, forward: Forward) -> None:
        super().__init__()
        self.model, self._forward = model, forward

    def forward(self, task: str, inputs: dict[str, Tensor]) -> Tensor:
        return self._forward(self.model, task, inputs)


def kept_weights(model: nn.Module) -> dict[str, Tensor]:
    """What a checkpoint holds of a model: everything; of a user's model, which the user builds again, only what is
    trained, such as an adapter."""
    model = _theirs(model)
    state: dict[str, Tensor] = model.state_dict()
    if callable(getattr(model, "describe", None)):
        return state
    frozen = {id(own) for own in model.parameters() if not own.requires_grad}
    if not frozen:
        return state
    kept = [name for name, own in model.state_dict(keep_vars=True).items() if id(own) not in frozen]
    return {name: state[name] for name in kept}


def named_once(model: nn.Module) -> dict[str, Tensor]:
    """The same, with weights that have several names under the first of them."""
    kept, first = kept_weights(model), dict[int, str]()
    for name, own in _theirs(model).state_dict(keep_vars=True).items():
        if name in kept:
            first.setdefault(id(own), name)
    return {name: kept[name] for name in first.values()}


def load_weights(model: nn.Module, tensors: dict[str, Tensor]) -> None:
    """Bring back what `kept_weights` returned."""
    model = _theirs(model)
    kept = kept_weights(model).keys()
    model.load_state_dict(tensors, strict=tensors.keys() == kept == model.state_dict().keys())
    missing = kept ^ tensors.keys()
    if missing:
        raise RotaError(f"Expected the weights that are trained. Missing or unknown: {', '.join(sorted(missing)[:5])}.")


def _theirs(model: nn.Module) -> nn.Module:
    """The user's model, whose weights are kept under their own names."""
    return model.model if isinstance(model, CalledModel) else model


def try_first_rows(learner: Learner, tasks: Sequence[Task]) -> None:
    """Send the first rows of every task through the model, and refuse what cannot be trained, with a sentence. Nothing
    of it is left: no dropout is drawn, and no buffer changes.

    Args:
        learner: Has the model.
        tasks: Those that are trained.
    """
    modes = {module: module.training for module in learner.model.modules()}
    learner.model.eval()
    alike = isinstance(learner.model, LanguageModel)  # in all tasks
    try:
        with torch.no_grad(), torch.random.fork_rng():
            for task in tasks[:1] if alike else tasks:
                _try(learner, task)
    finally:
        for module, training in modes.items():
            module.training = training


def _try(learner: Learner, task: Task) -> None:
    rows = task.splits["train"]
    batch = rows.batch(np.arange(min(TRIED, len(rows)))).to(learner.device)
    try:
        outputs = learner.model(task.name, batch.inputs)
    except Exception as error:
        shapes = ", ".join(f"{name} {tuple(own.shape)}" for name, own in batch.inputs.items())
        raise RotaError(
            f"The model expects to be asked as model(task, inputs) for task '{task.name}', with inputs {shapes}. Found "
            f"{type(error).__name__}: {error}. Say how it is called: fit(…, forward=lambda model, task, inputs: …)."
        ) from error
    if not isinstance(outputs, Tensor):
        raise RotaError(
            f"The model expects to answer with a tensor for task '{task.name}'. Found {type(outputs).__name__}. Take "
            f"the part that counts: fit(…, forward=lambda model, task, inputs: model(**inputs).logits)."
        )
    try:
        losses = task.kind.losses(at_least_float(outputs), batch.labels)
        fits = losses.shape == (len(batch),) and (task.kind.sees != "row" or outputs.shape[-1] == task.kind.width)
    except (RuntimeError, IndexError, ValueError):
        fits = False
    if not fits:
        raise RotaError(
            f"Task '{task.name}' ({task.kind!r}) expects {task.kind.width} numbers for each of {len(batch)} rows. "
            f"Found an answer of shape {tuple(outputs.shape)}, for labels of shape {tuple(batch.labels.shape)}."
        )
