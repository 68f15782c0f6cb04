"""AutoSeM's first stage: a bandit tries the tasks, and a rule chooses among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from rota.runlog import SELECTION, Run, write_json
from rota.search._selection import Beliefs, choose_tasks

FLOOR = 0.5
"""Share of the rounds that is spread evenly. The model of this stage is thrown away, so trying costs nothing, and a
bandit that plays its favourite learns little about the others."""


@dataclass(frozen=True)
class Selection:
    """What came out.

    Args:
        beliefs: About the tasks.
        utilities: By which was chosen.
        chosen: The target first, then the auxiliaries, the most useful first.

    >>> from rota.testing import written_run
    >>> lines = [{"kind": "arm", "step": 0, "task": "mnli", "value": 1.0}]
    >>> found = select_from(written_run({"rte": [0.6], "mnli": [0.7]}, "thompson", plan={"target": "rte"}, lines=lines))
    >>> found.chosen, found.utilities["mnli"] > 0.5
    (['rte', 'mnli'], True)
    """

    beliefs: Beliefs
    utilities: dict[str, float]
    chosen: list[str]


def select_from(
    run: Run, top: int = 2, above: float = 0.5, utility: Literal["averaged", "last"] = "averaged"
) -> Selection:
    """Choose tasks by a run of method thompson, and write down next to its log why.

    Args:
        run: A finished one.
        top: So many auxiliaries are chosen whatever their utility.
        above: Others are chosen whose utility is above it.
        utility: At the end, or on average over the second half of the rounds.

    >>> from rota.testing import written_run
    >>> rounds = [("mnli", 1.0), ("wnli", 0.0)]
    >>> lines = [{"kind": "arm", "step": k, "task": task, "value": value} for k, (task, value) in enumerate(rounds)]
    >>> scores = {"rte": [0.6], "mnli": [0.7], "wnli": [0.5]}
    >>> run = written_run(scores, "thompson", plan={"target": "rte"}, lines=lines)
    >>> select_from(run, top=1).chosen, (run.folder / SELECTION).is_file()
    (['rte', 'mnli'], True)
    """
    beliefs = Beliefs.of(run)
    utilities = beliefs.averaged if utility == "averaged" else beliefs.last
    found = Selection(beliefs, utilities, choose_tasks(utilities, beliefs.primary, top, above))
    write_json(run.folder / SELECTION, {"chosen": found.chosen, "rule": _rule(top, above, utility), **_told(found)})
    return found


def _rule(top: int, above: float, utility: str) -> dict[str, Any]:
    return {"top": top, "above": above, "utility": utility}


def _told(found: Selection) -> dict[str, Any]:
    beliefs = found.beliefs
    tasks = {
        task: {
            "turns": beliefs.turns(task),
            "good": beliefs.good(task),
            "averaged": beliefs.averaged[task],
            "last": beliefs.last[task],
            "interval": beliefs.interval(task),
        }
        for task in beliefs.tasks
    }
    return {"target": beliefs.primary, "rounds": len(beliefs.arms), "tasks": tasks}
