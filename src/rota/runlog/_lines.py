"""The line of a training step."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rota.feedback import Choice


def finite_or_none(numbers: Sequence[float | None]) -> list[float | None]:
    """As JSON has them: None for a number that is none."""
    return [number if number is not None and math.isfinite(number) else None for number in numbers]


def step_line(
    step: int,
    choice: Choice | None,
    parts: Sequence[Mapping[str, Any]],
    losses: Sequence[float | None],
    values: Sequence[float | None],
) -> dict[str, Any]:
    """What was trained on in one update, and what came of it.

    Args:
        step: Which update.
        choice: Whose turn it was; None where nobody was chosen.
        parts: Of each task in it: `task`, `weight` of its loss, `n` rows, their `ids`.
        losses: Of each part, before the update.
        values: What the policy heard of each part; empty where nobody measures anything.
    """
    told, losses = finite_or_none(values) or [None] * len(parts), finite_or_none(losses)
    if choice is None:
        tasks = {
            part["task"]: {
                "weight": part["weight"],
                "loss": losses[k],
                "value": told[k],
                "n": part["n"],
                "ids": part["ids"],
            }
            for k, part in enumerate(parts)
        }
        return {"kind": "step", "step": step, "task": None, "probability": None, "tasks": tasks}
    return {
        "kind": "step",
        "step": step,
        "task": choice.task,
        "probability": choice.probability,
        "round": choice.round,
        "loss": losses[0],
        "value": told[0],
        "n": parts[0]["n"],
        "ids": parts[0]["ids"],
    }
