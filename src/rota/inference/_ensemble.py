"""Several trained runs that answer together, such as the seeds of one plan."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from rota.errors import RotaError, unknown_name
from rota.inference._trained import Answering, Trained
from rota.models import Head, MultiTaskModel
from rota.plans import reading_of
from rota.tasks import Kind, Regression, Span, kind_from


class Ensemble(Answering):
    """The mean of several runs: of the probabilities of classes, tags, choices and places, of numbers themselves.

    Scores and answers are those of this mean, as if it were one model. The first run says where the rows of its
    tasks are, and on which device and in which precision all of them answer.

    Args:
        members: The runs; those that answer the same task mean the same by it and cut texts alike.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from rota.plans import make_plan
    >>> from rota.runs import run_plan
    >>> fields = {"tasks": ["digits"], "only": ["left"], "steps": 2, "device": "cpu"}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plans = [make_plan({**fields, "seed": seed}) for seed in range(2)]
    ...     runs = [run_plan(plan, Path(folder) / str(plan.seed), progress=False) for plan in plans]
    ...     found = Ensemble([Trained(run.folder) for run in runs]).evaluate("dev", rows=20)
    >>> found["tasks"]["left"]["n"], len(found["runs"])
    (20, 2)
    """

    def __init__(self, members: Sequence[Trained]) -> None:
        if not members:
            raise RotaError("An ensemble expects at least one run. Found none.")
        self.members = tuple(members)
        self.run, self.plan = members[0].run, members[0].plan

    @cached_property
    def model(self) -> MeanModel:
        """The mean of the best models."""
        return MeanModel([member.with_heads for member in self.members])

    def check(self, tasks: Sequence[str]) -> None:
        """Refuse tasks that not all runs answer alike."""
        known = {member.run.folder: list(member.run.info["tasks"]) for member in self.members}
        shared = [name for name in self.run.info["tasks"] if all(name in names for names in known.values())]
        for task in tasks:
            if not any(task in names for names in known.values()):
                raise unknown_name("task of the runs", task, set().union(*known.values()))
            for folder, names in known.items():
                if task not in names:
                    raise RotaError(
                        f"An ensemble expects task '{task}' in every run. Found only {', '.join(names)} in {folder}. "
                        f"Leave that run out, or name a task of all runs: {', '.join(shared) or 'there is none'}."
                    )
            for member in self.members[1:]:
                self._compare(member, task)

    def _compare(self, member: Trained, task: str) -> None:
        """Refuse a run whose answers to a task mean something else, or that reads other texts."""
        for what, of in (("answers to", _answers_of), ("columns for", _columns_of), ("tokens for", _tokens_of)):
            mine, theirs = of(self.members[0], task), of(member, task)
            if mine != theirs:
                raise RotaError(
                    f"An ensemble expects runs with the same {what} task '{task}'. Found {mine} in {self.run.folder} "
                    f"and {theirs} in {member.run.folder}. Leave one of them out."
                )

    def _scores(self, score: Callable[[nn.Module], dict[str, Any]]) -> dict[str, Any]:
        """Those of the mean, and under `runs` those of each run on the same rows, in the order of the members."""
        singles = [{"run": str(member.run.folder), **score(member.model)} for member in self.members]
        return {**score(self.model), "runs": singles}


class MeanModel(nn.Module):
    """One model out of several that know the same tasks; answers `model(task, inputs)` with their `mean_outputs`.

    Args:
        members: The models, which are moved to the device of the first.

    >>> from rota.models import SmallConv
    >>> from rota.tasks import Classification
    >>> members = [MultiTaskModel(SmallConv(side=8), {"parity": Classification(2)}).eval() for _ in range(3)]
    >>> MeanModel(members)("parity", {"image": torch.zeros(5, 1, 8, 8)}).shape
    torch.Size([5, 2])
    """

    def __init__(self, members: Sequence[MultiTaskModel]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members).to(next(members[0].parameters()).device)
        self.eval()

    def forward(self, task: str, inputs: dict[str, Tensor]) -> Tensor:
        first = self.members[0]
        assert isinstance(first, MultiTaskModel)
        head = first.heads[task]
        assert isinstance(head, Head)
        return mean_outputs(head.kind, torch.stack([member(task, inputs) for member in self.members]))


def mean_outputs(kind: Kind, outputs_KN: Tensor) -> Tensor:
    """What a head would have to say to be the mean of K heads.

    Numbers are averaged. Of classes, tags, choices and places (the beginning and the end of an answer) the
    probabilities are: with log Z the level of a head's outputs x, that is log p = x - log Z, the outcome is log of the
    mean p plus the mean log Z. No softmax sees a level, but windows of one passage are compared by it.
    """
    x = outputs_KN.double()  # so that equal heads have exactly their own mean
    if isinstance(kind, Regression):
        return x.mean(0).float()
    level = x.logsumexp(-2 if isinstance(kind, Span) else -1, keepdim=True)
    return ((x - level).logsumexp(0) - math.log(len(x)) + level.mean(0)).float()


def _answers_of(member: Trained, task: str) -> str:
    """What they mean; how they are scored and scaled may differ."""
    kind = kind_from(member.run.info["model"]["kinds"][task])
    names = ", ".join(getattr(kind, "names", ()))
    return f"{kind!r}: {names}" if names else repr(kind)


def _columns_of(member: Trained, task: str) -> str:
    """Columns of a task from a user's file; those of published tasks never differ."""
    own = member.run.info["tasks"][task]["notes"].get("own", {})
    return ", ".join([*(own.get("text") or ()), *(own.get("choices") or ())])


def _tokens_of(member: Trained, task: str) -> str:
    reading = reading_of(member.plan)
    return f"those of '{reading.encoder}', at most {reading.longest}"
