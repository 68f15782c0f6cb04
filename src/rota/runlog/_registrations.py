"""Predictions that were written down before the runs: the file, its hash, where it is found."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict

from rota.runlog._records import STRICT, DamagedFileError, read_record

HASHED = ("claims", "seeds", "budget", "plans")
"""What is predicted, and of which runs."""


class RegistrationRecord(TypedDict):
    """`NAME.registered.json`, beside the folder `NAME` of a comparison: what was predicted before its runs."""

    __pydantic_config__ = STRICT  # type: ignore[misc]

    registered: str
    source: str
    claims: Annotated[list[dict[str, Any]], Field(min_length=1)]
    seeds: list[int]
    budget: str
    plans: dict[str, dict[str, Any]]
    hash: str


def registration_beside(folder: Path) -> Path:
    """Where the registration of a comparison is, if it has one: beside its folder, which is not there before the runs.

    >>> registration_beside(Path("runs/000-table-2")).as_posix()
    'runs/000-table-2.registered.json'
    """
    return folder.with_name(f"{folder.resolve().name if not folder.name else folder.name}.registered.json")


def registration_hash(content: Mapping[str, Any]) -> str:
    """SHA-256 of the claims, seeds, budget and plans of a registration, whenever and wherever it was written.

    >>> content = {"claims": [], "seeds": [0], "budget": "updates", "plans": {}}
    >>> registration_hash(content) == registration_hash({**content, "registered": "2026-01-01"})
    True
    """
    plain = json.dumps({name: content[name] for name in HASHED}, sort_keys=True)
    return hashlib.sha256(plain.encode()).hexdigest()


def read_registration(path: Path) -> dict[str, Any]:
    """What was registered; refuse a file that was changed afterwards.

    >>> import tempfile
    >>> content = {"claims": [{"says": "a"}], "seeds": [0], "budget": "updates", "plans": {"uniform": {}}}
    >>> written = {**content, "registered": "2026-01-01T00:00:00+0000", "source": "a.yaml", "hash": "0"}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "a.registered.json").write_text(json.dumps(written))
    ...     try:
    ...         read_registration(Path(folder) / "a.registered.json")
    ...     except DamagedFileError as error:
    ...         "was changed after it was written" in str(error)
    True
    """
    content = read_record(path, RegistrationRecord)
    if content["hash"] != registration_hash(content):
        raise DamagedFileError(
            path,
            f"{path} expects claims and plans with the hash {content['hash'][:12]}. Found "
            f"{registration_hash(content)[:12]}: it was changed after it was written. Restore it, or move it away.",
        )
    return content
