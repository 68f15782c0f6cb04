"""AutoSeM's second stage: whole trainings with ratios that a search proposes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rota.callbacks import Callback
from rota.methods._inner import InnerRuns
from rota.runlog import INNER, PRUNED, RUN, SEARCH, Run, write_json
from rota.search import RatioSearch, RatioTrial, search_ratio

ReportScore = Callable[[int, float], None]

MAY_DIFFER = {
    *("seed", "method", "options", "only"),  # decided by the search
    *("data", "device", "engine", "threads", "num_workers", "eval_batch_size", "checkpoint_every", "frozen_cache"),
}
"""Fields of the plan in which workers of one search may differ: where and how they execute it."""


@dataclass
class RatioTrainings:
    """Trains with a ratio of tasks and says how the target scored: what `search_ratio` wants to maximise.

    Args:
        inner: Who trains.
        changes: Fields that the plans of all trainings have instead of its own.
        simplex: Whether ratios are shares that sum to one.
    """

    inner: InnerRuns
    changes: Mapping[str, Any] = field(default_factory=dict)
    simplex: bool = False

    def __call__(self, ratio: Mapping[str, float], seed: int, report: ReportScore) -> float:
        from optuna import TrialPruned  # how a search says that a training is hopeless

        name = run_name(ratio, seed)
        self._report_again(name, report)
        run = self.inner.train(
            name,
            [_Pruner(report, TrialPruned)],
            method="fixed" if self.simplex else "cycle",
            options={"weights": dict(ratio)},
            seed=seed,
            only=list(ratio),
            **self.changes,
        )
        if run.summary["stopped"] == PRUNED:  # now, or by a worker that was killed before it could say so
            raise TrialPruned
        return float(run.summary["best"]["dev"]["average"])

    def _report_again(self, name: str, report: ReportScore) -> None:
        """What was evaluated before a worker was killed counts as if it had not been."""
        folder = self.inner.folder / INNER / name
        if (folder / RUN).is_file():
            for line in Run(folder).lines("eval"):
                if line["step"] and line["average"] is not None:
                    report(line["step"], line["average"])


@dataclass(frozen=True)
class _Pruner(Callback):
    """Reports each evaluation to a search, and ends the run where that says it is hopeless."""

    report: ReportScore
    hopeless: type[Exception]

    def on_evaluate(self, done: int, evaluation: Mapping[str, Any], mixture: Mapping[str, float]) -> str | None:
        if not done or evaluation["average"] is None:
            return None
        try:
            self.report(done, evaluation["average"])
        except self.hopeless:
            return PRUNED
        return None


def run_name(ratio: Mapping[str, float], seed: int) -> str:
    """
    >>> run_name({"rte": 9, "mnli": 1, "qqp": 4}, seed=0)
    '9-1-4-seed-0'
    """
    return f"{'-'.join(f'{part:g}' for part in ratio.values())}-seed-{seed}"


def find_ratio(
    inner: InnerRuns,
    tasks: Sequence[str],
    trials: int,
    *,
    changes: Mapping[str, Any],
    storage: str | None = None,
    simplex: bool = False,
    **options: Any,
) -> RatioSearch:
    """Search the ratio of `tasks` with the best dev score of the first one.

    Trainings are in `runs/` of the folder of `inner`, which is the folder of this search; what is found is in its
    `search.json`, from the first trial on. Started again, it goes on.

    Args:
        inner: Who trains.
        tasks: The target first.
        trials: How many ratios.
        changes: Fields that the plans of all trainings have instead of its own.
        storage: Of the study; by default a file in the folder.
        simplex: Whether ratios are shares that sum to one.
        options: Of `rota.search.search_ratio`.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from rota.plans import make_plan
    >>> from rota.testing import written_run
    >>> def run_plan(plan, folder, **_):  # as if three batches of rte for each of mnli were best
    ...     share = plan.options["weights"]["rte"] / sum(plan.options["weights"].values())
    ...     return written_run({"rte": [1 - abs(share - 0.75)]}, folder=folder)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     inner = InnerRuns(run_plan, make_plan({"tasks": ["rte", "mnli"]}), Path(folder), progress=False)
    ...     found = find_ratio(inner, ["rte", "mnli"], trials=4, changes={"steps": 10}, sampler="random")
    ...     len(found.trials), found.best.value == max(trial.value for trial in found.trials)
    (4, True)
    """
    place = storage or f"journal:{inner.folder / 'study.journal'}"
    name = options.pop("name", None) or f"ratio of {', '.join(tasks)}, seed {options.get('seed', 0)}"
    teller = _Teller(inner, trials, changes.get("steps", inner.plan.steps), options)
    plan = inner.plan.model_dump(mode="json", exclude=MAY_DIFFER)
    found = search_ratio(
        RatioTrainings(inner, changes, simplex),
        tasks,
        trials,
        place,
        simplex=simplex,
        name=name,
        agreed={**plan, **changes},
        on_trial=teller,
        **options,
    )
    teller.write(found)
    inner.count_earlier()
    return found


@dataclass
class _Teller:
    """Says after each trial where the search stands, and writes it down."""

    inner: InnerRuns
    trials: int
    steps: int
    options: Mapping[str, Any]
    began: float = field(default_factory=time.monotonic)
    own: int = 0

    def __call__(self, trial: RatioTrial, search: RatioSearch) -> None:
        self.write(search)
        self.own += 1
        done = len(search.trials)
        best = search.best
        said = "stopped early" if trial.state == "pruned" else f"{100 * (trial.value or 0.0):.1f}"
        parts = [f"trial {done} of {self.trials}", f"{shown(trial.ratio)} → {said}"]
        if best is not None and best.value is not None:
            parts.append(f"best {100 * best.value:.1f} with {shown(best.ratio)}")
        left = (self.trials - done) * (time.monotonic() - self.began) / self.own
        if done < self.trials:
            parts.append(f"about {left / 60:.0f} min left" if left >= 90 else f"about {left:.0f} s left")
        self.inner.say(" · ".join(parts))

    def write(self, search: RatioSearch) -> None:
        model = search.model()
        best = search.best
        content = {
            "name": search.name,
            "tasks": list(search.space.names),
            "trials": self.trials,
            "steps": self.steps,
            "sampler": self.options.get("sampler", "gp-hedge"),
            "space": search.space.seen,
            "seed": self.options.get("seed", 0),
            "tried": [
                {
                    **asdict(trial),
                    "values": [value if math.isfinite(value) else None for value in trial.values],
                    "runs": [run_name(trial.ratio, self._seed + k) for k in range(len(trial.values))],
                }
                for trial in search.trials
            ],
            "best": None if best is None else best.number,
            "slices": {task: asdict(own) for task, own in model.slices().items()} if model else {},
            "random": model.random_best(self.trials) if model else [],
        }
        self.inner.folder.mkdir(parents=True, exist_ok=True)
        write_json(self.inner.folder / SEARCH, content)

    @property
    def _seed(self) -> int:
        return int(self.options.get("seed", 0))


def shown(ratio: Mapping[str, float]) -> str:
    """
    >>> shown({"rte": 9, "mnli": 1, "qqp": 4})
    '9:1:4'
    """
    return ":".join(f"{part:g}" for part in ratio.values())
