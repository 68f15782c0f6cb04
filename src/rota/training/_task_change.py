"""A run goes on with other tasks: its checkpoint becomes that of a run which has these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from rota.engine import Learner, renumbered
from rota.errors import RotaError, resuming
from rota.policies import Policy
from rota.runlog import Run
from rota.streams import Stream
from rota.training._best import BestTracker
from rota.training._checkpoint import Found
from rota.training._feedback_queue import FeedbackQueue
from rota.training._feeds import Feeds
from rota.training._own_model import kept_weights

FOLLOWS = ("mixture", "model", "parameters", "evaluation")
"""What a description says that follows from its tasks."""
OF_TASKS = ("tasks", "only", "options", "per_task", "rows")
"""Fields of a plan that may name tasks; of the options of its method, only `weights` does."""
Line = dict[str, Any]
"""Of a log."""


@dataclass(frozen=True)
class ChangeOfTasks:
    """Which tasks come and go, before the run goes on.

    Args:
        step: From which on.
        added, dropped: Their names.
        rows: Training rows of those that come.
        run: What `run.json` would say since, as the log keeps it.
        old: The policy so far, over the tasks so far; it has their names, and will have the memory of the checkpoint.
        heard: Lines of the log about what the old policy heard last.
    """

    step: int
    added: list[str]
    dropped: list[str]
    rows: dict[str, int]
    run: Mapping[str, Any]
    old: Policy
    heard: list[Line] = field(default_factory=list)

    @property
    def notice(self) -> str:
        """For people."""
        both = (("added", self.added), ("dropped", self.dropped))
        told = ", ".join(f"{word} {', '.join(tasks)}" for word, tasks in both if tasks)
        return f"from step {self.step} on: {told}; the best model is looked for anew"

    def line(self, mixture: Mapping[str, float]) -> Line:
        """For the log.

        Args:
            mixture: Of the tasks from now on.
        """
        told = {"added": self.added, "dropped": self.dropped, "rows": self.rows, "mixture": dict(mixture)}
        return {"kind": "tasks", "step": self.step, **told, "run": dict(self.run)}

    def carried(
        self,
        found: Found,
        learner: Learner,
        stream: Stream,
        feeds: Feeds,
        policy: Policy,
        best: BestTracker,
        queue_of: Callable[[Policy, Callable[[Line], None]], FeedbackQueue],
    ) -> Found:
        """The checkpoint as one of a run with the new tasks.

        Args:
            found: The checkpoint.
            learner: Has the new model, whose new heads are as they begin.
            stream, feeds: Of the new tasks.
            policy: Over the new tasks; it takes over the old one's memory.
            best: Without a memory: averages over other tasks cannot be compared.
            queue_of: Makes the queue of a policy, with who writes its lines. What still waits for the old one is heard
                before the change: a task that leaves would have nobody to hear it.
        """
        state, tensors = found
        old, before = self.old, self.old.tasks
        moved = stream.carried(state["stream"], before)  # refuses before anything is heard
        old.load_state_dict(state["policy"])
        queue = queue_of(old, self.heard.append)
        queue.load_state_dict(state["queue"])
        queue.finish()
        policy.take_over(old)
        carried = {
            **state,
            "policy": policy.state_dict(),
            "queue": queue.state_dict(),
            "stream": moved,
            "feeds": feeds.carried(state["feeds"], [task for task in policy.tasks if task in before]),
            "best": best.state_dict(),
        }
        names, gone = learner.parameter_names(), set(before) - set(policy.tasks)
        optimizer = renumbered(tensors["optimizer"], state["engine"]["parameters"], names, gone)
        model = _with_new_weights(tensors["model"], kept_weights(learner.model))
        return carried, {"model": model, "optimizer": optimizer}


def info_then(run: Run, found: Found | None) -> dict[str, Any]:
    """What a run was asked for when a checkpoint was written; without one, at its start."""
    return run.info_at((found[0]["log"] or 0) if found else 0)


def change_of_tasks(
    run: Run, asked: Mapping[str, Any], description: Mapping[str, Any], found: Found | None, old: Policy
) -> ChangeOfTasks | None:
    """What changes between what a run is asked for in its checkpoint and what it is asked for now; None where the
    checkpoint has these tasks already. Refuse a change that cannot be made."""
    then, now = asked["tasks"], description["tasks"]
    added, dropped = [task for task in now if task not in then], [task for task in then if task not in now]
    if run.finished:
        raise RotaError(
            f"Tasks come and go in a run that goes on. Found {run.folder}, which is finished. Start a new one from it: "
            f"Plan(start=…)."
        )
    if not added and not dropped:
        return None
    if found is None:
        raise RotaError(
            f"Tasks come and go from a checkpoint on. Found none yet in {run.folder}. Start a new run, or let it go on "
            f"first: {resuming(run.folder)}."
        )
    trained = [task for task, own in then.items() if own["rows"].get("train")]
    if set(old.tasks) != set(trained):
        raise RotaError(
            f"fit(takes_over=…) expects the policy that the run had, over {', '.join(trained)}. Found one over "
            f"{', '.join(old.tasks)}."
        )
    if "parameters" not in found[0]["engine"]:
        raise RotaError(
            f"Tasks come and go from a checkpoint of this version of rota on. Found one of an earlier version in "
            f"{run.folder}. Let the run go on to its next checkpoint first: {resuming(run.folder)}."
        )
    plan = {
        name: description["plan"][name]
        for name in OF_TASKS
        if name in description["plan"] and description["plan"][name] != asked["plan"].get(name)
    }
    since = {"tasks": {task: now[task] for task in added}, "plan": plan}
    since |= {name: description[name] for name in FOLLOWS}
    rows = {task: now[task]["rows"].get("train", 0) for task in added}
    return ChangeOfTasks(found[0]["step"], added, dropped, rows, since, old)


def apart_from_tasks(asked: Mapping[str, Any], description: Mapping[str, Any]) -> dict[str, Any]:
    """What a run was asked for, with the new description of everything that may change with its tasks: so that what
    else has changed stands out."""
    plan, now = dict(asked["plan"]), description["plan"]
    for name in OF_TASKS:
        if name in plan and name in now:
            plan[name] = now[name] if name != "options" else _with_weights_of(plan[name], now[name])
    stays = {task: own for task, own in asked["tasks"].items() if task in description["tasks"]}
    came = {task: own for task, own in description["tasks"].items() if task not in stays}
    return {**asked, **{name: description[name] for name in FOLLOWS}, "tasks": {**stays, **came}, "plan": plan}


def _with_weights_of(then: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    weights = {"weights": now["weights"]} if "weights" in now else {}
    return {**{name: own for name, own in then.items() if name != "weights"}, **weights}


def _with_new_weights(then: Mapping[str, Tensor], now: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """What a model had, for the parameters that it still has; the others are as they begin."""
    for name, own in now.items():
        if name in then and then[name].shape != own.shape:
            raise RotaError(
                f"A model whose tasks come and go expects parameters of the same shape for those that stay. Found "
                f"{tuple(own.shape)} for '{name}', which had {tuple(then[name].shape)}. Give each task a part of its "
                f"own, or start a new run."
            )
    if not now.keys() & then.keys():
        raise RotaError("A model whose tasks come and go expects parameters that it had before. Found none of them.")
    return {name: then.get(name, own) for name, own in now.items()}
