"""How a run ended, as `summary.json` holds it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rota.engine import Engine
from rota.runlog import SUMMARY, Ledger, Run, write_json
from rota.training._best import BestTracker
from rota.training._evaluations import Evaluations
from rota.training._feedback_queue import FeedbackQueue
from rota.training._folder import DISK_FULL, disk_full

if TYPE_CHECKING:
    from rota.training._loop import TrainingLoop


def write_summary(run: TrainingLoop, done: int) -> None:
    """Score the best model on the test rows, and on all dev rows, and write how the run ended."""
    run.context.wait()
    scores = _scores_of_kept(run.best, run.evaluations, run.files.load_best, done)
    if run.context.writes:
        seconds = {"seconds": run.checkpointer.seconds, "listening": run.feeds.seconds}
        exposure = run.exposure.described()
        summary = _summarise(done, run.best, scores, run.queue, run.engine, seconds, run.before, exposure)
        try:
            write_json(run.folder / SUMMARY, summary)
        except OSError as error:
            raise (disk_full(run.folder, done) if error.errno in DISK_FULL else error) from error
    run.context.wait()


def _scores_of_kept(
    best: BestTracker, evaluations: Evaluations, load: Callable[[int], None], done: int
) -> dict[int, dict[str, Any]]:
    """Scores of the best model, and of others that are kept, by their steps: on the test rows, and on all dev rows
    where models were compared on some of them.

    Args:
        best: Knows which are kept.
        evaluations: Makes them.
        load: Puts the weights of a step into the model; those of the best one last, and they stay.
        done: Steps that were made.
    """
    scores: dict[int, dict[str, Any]] = {}
    for step in sorted(best.kept_steps, key=lambda step: step == best.best_step):
        load(step)
        scores[step] = {"test": evaluations.reported("test")}
        if evaluations.budget.all_at_end:
            scores[step]["dev"] = (best.last if step == done else None) or evaluations.reported()
    return scores


def _summarise(
    steps: int,
    best: BestTracker,
    scores: Mapping[int, Mapping[str, dict[str, Any]]],
    queue: FeedbackQueue,
    engine: Engine,
    seconds: Mapping[str, float],
    before: Sequence[Run],
    exposure: Mapping[str, Any],
) -> dict[str, Any]:
    """Scores, cost and time.

    Args:
        steps: How many were made.
        best: Knows the best model.
        scores: What that one scores on the test rows, and what others do that are kept, by their steps; and on all dev
            rows, where models were compared on some of them.
        queue: Has counted the turns.
        engine: Has counted the rows.
        seconds: Of the whole training, and of asking sources.
        before: Runs that were trained for the sake of this one.
        exposure: What it was trained on.
    """
    assert best.best_step is not None
    own = scores[best.best_step]
    found: dict[str, Any] = {"step": best.best_step, "rule": best.rule, "dev": own.get("dev", best.best)}
    found |= {"test": own["test"]} | ({"compared": best.best} if "dev" in own else {})
    if best.rule == "each":
        found["each"] = {task: _of_task(task, kept, scores[kept["step"]]) for task, kept in best.each.items()}
    spent = [Ledger.from_dict(run.summary["cost"]) for run in before]
    return {
        "steps": steps,
        "stopped": best.stops or "budget",
        "best": found,
        "last": {"dev": best.last},
        "updates": dict(sorted(queue.updates.items())),
        "skipped": queue.skipped,
        "exposure": dict(exposure),
        "cost": sum(spent, engine.learner.ledger).as_dict(),
        "engine": {
            "captures": engine.captures,
            "seconds": round(engine.capture_seconds, 3),
            "fallback": engine.fallback,
        },
        "listening": round(seconds["listening"], 3),
        "seconds": round(seconds["seconds"] + sum(run.summary["seconds"] for run in before), 3),
    }


def _of_task(task: str, kept: Mapping[str, Any], scores: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """The model that is best for one task."""
    dev = scores["dev"]["tasks"][task] if "dev" in scores else kept["dev"]
    return {**kept, "dev": dev, "test": scores["test"]["tasks"].get(task)}
