"""Is what a stack says of a member what the member says of itself?"""

from __future__ import annotations

import torch
from torch import Tensor

from rota.engine._learner import Learner
from rota.engine._step import TaskBatch, at_least_float
from rota.engine._text_pass import TextRow
from rota.engine._text_stack import TextStack
from rota.models import Head, MultiTaskModel, evaluating

TOLERANCE = 1e-3
"""Of gradients in single precision, as a share of their norm."""


def why_not_trusted(stack: TextStack, learner: Learner, item: TextRow, part: TaskBatch) -> str | None:
    """Compare the gradients of a step, without dropout and in single precision, with those of the module alone.

    Args:
        stack: Where the member sits.
        learner: The member.
        item, part: What it trains on.
    """
    found, expected = stack.gradients(item), _own_gradients(learner, part)
    total = torch.stack([own.norm() for own in expected.values()]).norm()
    worst, where = 0.0, ""
    for name, own in expected.items():
        other = found[name][tuple(slice(0, size) for size in own.shape)]
        distance = float((other - own).norm() / (own.norm() + 1e-2 * total))
        if not distance <= worst:
            worst, where = distance, name
    if worst <= TOLERANCE:
        return None
    return f"in a stack the gradient of {where} is another one, by {worst:.1e} of its norm"


def _own_gradients(learner: Learner, part: TaskBatch) -> dict[str, Tensor]:
    """By the names of the encoder's parameters, and those of the head's matrices and biases by their numbers."""
    model = learner.model
    assert isinstance(model, MultiTaskModel)
    head = model.heads[part.task]
    assert isinstance(head, Head)
    batch = part.batch.to(learner.device)
    named: dict[str, Tensor] = dict(model.encoder.named_parameters())
    named |= {str(k): layer.weight for k, layer in enumerate(head.layers)}
    named |= {str(len(head.layers) + k): layer.bias for k, layer in enumerate(head.layers)}
    with evaluating(model), torch.enable_grad(), torch.autocast(learner.device.type, enabled=False):
        outputs = at_least_float(head(model.encoder(batch.inputs)))
        loss = learner.kinds[part.task].losses(outputs, batch.labels).sum() * (part.weight / len(part.ids))
        gradients = torch.autograd.grad(loss, list(named.values()), allow_unused=True)
    return {name: own for name, own in zip(named, gradients, strict=True) if own is not None}
