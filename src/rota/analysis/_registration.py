"""Was a claim made before its runs, and are they the runs that were planned?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from rota.analysis._claim import Claim, read_claims
from rota.analysis._fairness import other_fields
from rota.analysis._setting_fields import flat, setting_as_text
from rota.errors import RotaError
from rota.runlog import RUN, Run, read_registration

BEFORE, AFTER, NEVER = "before the runs", "after they began", "no"
FILLED_IN = (None, "auto")  # what a run decides itself
LONG_AGO = datetime.fromtimestamp(0).astimezone()  # for runs that do not say when they began


@dataclass(frozen=True)
class Registration:
    """What was predicted, and for which runs.

    Args:
        time: When it was written.
        hash: Of its claims and plans.
        claims: What was predicted.
        seeds: Those that were planned.
        budget: What is equal in the comparison.
        plans: By variant, without the seed.

    >>> from datetime import timedelta
    >>> claim, now = Claim(says="exp3s is ahead", of="exp3s", than="uniform"), datetime.now().astimezone()
    >>> registration = Registration(now, "0", (claim,), (0, 1), "updates", {"exp3s": {"steps": 20}})
    >>> registration.status(claim, began=None), registration.status(claim, began=now - timedelta(minutes=1))
    ('before the runs', 'after they began')
    """

    time: datetime
    hash: str
    claims: tuple[Claim, ...]
    seeds: tuple[int, ...]
    budget: str
    plans: Mapping[str, Mapping[str, Any]]

    @classmethod
    def read(cls, path: Path) -> Registration:
        """From its file."""
        content = read_registration(path)
        try:
            time = datetime.fromisoformat(content["registered"]).astimezone()
        except ValueError as error:
            raise RotaError(f"{path} expects a time. Found '{content['registered']}'.") from error
        claims = tuple(read_claims(content["claims"], str(path)))
        return cls(time, content["hash"], claims, tuple(content["seeds"]), content["budget"], content["plans"])

    def status(self, claim: Claim, began: datetime | None) -> str:
        """Whether a claim was registered before the first run began (None: none has): "before the runs", "after they
        began", or "no"."""
        if claim not in self.claims:
            return NEVER
        return AFTER if began is not None and began < self.time else BEFORE

    def changes(self, runs: Mapping[str, Sequence[Run]]) -> list[str]:
        """In what the runs of the variants are not those that were planned."""
        found = [f"the variant {name} was added" for name in runs if name not in self.plans]
        added = {run.plan.get("seed", 0) for own in runs.values() for run in own} - set(self.seeds)
        found += [f"the seeds {', '.join(map(str, sorted(added)))} were added"] if added else []
        for variant in runs.keys() & self.plans.keys():
            told = (told for run in runs[variant] for told in self._changed(self.plans[variant], run.plan))
            found += [f"{variant}: {change}" for change in dict.fromkeys(told)]
        return found

    def _changed(self, planned: Mapping[str, Any], plan: Mapping[str, Any]) -> list[str]:
        given = {name: value for name, value in planned.items() if value not in FILLED_IN}
        now = {name: plan[name] for name in given if name in plan}
        may = ["steps"] if self.budget == "forwards" else []  # which follow from the measured costs
        then, there = flat(given), flat(now)
        return [
            f"{name} {setting_as_text(then.get(name))} → {setting_as_text(there.get(name))}"
            for name in other_fields(given, now, may)
        ]


def begun_runs(folder: Path, variants: Mapping[str, Sequence[str]]) -> dict[str, list[Run]]:
    """The runs of a comparison that have begun, by variant.

    >>> import tempfile
    >>> from rota.testing import written_run
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = written_run({"rte": [0.5]}, folder=Path(folder) / "uniform-0", finished=False)
    ...     {name: len(runs) for name, runs in begun_runs(Path(folder), {"uniform": ["uniform-0", "u-1"]}).items()}
    {'uniform': 1}
    """
    return {
        variant: [Run(folder / name) for name in names if (folder / name / RUN).is_file()]
        for variant, names in variants.items()
    }


def first_start(folder: Path, variants: Mapping[str, Sequence[str]]) -> datetime | None:
    """When the first run of a comparison began, inner runs included; None where none has.

    >>> import tempfile
    >>> from rota.testing import written_run
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for seed, day in enumerate("21"):
    ...         place, created = Path(folder) / f"uniform-{seed}", f"2026-01-0{day}T00:00:00+0000"
    ...         _ = written_run({"rte": [0.5]}, seed=seed, folder=place, created=created)
    ...     first_start(Path(folder), {"uniform": ["uniform-0", "uniform-1"]}).day
    1
    """
    runs = [Run(path.parent) for names in variants.values() for name in names for path in (folder / name).rglob(RUN)]
    return min(map(_created, runs), default=None)


def _created(run: Run) -> datetime:
    try:
        return datetime.fromisoformat(run.info["created"]).astimezone()
    except (KeyError, ValueError):
        return LONG_AGO
