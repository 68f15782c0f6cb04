"""How difficult the rows of a task are, before any training."""

from __future__ import annotations

from dataclasses import dataclass

from rota.data._difficulty import Difficulty, difficulty
from rota.data._examples import Example
from rota.data._named import RawTask
from rota.errors import RotaError
from rota.tasks import Classification


@dataclass(frozen=True)
class TaskDifficulty:
    """What was measured, and on what.

    Args:
        task: Its name.
        split: Whose rows were read: "train", or "dev" or "test" where there are no others.
        rows: How many.
        terms: What was found.

    >>> TaskDifficulty("mine", "train", 2, Difficulty(0.5, 0.25, 0.75, 0.5, 1.0)).terms.total
    3.0
    """

    task: str
    split: str
    rows: int
    terms: Difficulty


def task_difficulty(task: RawTask) -> TaskDifficulty | None:
    """EDM of the training rows of a task, both texts of a pair in one; None where the rows have no classes, for which
    it is not defined: numbers, tags, answers in passages, numbers of choices.

    A task without training rows is measured on those that it has.

    Args:
        task: As `raw_tasks` returns it.

    >>> from pathlib import Path; from tempfile import mkdtemp; from rota.data import raw_tasks
    >>> mine = Path(mkdtemp()) / "mine.yaml"
    >>> _ = mine.write_text("{name: mine, kind: classification, train: mine.jsonl}")
    >>> rows = ['{"text": "a good film", "label": 1}', '{"text": "a bad film", "label": 0}']
    >>> _ = mine.with_suffix(".jsonl").write_text(chr(10).join(rows))
    >>> measured = task_difficulty(raw_tasks([str(mine)])[0])
    >>> measured.rows, round(measured.terms.total, 4)
    (2, 2.3023)
    """
    if not isinstance(task.form.kind, Classification):
        return None
    split = next((split for split in ("train", "dev", "test") if split in task.splits), None)
    if split is None:
        raise RotaError(f"Task '{task.name}' expects rows for train, dev or test. Found none.")
    texts, labels = [], []
    for example in task.examples(split):
        assert isinstance(example, Example)  # as all classifications have
        texts.append(" ".join(filter(None, example.texts[0])))
        labels.append(int(example.label))
    try:
        terms = difficulty(texts, labels)
    except RotaError as error:
        raise RotaError(f"Task '{task.name}', {split} rows: {error}") from error
    return TaskDifficulty(task.name, split, len(texts), terms)
