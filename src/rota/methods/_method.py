"""A method: a paper's name for one composition of policy, stream and signal."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from rota.errors import RotaError, describe_mistakes
from rota.policies import Policy

if TYPE_CHECKING:
    from rota.methods._inner import InnerRuns
    from rota.tasks import Task
    from rota.training import Reward, Survey, Trials


@dataclass(frozen=True)
class Given:
    """What a policy may know before the first step.

    Args:
        sizes: Training rows of each task, in the order of the tasks.
        batches: Batches of each task in one pass over its rows.
        steps: Length of the run.
        seed: Of the run.
        target: The task that counts, if there is one alone.
        inner: Who trains inner runs; nobody where there is nothing but a policy.
        trained: The tasks themselves, where there are any.
    """

    sizes: Mapping[str, int]
    batches: Mapping[str, int]
    steps: int
    seed: int
    target: str | None = None
    inner: InnerRuns | None = None
    trained: Sequence[Task] = ()

    @property
    def tasks(self) -> list[str]:
        return list(self.sizes)

    @property
    def trainer(self) -> InnerRuns:
        """Who trains inner runs; refuse where there is nobody."""
        if self.inner is None:
            raise RotaError("Expected a run, in whose folder inner runs can be trained. Found a policy alone.")
        return self.inner


@dataclass(frozen=True)
class Method:
    """A row in the table of methods.

    Args:
        name: How the command line calls it.
        summary: What it does, in one line.
        make_policy: Makes its policy from what is given; its keyword arguments are the method's options.
        source: Where it comes from.
        signal: What its policy hears after each step, by the name in `rota.signals`.
        stream: "task": one task per step; "joint": all tasks, weighted; "mixed": rows of any tasks; "pool": rows that
            are picked from candidates.
        sized: Whether it needs the sizes of the data sets, which a simulation does not have.
        make_survey: Makes from its options what its policy hears about all tasks from time to time.
        make_picking: Makes from its options those of its stream.
        make_trial: Makes from its options what is trained in rounds.
        make_reward: Makes from its options what its policy hears at the end of each round of turns.
        tell_scores: Whether its policy hears the dev scores of all tasks at every evaluation.
        for_target: Whether it helps one target, and cannot do without.
        target_only: Whether it leaves out all tasks but the target.
        best: What makes a checkpoint the best, where neither the plan nor a target says so.
    """

    name: str
    summary: str
    make_policy: Callable[..., Policy]
    source: str = ""
    signal: str | None = None
    stream: Literal["task", "joint", "mixed", "pool"] = "task"
    sized: bool = False
    make_survey: Callable[[BaseModel], Survey] | None = None
    make_picking: Callable[[BaseModel], Mapping[str, Any]] | None = None
    make_trial: Callable[[BaseModel], Trials] | None = None
    make_reward: Callable[[BaseModel], Reward] | None = None
    tell_scores: bool = False
    for_target: bool = False
    target_only: bool = False
    best: Literal["each"] | None = None

    def policy(self, given: Given, options: Mapping[str, Any]) -> Policy:
        """Its policy, with these options; report every wrong one at once."""
        checked = self.checked(options)
        return self.make_policy(given, **{name: getattr(checked, name) for name in type(checked).model_fields})

    def survey(self, options: Mapping[str, Any]) -> Survey | None:
        """Its survey, if it has one."""
        return self.make_survey(self.checked(options)) if self.make_survey else None

    def picking(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """The options of its stream, beside those that all streams have."""
        return self.make_picking(self.checked(options)) if self.make_picking else {}

    def trial(self, options: Mapping[str, Any]) -> Trials | None:
        """What it trains in rounds, if it does."""
        return self.make_trial(self.checked(options)) if self.make_trial else None

    def reward(self, options: Mapping[str, Any]) -> Reward | None:
        """What its policy hears at the end of each round of turns, if it does."""
        return self.make_reward(self.checked(options)) if self.make_reward else None

    def checked(self, options: Mapping[str, Any]) -> Any:
        """All of its options, by name; report every wrong one at once."""
        model = self.options
        try:
            return model.model_validate(dict(options))
        except ValidationError as error:
            known = list(model.model_fields)
            raise RotaError(f"Options of method '{self.name}': {describe_mistakes(error.errors(), known)}") from error

    @property
    def options(self) -> type[BaseModel]:
        """Its options with their types and defaults."""
        parameters = list(inspect.signature(self.make_policy, eval_str=True).parameters.values())[1:]
        fields: dict[str, Any] = {
            p.name: (p.annotation, ... if p.default is inspect.Parameter.empty else p.default) for p in parameters
        }
        return create_model(
            f"{self.name}_options", __config__=ConfigDict(extra="forbid", allow_inf_nan=False), **fields
        )
