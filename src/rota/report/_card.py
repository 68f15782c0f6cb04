"""The model card of a run: what it was trained on, in which mixture, how it scores, and how to make it again."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from rota.analysis import train_command
from rota.errors import RotaError
from rota.pretraining import contamination
from rota.runlog import Run

Z = 1.96
"""Standard errors in an interval of 95 %."""


def model_card(run: Run, seeds: Sequence[Run] = ()) -> str:
    """A card in Markdown, with the metadata that the Hugging Face hub reads.

    Args:
        run: The run whose model it is about; finished.
        seeds: Runs of the same plan with other seeds: scores are then their mean, with an interval over seeds. Of one
            run alone the interval is that of a share of its rows.

    >>> from rota.testing import written_run
    >>> run = written_run({"rte": [0.5, 0.6]}, "exp3s", policy="Exp3S", versions={"rota": "1.0.0"})
    >>> [line for line in model_card(run).splitlines() if line.startswith("| rte")]
    ['| rte | classification | 100 | 100.0 % | 60.0 |']
    """
    if not run.finished:
        raise RotaError(f"A model card expects a finished run. Found {run.folder}, which is not.")
    split = "test" if run.summary["best"].get("test", {}).get("tasks") else "dev"
    return "\n".join([*_metadata(run, split), *_text(run, [run, *seeds], split)]) + "\n"


def _scores(run: Run, split: str) -> dict[str, Any]:
    return dict(run.summary["best"][split]["tasks"])


def _metadata(run: Run, split: str) -> list[str]:
    import yaml  # late: whoever writes a card has the command line

    results = [
        {
            "task": {"type": "other", "name": task},
            "dataset": {"name": task, "type": task},
            "metrics": [
                {"type": name, "name": f"{split} {name}", "value": round(value, 4)}
                for name, value in own["metrics"].items()
            ],
        }
        for task, own in _scores(run, split).items()
    ]
    name = run.folder.resolve().name
    content = {
        "library_name": "rota",
        "tags": ["multi-task", "rota"],
        "model-index": [{"name": name, "results": results}],
    }
    return ["---", yaml.safe_dump(content, sort_keys=False, allow_unicode=True).strip(), "---", ""]


def _text(run: Run, runs: Sequence[Run], split: str) -> list[str]:
    info, plan = run.info, run.plan
    updates = Counter(run.summary["updates"])
    total = sum(updates.values()) or 1
    several = f"the mean over {len(runs)} seeds" if len(runs) > 1 else "one seed"
    lines = [
        f"# {run.folder.resolve().name}",
        "",
        f"One model for {len(info['tasks'])} tasks, trained with `{plan.get('method', info['policy'])}` of rota, "
        f"{run.summary['steps']} updates of {plan['batch_size']} rows.",
        "",
        f"## Tasks and scores ({split} rows, {several}, 95 % intervals)",
        "",
        "| task | kind | training rows | share of the updates | score |",
        "|---|---|---|---|---|",
    ]
    for task, own in info["tasks"].items():
        if task in _scores(run, split):
            share = f"{100 * updates[task] / total:.1f} %"
            score = _interval([_scores(one, split)[task] for one in runs if one.finished])
            rows = own["rows"].get("train", 0)
            lines.append(f"| {task} | {own['kind']} | {rows} | {share} | {score} |")
    before = contamination(str(plan.get("model", "")), info["tasks"])
    lines += ["", f"The encoder before: {before}"] if before else []
    command = train_command(plan)
    made = f"```\n{command}\n```" if command else "It was trained by a program; its settings are in `run.json`."
    versions = ", ".join(f"{name} {number}" for name, number in info["versions"].items())
    return [*lines, "", "## How to make it again", "", made, "", f"With {versions}."]


def _interval(found: Sequence[dict[str, Any]]) -> str:
    """A score in points with its interval."""
    values = [own["score"] for own in found]
    mean = sum(values) / len(values)
    if len(values) > 1:
        from scipy import stats  # late: it takes a while

        error = float(stats.sem(values)) * float(stats.t.ppf(0.975, len(values) - 1))
        return f"{100 * mean:.1f} [{100 * (mean - error):.1f}, {100 * (mean + error):.1f}]"
    rows = found[0]["n"]
    if list(found[0]["metrics"]) != ["accuracy"] or not rows:
        return f"{100 * mean:.1f}"  # only a share of rows has an interval that one run can tell
    middle, width = (mean + Z**2 / (2 * rows)) / (1 + Z**2 / rows), 1 + Z**2 / rows
    reach = Z * math.sqrt(mean * (1 - mean) / rows + Z**2 / (4 * rows**2)) / width
    return f"{100 * mean:.1f} [{100 * (middle - reach):.1f}, {100 * (middle + reach):.1f}]"
