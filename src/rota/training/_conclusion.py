"""How a run ended, as `summary.json` holds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rota.runlog import Ledger, Run
from rota.training._judge import Judge
from rota.training._recorder import Recorder
from rota.training.engine import EagerEngine


def conclusion(
    steps: int,
    judge: Judge,
    tests: Mapping[int, dict[str, Any]],
    recorder: Recorder,
    engine: EagerEngine,
    seconds: float,
    surveying: float,
    before: Sequence[Run],
) -> dict[str, Any]:
    """Scores, cost and time.

    Args:
        steps: How many were made.
        judge: Who knows the best model.
        tests: What that one scores on the test rows, and what others do that are kept, by their steps.
        recorder: Who counted the turns.
        engine: Who counted the examples.
        seconds, surveying: Time of the training, and of its surveys.
        before: Runs that were trained for the sake of this one.
    """
    assert judge.best_step is not None
    best = {"step": judge.best_step, "rule": judge.rule, "dev": judge.best, "test": tests[judge.best_step]}
    if judge.rule == "each":
        best["each"] = {t: {**own, "test": tests[own["step"]]["tasks"].get(t)} for t, own in judge.each.items()}
    spent = [Ledger.from_dict(run.summary["cost"]) for run in before]
    return {
        "steps": steps,
        "stopped": judge.reason,
        "best": best,
        "last": {"dev": judge.last},
        "updates": dict(sorted(recorder.updates.items())),
        "skipped": recorder.skipped,
        "cost": sum(spent, engine.ledger).as_dict(),
        "engine": {
            "captures": engine.captures,
            "seconds": round(engine.capture_seconds, 3),
            "fallback": engine.fallback,
        },
        "surveying": round(surveying, 3),
        "seconds": round(seconds + sum(run.summary["seconds"] for run in before), 3),
    }
