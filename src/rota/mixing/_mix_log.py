"""The log of a mix: the same folder that a run of `fit` has, so that the same readers read it."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rota.errors import RotaError
from rota.feedback import Feedback
from rota.mixing._decision import Decision
from rota.runlog import LOG, RUN, SCHEMA, SUMMARY, Ledger, LogWriter, Run, step_line, task_of_rows, write_json
from rota.sources import EachStep

if TYPE_CHECKING:
    from rota.mixing._mix import Mix

FLUSH = 100  # lines that may wait in memory


class MixLog:
    """Writes what a mix decided and heard.

    Args:
        folder: A new one; or that of the same mix, whose state is going to be loaded.
        mix: What is written about.
        source: What its policy hears of losses.
        log_rows: Whether the number of each row is written, also where it follows from the seed.
    """

    def __init__(self, folder: Path, mix: Mix, source: EachStep | None, log_rows: bool = False) -> None:
        self._log_rows = log_rows
        self._folder, self._mix, self._began = folder, mix, time.monotonic()
        described = {
            "schema": SCHEMA,
            "plan": {"method": type(mix.policy).__name__.lower(), "seed": mix.seed, "batch_size": mix.batch_size},
            "tasks": {task: task_of_rows(rows) for task, rows in mix.sizes.items()},
            "policy": type(mix.policy).__name__,
            "stream": "Mix",
            "mix": mix.identity(),
            "listen": [source.describe()] if source else [],
        }
        self._writer: LogWriter | None = None
        self._known = _rows(described)
        if (folder / RUN).is_file():
            found = Run(folder).started
            self._known = _rows(found)
            differs = [name for name, value in described.items() if found.get(name) != value]
            if differs and not _has_come_to(Run(folder), described):
                raise RotaError(
                    f"Expected a new folder for the log, or that of the same mix. Found {folder}, where "
                    f"{', '.join(differs)} differs."
                )
            return  # gone on with when a state is loaded, refused when not
        try:
            folder.mkdir(parents=True, exist_ok=True)
            content = {"id": uuid.uuid4().hex, "created": time.strftime("%Y-%m-%dT%H:%M:%S%z"), **described}
            write_json(folder / RUN, {**content, "mixture": mix.policy.expected_shares(0)})
        except OSError as error:
            raise RotaError(f"Expected a folder that can be written at {folder}. Found: {error.strerror}.") from error
        self._writer = LogWriter(folder / LOG, 0)

    @property
    def writer(self) -> LogWriter:
        if self._writer is None:
            raise RotaError(
                f"Expected a new folder for the log. Found {self._folder}, which holds the log of another training. "
                f"Choose another one, or load the state that belongs to it."
            )
        return self._writer

    def write(self, decision: Decision, losses: Mapping[str, float], values: Mapping[str, float]) -> None:
        """A decision whose losses were heard."""
        parts: list[dict[str, Any]] = []
        for task, (ids, span) in self._mix.rows_of(decision).items():
            known = task in self._known and self._known[task] == self._mix.sizes.get(task, self._known[task])
            spelt_out = self._log_rows or span is None or not known  # a place in a pass means nothing without its size
            rows = {"ids": ids.tolist()} if spelt_out else {"rows": list(span or ())}
            parts.append({"task": task, "weight": len(ids), "n": len(ids), **rows})
        means = [losses.get(part["task"]) for part in parts]
        heard = [values.get(part["task"]) for part in parts]
        self.writer.write(step_line(decision.step, decision.choice, parts, means, heard))
        if self.writer.waiting >= FLUSH:
            self.writer.flush()

    def happen(self, line: Mapping[str, Any]) -> None:
        """Sources came, left or were parked."""
        self.writer.write(dict(line))

    def report(self, measured: Sequence[Feedback]) -> None:
        """What was measured between updates."""
        values, step, word = {own.task: own.value for own in measured}, measured[0].step, measured[0].about
        if word != "score":
            self.writer.write({"kind": "observed", "step": step, "about": word, "tasks": values})
            return
        tasks: dict[str, Any] = {
            task: {"loss": None, "score": value, "metrics": {}, "n": None} for task, value in values.items()
        }
        means = {"split": "dev", "average": sum(values.values()) / len(values), "loss": None}
        self.writer.write({"kind": "eval", "step": step, **means, "tasks": tasks, "mixture": self._mix.shares()})

    def sync(self) -> int:
        """Write what waits in memory; the size of the log."""
        return self.writer.sync()

    def close(self) -> None:
        """Training is over: write how it ended, with the last scores that were observed."""
        self.writer.close()
        run = Run(self._folder)
        updates: Counter[str] = Counter()
        rows = 0
        for line in run.lines("step"):
            parts = {line["task"]: line} if line["task"] else line["tasks"]
            updates.update(parts.keys())
            rows += sum(own["n"] for own in parts.values())
        scores = run.lines("eval")[-1:] or [{"step": self._mix.updates, "average": None, "loss": None, "tasks": {}}]
        found = {name: scores[0][name] for name in ("average", "loss", "tasks")}
        nothing: dict[str, Any] = {"average": None, "loss": None, "tasks": {}}
        best = {"step": scores[0]["step"], "rule": "last", "dev": found, "test": nothing}
        content: dict[str, Any] = {
            "steps": self._mix.updates,
            "stopped": "closed",
            "best": best,
            "last": {"dev": found},
        }
        content |= {"updates": dict(sorted(updates.items())), "skipped": self._mix.unheard}
        content |= {"cost": Ledger(self._mix.updates, rows).as_dict(), "seconds": time.monotonic() - self._began}
        write_json(self._folder / SUMMARY, content)

    def cut_back(self, size: int) -> None:
        """Go on from where a state was saved."""
        if self._writer is not None:
            self._writer.close()
        (self._folder / SUMMARY).unlink(missing_ok=True)  # it goes on
        self._writer = LogWriter(self._folder / LOG, size)


def _rows(described: Mapping[str, Any]) -> dict[str, int | None]:
    return {task: own["rows"]["train"] for task, own in described["tasks"].items()}


def _has_come_to(run: Run, described: Mapping[str, Any]) -> bool:
    """Whether a log that began with other sources has had these at some time, in a mix that is the same otherwise."""
    names = set(run.started["tasks"])
    sets = [set(names)]
    for line in run.task_changes:
        names = names - set(line["dropped"]) | set(line["added"])
        sets.append(names)
    then, now = _of_every_set(run.started), _of_every_set(described)
    return set(described["tasks"]) in sets and all(then.get(name) == value for name, value in now.items())


def _of_every_set(described: Mapping[str, Any]) -> dict[str, Any]:
    """What does not depend on which sources there are."""
    plan = {name: own for name, own in described["plan"].items() if name != "batch_size"}
    mix = {name: own for name, own in described["mix"].items() if name not in ("rows", "rows of an update", "epoch")}
    return {
        "plan": plan,
        "mix": mix,
        **{name: described.get(name) for name in ("schema", "policy", "stream", "listen")},
    }
