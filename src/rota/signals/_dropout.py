"""Dropout that stays on while a model only answers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn
from torch.nn.modules.dropout import _DropoutNd

from rota.errors import RotaError
from rota.models import evaluating
from rota.signals._masks import SharedMasks

Scope = Literal["all", "head"] | int
"""Where dropout is on: everywhere, in the heads, or in the heads and a number of last layers of the encoder."""


@contextlib.contextmanager
def mc_dropout(
    model: nn.Module, scope: Scope = "all", seed: int = 0, consistent: bool = False
) -> Iterator[SharedMasks | None]:
    """Inside, `model` answers with dropout and otherwise as in an evaluation: a sample of what it might have learned
    (Gal & Ghahramani 2016). Afterwards every module has the mode and every generator the state that it had.

    Args:
        model: Any module; for scopes other than "all" one with `late_parts`, as `MultiTaskModel` has.
        scope: Where dropout is on.
        seed: Of the dropout.
        consistent: Whether one mask of each layer holds for all rows and batches of a pass, so that it is one sample ω
            of the parameters for all of them, as the information of several rows together requires
            (`joint_mutual_information`, `batchbald`). Otherwise every row has masks of its own. What is returned has
            the number of the pass: `masks.passes = [k]` before pass k. Dropout between the layers of an LSTM is off.

    >>> model = nn.Sequential(nn.Dropout(0.5)).eval()
    >>> with mc_dropout(model, seed=1):
    ...     model(torch.ones(6))
    tensor([2., 2., 2., 2., 0., 2.])
    >>> model(torch.ones(6))
    tensor([1., 1., 1., 1., 1., 1.])
    >>> with mc_dropout(model, seed=1, consistent=True) as masks:
    ...     for k in range(2):
    ...         masks.passes = [k]
    ...         model(torch.ones(2, 4)).tolist()
    [[2.0, 0.0, 2.0, 0.0], [2.0, 0.0, 2.0, 0.0]]
    [[0.0, 2.0, 2.0, 2.0], [0.0, 2.0, 2.0, 2.0]]
    """
    stochastic = _stochastic(model, scope, consistent)
    masks = SharedMasks(stochastic, seed) if consistent else None
    devices = sorted({tensor.device.index for tensor in model.parameters() if tensor.is_cuda})
    with evaluating(model), torch.random.fork_rng(devices=devices):
        for module in stochastic:
            module.training = True  # not `train`, which children would hear
        torch.manual_seed(seed)
        if masks is None:
            yield None
            return
        with _uncompiled(model), masks.on():
            yield masks


def _uncompiled(model: nn.Module) -> contextlib.AbstractContextManager[Any]:
    """Compiled layers would be compiled again for the masks of each pass. Without them the compiler is not loaded."""
    compiled = any(module._compiled_call_impl is not None for module in model.modules())
    return torch.compiler.set_stance("force_eager") if compiled else contextlib.nullcontext()


def refuse_without_dropout(model: nn.Module, scope: Scope = "all", consistent: bool = False) -> None:
    """Refuse a model whose passes would not differ.

    >>> refuse_without_dropout(nn.Dropout(0.1))
    >>> try:
    ...     refuse_without_dropout(nn.Linear(2, 2))
    ... except RotaError as refused:
    ...     str(refused).partition(". ")[0]
    'Uncertainty by dropout expects a model with dropout'
    """
    _stochastic(model, scope, consistent)


def layers_of(scope: Scope) -> int | None:
    """In how many last layers of the encoder dropout is on; None for all of it, layers that cannot be counted
    included.

    >>> layers_of("all"), layers_of("head"), layers_of(2)
    (None, 0, 2)
    """
    return None if scope == "all" else 0 if scope == "head" else scope


def _stochastic(model: nn.Module, scope: Scope, consistent: bool) -> list[nn.Module]:
    layers = layers_of(scope)
    parts: Iterable[nn.Module] = [model]
    if layers is not None:
        if not hasattr(model, "late_parts"):
            raise RotaError(
                f"Dropout in the {scope if scope == 'head' else f'last {scope} layers'} expects a model that says what "
                f"that is (`late_parts`). Found {type(model).__name__}. Use the scope all."
            )
        parts = cast(Any, model).late_parts(layers)
    still = {module for part in getattr(model, "frozen_parts", tuple)() for module in part.modules()}
    found = [module for part in parts for module in part.modules() if _drops(module) and module not in still]
    if consistent:
        found = [module for module in found if not isinstance(module, nn.RNNBase)]
    if not found:
        where = "" if scope == "all" else f" in its {scope}" if scope == "head" else f" in its last {scope} layers"
        raise RotaError(
            f"Uncertainty by dropout expects a model with dropout{where}. Found none in {type(model).__name__}. Give "
            f"it some (Plan(dropout=0.1)), or look at another scope."
        )
    return found


def _drops(module: nn.Module) -> bool:
    """Whether it is dropout, or does it itself where its mode says so, as layers of attention do."""
    if isinstance(module, _DropoutNd):
        return module.p > 0
    own = getattr(module, "dropout", None)
    return own.p > 0 if isinstance(own, _DropoutNd) else isinstance(own, float) and own > 0


def ensemble_outputs(members: Sequence[nn.Module], task: str, inputs: dict[str, Tensor]) -> Tensor:
    """What several models say of the same rows, as [K, N, …], where dropout would make K passes: members that were
    trained alone, checkpoints of one run, models with other heads.

    Args:
        members: Each answers `model(task, inputs)`, in the mode that it is in.
        task: Which head answers.
        inputs: Of the rows.

    >>> class Guess(nn.Module):
    ...     def forward(self, task, inputs):
    ...         return inputs["x"] @ torch.ones(2, 3)
    >>> ensemble_outputs([Guess(), Guess()], "rte", {"x": torch.zeros(5, 2)}).shape
    torch.Size([2, 5, 3])
    """
    if not members:
        raise RotaError("An ensemble expects at least one model. Found none.")
    with torch.no_grad():
        return torch.stack([member(task, inputs) for member in members])
