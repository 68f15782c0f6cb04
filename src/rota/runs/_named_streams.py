"""The stream that a recipe names in plain JSON."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from rota.errors import unknown_name
from rota.streams import JointRounds, JointStream, MixedStream, MTUncertainty, PoolStream, Selector, Streams, TaskStream
from rota.trials import DIW, AlphaSettings, AlphaVIL, RoundStream

STREAMS: dict[str, Streams] = {
    "task": TaskStream,
    "joint": JointStream,
    "joint-rounds": JointRounds,
    "mixed": MixedStream,
    "pool": PoolStream,
    "rounds": RoundStream,
}
SELECTORS: dict[str, Callable[..., Selector]] = {MTUncertainty.name: MTUncertainty}
TRIALS = {AlphaVIL.name: AlphaVIL, DIW.name: DIW}


def stream_from(described: str | Mapping[str, Any]) -> Streams:
    """What makes the stream, with the options that stand beside its name."""
    options: dict[str, Any] = {"stream": described} if isinstance(described, str) else dict(described)
    make = _named("stream", STREAMS, options.pop("stream", None))
    if "select" in options:
        picked = dict(options["select"])
        options["select"] = _named("selector", SELECTORS, picked.pop("name", None))(**picked)
    if "trial" in options:  # in rounds all options are the trial's
        trial = _named("trial", TRIALS, options.pop("trial"))
        if "alpha" in options:
            options["alpha"] = AlphaSettings(**options["alpha"])
        options = {"trial": functools.partial(trial, **options)}
    return functools.partial(make, **options)


def _named(what: str, known: Mapping[str, Any], name: Any) -> Any:
    if name not in known:
        raise unknown_name(what, str(name), known)
    return known[name]
