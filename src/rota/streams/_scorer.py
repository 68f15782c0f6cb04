"""Ask the model about candidates, before it is decided which of them are trained on."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from rota.arrays import Ids
from rota.engine import Passes, Several, at_least_float
from rota.errors import RotaError
from rota.evaluation import RunAccess, usual_rows
from rota.models import evaluating
from rota.seeds import integer
from rota.signals import layers_of, mc_dropout, refuse_without_dropout
from rota.streams._selectors import CandidateQuery, Selector
from rota.tasks import Batch, Rows, RowStats

ROUNDED = 8
"""Numbers of candidates are rounded up to multiples of this, so that few probes have to be captured."""


class CandidateScorer:
    """What a selector wants to know of candidates, from the model as it is now.

    The model answers without dropout unless it is wanted, or the selector wants passes with it. Where steps are not
    captured, texts of all tasks go through it together, those of similar length in one batch; otherwise the candidates
    of one task after the other. In several processes each asks about its part.

    Args:
        run: Whose model is asked, about training rows of its tasks.
        select: Who wants to know.
        layer: Where given, what the heads say of this layer will do.
        dropout: Whether dropout is on; its masks are drawn anew for each question, from the seed and the step.
    """

    def __init__(self, run: RunAccess, select: Selector, layer: int | None, dropout: bool = False) -> None:
        self._run, self._model, self._dropout = run, run.model, dropout
        self._tasks = {task.name: task for task in run.tasks}
        self._lengths = {task.name: self._rows(task.name).lengths() for task in run.tasks}
        shaped = [task.kind.sees in ("row", "tokens") and self._lengths[task.name] is not None for task in run.tasks]
        self._together = isinstance(run.model, Several) and all(shaped) and not run.engine.captured
        # Refuse now what the model could not answer later.
        if any(select.passes(task.kind) is not None for task in run.tasks):
            refuse_without_dropout(run.model, select.scope)
        if dropout:
            refuse_without_dropout(run.model)
        with _early(run.model, layer):
            pass

    def __call__(self, question: CandidateQuery) -> dict[str, RowStats]:
        """See `rota.streams.PoolStream`."""
        shard, model = self._run.shard, self._model
        own = {task: np.array_split(ids, shard.world)[shard.rank] for task, ids in question.candidates.items()}
        for task, ids in question.candidates.items():
            passes = question.select.passes(self._tasks[task].kind)
            self._run.charge(len(ids) * (1 if passes is None or question.select.scope == "head" else passes))
        with self._mode(question.step), _early(model, question.layer), self._precision(question.half):
            found = self._found(replace(question, candidates={task: ids for task, ids in own.items() if len(ids)}))
        if shard.world == 1:
            return found
        parts = self._run.gather(found)
        return {task: _joined([part[task] for part in parts if task in part]) for task in question.candidates}

    def _found(self, question: CandidateQuery) -> dict[str, RowStats]:
        passes = {task: question.select.passes(self._tasks[task].kind) for task in question.candidates}
        together = {task: ids for task, ids in question.candidates.items() if self._together and passes[task] is None}
        found = self._of_all(together, question.select) if together else {}
        for task in question.candidates:
            if task not in found:
                found[task] = self._of_one(task, question, passes[task])
        return {task: {name: fact.cpu() for name, fact in found[task].items()} for task in question.candidates}

    def _of_one(self, task: str, question: CandidateQuery, passes: int | None) -> RowStats:
        """What is to be known of candidates of one task."""
        select, rank = question.select, self._run.shard.rank
        with contextlib.ExitStack() as stack:
            wanted = None
            if passes is not None:
                seed = integer(self._run.seed, "candidates", question.step, task, rank)
                stack.enter_context(mc_dropout(self._model, select.scope, seed))
                wanted = Passes(passes, layers_of(select.scope))
            most = math.ceil(question.most[task] / ROUNDED) * ROUNDED
            ids = question.candidates[task]
            row_stats = self._run.probe(self._tasks[task], self._rows(task), ids, most, select.measure, wanted)
        return {name: fact.clone() for name, fact in row_stats.items()}  # the next probe may overwrite them

    @torch.no_grad()
    def _of_all(self, candidates: Mapping[str, Ids], select: Selector) -> dict[str, RowStats]:
        """What is to be known of candidates of several tasks, of which those of similar length are read together."""
        model, tasks = self._model, list(candidates)
        assert isinstance(model, Several)
        owners = np.repeat(np.arange(len(tasks)), [len(candidates[task]) for task in tasks])
        ids = np.concatenate([candidates[task] for task in tasks])
        order = np.argsort(np.concatenate([self._length_of(task, candidates[task]) for task in tasks]), kind="stable")
        most = usual_rows(model, self._rows(tasks[0]))
        found: dict[str, list[tuple[Ids, RowStats]]] = {task: [] for task in tasks}
        for start in range(0, len(order), most):
            chunk = order[start : start + most]
            chunk = chunk[np.argsort(owners[chunk], kind="stable")]
            present = sorted(set(owners[chunk].tolist()))
            places = {k: chunk[owners[chunk] == k] for k in present}
            batches = [self._rows(tasks[k]).batch(ids[places[k]]) for k in present]
            device = next(model.parameters()).device
            whose = torch.from_numpy(np.repeat(np.arange(len(present)), [len(batch) for batch in batches])).to(device)
            inputs = {name: tensor.to(device) for name, tensor in _side_by_side(batches).items()}
            outputs = model.several([tasks[k] for k in present], inputs, whose)
            for number, k in enumerate(present):
                kind, batch = self._tasks[tasks[k]].kind, batches[number].to(device)
                said = at_least_float(outputs[tasks[k]][whose == number])
                if kind.sees == "tokens":
                    said = said[:, : _width(batch)]  # whatever the rows beside them
                row_stats = select.measure(kind, said, batch.labels)
                found[tasks[k]].append((places[k], row_stats))
        return {task: _in_order(found[task]) for task in tasks}

    def _mode(self, step: int) -> contextlib.AbstractContextManager[Any]:
        """In which the model answers. Dropout has a generator of its own: training draws the same masks either way."""
        if not self._dropout:
            return evaluating(self._model)
        return mc_dropout(self._model, seed=integer(self._run.seed, "scoring", step, self._run.shard.rank))

    def _length_of(self, task: str, ids: Ids) -> Ids:
        lengths = self._lengths[task]
        assert lengths is not None
        return lengths[ids]

    def _rows(self, task: str) -> Rows:
        return self._tasks[task].splits["train"]

    def _precision(self, half: bool) -> contextlib.AbstractContextManager[Any]:
        """In half precision, without a memory of cast weights: what is captured must cast them itself each time."""
        device = next(self._model.parameters()).device.type
        return torch.autocast(device, torch.bfloat16, cache_enabled=False) if half else contextlib.nullcontext()


@contextlib.contextmanager
def _early(model: Any, layer: int | None) -> Iterator[None]:
    if layer is None:
        yield
        return
    encoder: Any = getattr(model, "encoder", None)
    if not hasattr(encoder, "early"):
        raise RotaError(
            f"Asking an early layer expects an encoder with layers. Found {type(encoder or model).__name__}. Leave "
            f"the option layer out."
        )
    with encoder.early(layer):
        yield


def _side_by_side(batches: Sequence[Batch]) -> dict[str, Tensor]:
    """The inputs of several batches, one batch after the other, filled up with zeros to the longest row."""
    width = max(map(_width, batches))
    return {name: torch.cat([_of_width(batch.inputs[name], width) for batch in batches]) for name in batches[0].inputs}


def _of_width(tensor: Tensor, width: int) -> Tensor:
    missing = width - tensor.shape[1]
    return F.pad(tensor, (0, 0) * (tensor.dim() - 2) + (0, missing)) if missing else tensor


def _width(batch: Batch) -> int:
    return next(iter(batch.inputs.values())).shape[1]


def _in_order(parts: Sequence[tuple[Ids, RowStats]]) -> RowStats:
    places = torch.from_numpy(np.argsort(np.concatenate([own for own, _ in parts])))
    return {name: fact[places.to(fact.device)] for name, fact in _joined([row_stats for _, row_stats in parts]).items()}


def _joined(parts: Sequence[RowStats]) -> RowStats:
    return {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
