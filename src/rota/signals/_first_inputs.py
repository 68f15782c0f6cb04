"""What the first layer of an encoder reads of rows: where covariance similarity is measured."""

from __future__ import annotations

import contextlib
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from rota.errors import RotaError
from rota.models import CAMTL, MultiTaskModel, Pretrained, evaluating
from rota.tasks import Rows


class FirstInputs(NamedTuple):
    """One vector for each text, the mean over its tokens without padding, as [texts, d], in the order of the rows.

    Args:
        before: What the embeddings say.
        after: What conditional alignment makes of it; None where the encoder has none.

    >>> FirstInputs(torch.zeros(3, 16), None).before.shape
    torch.Size([3, 16])
    """

    before: Tensor
    after: Tensor | None


def first_inputs(model: MultiTaskModel, task: str, rows: Rows, batch_size: int = 32) -> FirstInputs:
    """Read rows as far as the input of the first layer; no layer is computed, no dropout acts.

    Args:
        model: With a transformer as its encoder.
        task: Whose rows: conditional alignment depends on it.
        rows: Of texts. A choice among several is a text of its own.
        batch_size: Rows that are read at once.

    >>> from rota.models.core import rebuilt
    >>> from rota.models import camtl
    >>> from rota.tasks import Classification, TensorRows
    >>> tiny = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    >>> encoder = rebuilt({"model_type": "bert", **tiny}, pooling="first", pooler=False, hidden=None)
    >>> model = camtl(encoder, {"rte": Classification(2)})
    >>> tokens = torch.tensor([[3, 7, 9], [4, 5, 0]])
    >>> inputs = {"tokens": tokens, "types": tokens * 0, "mask": tokens > 0}
    >>> found = first_inputs(model, "rte", TensorRows(inputs, torch.tensor([0, 1])))
    >>> found.before.shape, found.after.shape
    (torch.Size([2, 16]), torch.Size([2, 16]))
    """
    encoder = model.encoder
    if not isinstance(encoder, Pretrained):
        raise RotaError(f"Expected a transformer, whose first layer reads embeddings. Found {type(encoder).__name__}.")
    alignment = encoder.alignment if isinstance(encoder, CAMTL) else None
    seen: dict[str, Tensor] = {}

    def at_alignment(_: nn.Module, args: tuple[Any, ...]) -> None:
        seen["before"] = args[0]

    def at_layer(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        seen["layer"] = args[0] if args else kwargs["hidden_states"]
        raise _Enough

    hooks = [encoder.stack.layers[0].register_forward_pre_hook(at_layer, with_kwargs=True)]
    if alignment is not None:
        hooks.append(alignment.register_forward_pre_hook(at_alignment))
    lengths = rows.lengths()
    order = np.arange(len(rows)) if lengths is None else np.argsort(-lengths, kind="stable")  # little padding
    device, before, after = next(model.parameters()).device, list[Tensor](), list[Tensor]()
    try:
        with torch.no_grad(), evaluating(model):
            for start in range(0, len(order), batch_size):
                inputs = rows.batch(order[start : start + batch_size]).to(device).inputs
                with contextlib.suppress(_Enough):
                    model(task, inputs)
                mask = inputs["mask"].flatten(0, -2)  # of choices: one text after the other
                for found, tokens in ((before, seen.get("before", seen["layer"])), (after, seen["layer"])):
                    found.append(_mean(tokens, mask).unflatten(0, (len(inputs["mask"]), -1)))
    finally:
        for hook in hooks:
            hook.remove()
    places = torch.from_numpy(np.argsort(order))  # back into the order of the rows
    joined = [torch.cat(found)[places].flatten(0, 1) for found in (before, after)]
    return FirstInputs(joined[0], None if alignment is None else joined[1])


class _Enough(Exception):  # noqa: N818 - it ends a pass, and says nothing is wrong
    """All that was wanted is known."""


def _mean(tokens_NLD: Tensor, mask_NL: Tensor) -> Tensor:
    counted = mask_NL[..., None].to(tokens_NLD.dtype)
    return ((tokens_NLD * counted).sum(1) / counted.sum(1)).float().cpu()
