"""Optuna, imported late and kept quiet."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from types import ModuleType

from rota.errors import missing_package


def load_optuna() -> ModuleType:
    """The package, or one sentence that says how to get it.

    >>> load_optuna().__name__
    'optuna'
    """
    try:
        import optuna
    except ImportError as error:
        raise missing_package("A search for ratios", "optuna", "search") from error
    return optuna


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Optuna writes a line per trial to the terminal; the search has a callback for that."""
    import optuna

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)


@contextlib.contextmanager
def known_experiment() -> Iterator[None]:
    """Heartbeats have been called experimental since 2021; only that one warning is silenced, and only here."""
    import optuna

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        yield
