"""The model of a plan: a new one, or that of a finished run."""

from __future__ import annotations

import torch

from rota.draws import Queue
from rota.errors import RotaError
from rota.inference import Trained
from rota.models import (
    CAMTL,
    Adapted,
    Head,
    LanguageModel,
    MultiTaskModel,
    Pretrained,
    encoder_for,
    language_model,
    make_adapter,
    make_shared_lora,
    parts_for,
    with_frozen_rows,
)
from rota.plans import Plan
from rota.seeds import integer
from rota.tasks import Continuations, Task

KEPT = 2 * 2**30
"""Bytes of what frozen layers say that are kept on a CPU by default. A GPU says it again sooner than it is copied."""


def make_model(plan: Plan, tasks: list[Task]) -> MultiTaskModel | LanguageModel:
    """The model that the plan asks for, with a head for each task where they are not all texts that go on."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(integer(plan.seed, "initialisation"))
        if plan.start is not None:
            return _started(plan, tasks)
        if any(isinstance(task.inputs, Continuations) for task in tasks):
            return _language_model(plan, tasks)
        parts = parts_for(plan.parts, plan.longest)
        adapter = None if plan.adapter is None else make_adapter(plan.adapter)
        encoder = encoder_for(
            tasks, plan.model, plan.dropout, plan.pooling, plan.head_hidden, plan.freeze, parts, adapter
        )
        if not isinstance(encoder, Pretrained) and (plan.parts or plan.freeze is not None):
            raise RotaError(
                f"Plan(freeze=…) and Plan(parts=…) expect a pretrained encoder. Found {type(encoder).__name__}. Leave "
                f"them out."
            )
        if plan.parts and not isinstance(encoder, CAMTL):
            raise RotaError(
                f"Plan(parts=…) expects Plan(model='camtl'), or camtl:ENCODER. Found {plan.model}. Leave it out."
            )
        if plan.adapter and not isinstance(encoder, Adapted):
            raise RotaError(
                f"Plan(adapter=…) expects a plain pretrained encoder, such as Plan(model='minilm'). Found "
                f"{plan.model}. Leave one of them out."
            )
        return MultiTaskModel(encoder, tasks)


def _language_model(plan: Plan, tasks: list[Task]) -> LanguageModel:
    others = [task.name for task in tasks if not isinstance(task.inputs, Continuations)]
    if others:
        raise RotaError(
            f"A language model expects tasks of kind causal. Found '{others[0]}' beside them. Train them in separate "
            f"runs."
        )
    for name in ("parts", "freeze", "pooling", "head_hidden"):
        if getattr(plan, name) not in (None, {}):
            raise RotaError(f"Plan({name}=…) expects an encoder with heads. Found a language model. Leave it out.")
    adapter = None if plan.adapter is None else make_shared_lora(plan.adapter)
    return language_model(tasks, plan.model, adapter, plan.dropout, plan.checkpointing)


def started_plan_of(plan: Plan) -> Plan:
    """A plan that starts from a run has its encoder, and cuts texts as it did unless told otherwise."""
    assert plan.start is not None
    theirs = Trained(plan.start).plan
    for name in ("parts", "adapter", "pooling", "dropout", "head_hidden"):
        if getattr(plan, name):
            raise RotaError(
                f"Plan(start=…) expects the model of {plan.start} as it is. Found Plan({name}=…). Leave it out."
            )
    if plan.model not in ("auto", theirs.model):
        raise RotaError(
            f"Plan(start=…) expects the model of {plan.start}, {theirs.model}. Found {plan.model}. Leave Plan(model=…) "
            f"out."
        )
    longest = plan.longest if "longest" in plan.model_fields_set else theirs.longest
    return plan.model_copy(update={"model": theirs.model, "longest": longest})


def _started(plan: Plan, tasks: list[Task]) -> MultiTaskModel | LanguageModel:
    """The best model of a run, with heads and vectors for the tasks that it does not know."""
    assert plan.start is not None
    trained = Trained(plan.start)
    if isinstance(trained.model, LanguageModel):
        trained.model.kinds = {task.name: task.kind for task in tasks}
        return trained.model.cpu().train()
    model = trained.with_heads.cpu()
    for task in tasks:
        if task.name not in model.heads:
            model.add_task(task.name, task.kind, plan.embedding)
        head = model.heads[task.name]
        assert isinstance(head, Head)
        if head.kind != task.kind:
            raise RotaError(
                f"Task '{task.name}' expects the answers that it had in {plan.start}, {head.kind!r}. Found "
                f"{task.kind!r}."
            )
    if plan.freeze is not None and isinstance(model.encoder, Pretrained):
        model.encoder.freeze(plan.freeze)
    return model.train()


def tasks_for(model: MultiTaskModel | LanguageModel, plan: Plan, tasks: list[Task]) -> list[Task]:
    """The same tasks, whose rows keep what frozen layers say of them, where that is wanted and possible."""
    if isinstance(model, LanguageModel):
        return tasks
    encoder, room = model.encoder, plan.frozen_cache
    if room is None:
        room = 0 if plan.device == "auto" and torch.accelerator.is_available() else KEPT
    if not room or plan.num_workers or not isinstance(encoder, Pretrained) or not encoder.separable:
        return tasks  # processes that fetch batches have no model
    orders = {task.name: Queue(task.name, task.size(), 1, plan.seed).order() for task in tasks if task.trained}
    return with_frozen_rows(tasks, encoder, room, orders)
