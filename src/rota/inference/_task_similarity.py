"""How alike the tasks of a trained model look to its first layer, before and after conditional alignment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rota.errors import RotaError, unknown_name
from rota.inference._trained import Trained
from rota.plans import tasks_of
from rota.signals import covariance_similarity, first_inputs, mean_similarity
from rota.tasks import sample_rows


@dataclass(frozen=True)
class TaskSimilarity:
    """Covariance similarity of each task with each task.

    Args:
        rows: By task, how many were read.
        content: By task, what tells its data from other data.
        before: Of the embeddings.
        after: Of what conditional alignment makes of them; None where the model has none.

    >>> found = TaskSimilarity({"a": 9, "b": 9}, {}, {"a": {"a": 1.0, "b": 0.5}, "b": {"a": 0.5, "b": 1.0}}, None)
    >>> found.others_before, found.others_after
    ({'a': 0.5, 'b': 0.5}, None)
    """

    rows: dict[str, int]
    content: dict[str, str]
    before: dict[str, dict[str, float]]
    after: dict[str, dict[str, float]] | None

    @property
    def others_before(self) -> dict[str, float]:
        """How alike each task is to the others, on average."""
        return mean_similarity(self.before)

    @property
    def others_after(self) -> dict[str, float] | None:
        """The same after alignment."""
        return None if self.after is None else mean_similarity(self.after)


def task_similarity(
    trained: Trained,
    tasks: Sequence[str] = (),
    split: str = "train",
    rows: int = 1000,
    data: Path | None = None,
) -> TaskSimilarity:
    """Covariance similarity between the tasks of a run (Pilault et al. 2021, figure 6).

    A row is one text, or a pair: the mean over its tokens of what the first layer reads. Of each task about `rows` rows
    of all that it has are read, whatever the run was trained on; they are the same ones for every run.

    Args:
        trained: The run.
        tasks: Only these; by default all of the run.
        split: Which rows.
        rows: At most so many of each task.
        data: The data folder, where it is not the one of the run.

    >>> import tempfile
    >>> from rota.plans import make_plan
    >>> from rota.runs import run_plan
    >>> plan = make_plan({"tasks": ["digits"], "only": ["left", "right"], "steps": 2, "device": "cpu"})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     task_similarity(Trained(run_plan(plan, Path(folder) / "run", progress=False).folder))
    Traceback (most recent call last):
    ...
    rota.errors.RotaError: Expected a transformer, whose first layer reads embeddings. Found SmallConv.
    """
    known = list(trained.run.info["tasks"])
    for name in tasks:
        if name not in known:
            raise unknown_name("task of the run", name, known)
    changes = {"rows": {}, "halve_dev": False, "cut_dev": None} | ({} if data is None else {"data": str(data)})
    chosen = [task for task in tasks_of(trained.plan.model_copy(update=changes)) if task.name in (tasks or known)]
    if len(chosen) < 2:
        raise RotaError(f"Expected two tasks or more, to compare them. Found {', '.join(t.name for t in chosen)}.")
    model, found, counts = trained.with_heads, {}, {}
    for task in chosen:
        if not task.size(split):
            raise RotaError(f"Expected rows in split '{split}' of each task. Found none of '{task.name}'.")
        own = task.splits[split]
        own = own if len(own) <= rows else sample_rows(own, rows)
        found[task.name], counts[task.name] = first_inputs(model, task.name, own), len(own)
    after = {name: own.after for name, own in found.items() if own.after is not None}
    return TaskSimilarity(
        counts,
        {task.name: str(task.notes.get("content", {}).get(split, "")) for task in chosen},
        covariance_similarity({name: own.before for name, own in found.items()}),
        covariance_similarity(after) if after else None,
    )
