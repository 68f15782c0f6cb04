"""Where a study lives: in memory, in a database, or in a journal file."""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from optuna.storages import BaseStorage, InMemoryStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from optuna.study import Study
from optuna.trial import FrozenTrial
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from rota.errors import RotaError
from rota.search._journal_lock import journal_lock
from rota.search._optuna import known_experiment

Stale = Callable[[Study, FrozenTrial], None]

ATTEMPTS = 20  # of workers that create the tables of one database at the same time
LOCKED = 60  # seconds to wait for another writer of an SQLite file
KINDS = "a database URL (sqlite:///FILE, postgresql://…), journal:FILE or a file *.journal"


@contextlib.contextmanager
def open_storage(where: str | BaseStorage | None, heartbeat: int, grace: int, on_stale: Stale) -> Iterator[BaseStorage]:
    """The storage that `where` names, closed at the end.

    Databases record a heartbeat of every running trial; `on_stale` hears of those whose heart stopped `grace` seconds
    ago. Journal files know no heartbeat: there a lease does the same (see `_workers.py`).
    """
    if where is None:
        yield InMemoryStorage()
    elif not isinstance(where, str):
        yield where
    elif where.startswith("journal:") or where.endswith(".journal"):
        file = Path(where.removeprefix("journal:"))
        file.parent.mkdir(parents=True, exist_ok=True)
        yield JournalStorage(JournalFileBackend(str(file), journal_lock(file)))
    elif "://" in where:
        storage = _database(where, heartbeat, grace, on_stale)
        try:
            yield storage
        finally:
            storage.remove_session()
            storage.engine.dispose()
    else:
        raise RotaError(f"A storage is {KINDS}. Found '{where}'.")


def _database(where: str, heartbeat: int, grace: int, on_stale: Stale) -> RDBStorage:
    try:
        url = make_url(where)
    except ArgumentError:
        raise RotaError(f"A storage is {KINDS}. This one cannot be read as a URL.") from None  # it may hold a password
    shown = url.render_as_string(hide_password=True)
    if url.drivername == "postgresql" and importlib.util.find_spec("psycopg"):
        url = url.set(drivername="postgresql+psycopg")
    options: dict[str, Any] = {"pool_pre_ping": True}
    if url.get_backend_name() == "sqlite":
        options = {"connect_args": {"timeout": LOCKED}}
        if url.database and url.database != ":memory:":
            Path(url.database).parent.mkdir(parents=True, exist_ok=True)
    # Optuna 4.9 gave the argument another name.
    known = inspect.signature(RDBStorage).parameters
    callback = "heartbeat_stale_trial_callback"
    settings: dict[str, Any] = {callback if callback in known else "failed_trial_callback": on_stale}
    settings |= {"heartbeat_interval": heartbeat, "grace_period": grace, "engine_kwargs": options}
    for attempt in range(ATTEMPTS):
        try:
            with known_experiment():
                return RDBStorage(url.render_as_string(hide_password=False), **settings)
        except (ImportError, NoSuchModuleError) as error:
            raise RotaError(
                f"The storage {shown} needs a driver that is not installed, such as psycopg for PostgreSQL: {error}"
            ) from error
        except DBAPIError as error:  # two workers have just made the same table; or the server cannot be reached
            if attempt == ATTEMPTS - 1 or error.connection_invalidated or "refused" in str(error):
                raise RotaError(f"The storage {shown} cannot be opened: {error.orig}") from error
            time.sleep(0.05 * (attempt + 1))
    raise AssertionError
