"""The sources of feedback in a run: the usual ones of what a policy hears, or those named in `listen`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rota.errors import RotaError, unknown_name
from rota.policies import Policy
from rota.settings import Settings
from rota.sources._dev_scores import DevScores
from rota.sources._each_step import NAMED, EachStep
from rota.sources._gradients import VARIANCE, Gradients
from rota.sources._mixture_file import MixtureFile
from rota.sources._round_success import RoundSuccess
from rota.sources._source import Source
from rota.sources._survey import Survey

Listen = Source | str | Callable[[Any], Any]
"""A source; the name of a function in `rota.signals`; or one of your own, which turns the `View` of a step into a
tensor."""

USUAL: dict[str, Source] = {
    "loss": EachStep("training_loss"),
    "gain": EachStep("visit_gain"),
    "uncertainty": Survey(),
    "score": DevScores(),
    "success": RoundSuccess(),
    "gradient": Gradients(),
    VARIANCE: Gradients(),
}
"""Who tells a policy what, where nobody says otherwise. The gain is the one that costs no forward pass."""

SOURCES: dict[str, Callable[..., Source]] = {
    source.name: source for source in (EachStep, DevScores, MixtureFile, Survey, RoundSuccess, Gradients)
}


def sources_for(policy: Policy, listen: Listen | Iterable[Listen] | None, settings: Settings) -> list[Source]:
    """The sources of a run, with nothing left open; refuse a policy that would not hear what it learns from.

    Args:
        policy: Says what it hears.
        listen: One or several; None: the usual source of each word that the policy hears; an empty list: no feedback.
        settings: Of the run.

    >>> from rota.policies import Exp3S, Auto
    >>> [source.says for source in sources_for(Exp3S(["rte", "mrpc"]), None, Settings(steps=100))]
    ['gain']
    >>> [source.says for source in sources_for(Auto(["rte", "mrpc"]), "training_loss", Settings(steps=100))]
    ['loss']
    """
    name, words = type(policy).__name__, policy.hears
    if listen is None:
        found = usual_sources(policy)
    else:
        several = [listen] if isinstance(listen, Source | str) or callable(listen) else list(listen)
        found = [_as_source(one, policy) for one in several]
        all_said = [said for source in found for said in source.words]
        unheard = [word for word in words or () if word not in all_said]
        if found and unheard:
            raise RotaError(
                f"{name} hears {' and '.join(words or ())}. Found nobody in `listen` who says '{unheard[0]}', but "
                f"{', '.join(all_said)}. Add a source for it, or leave `listen` out for the "
                f"usual ones; listen=() turns feedback off."
            )
    _refuse_two_alike(found)
    return [source.for_run(policy, settings) for source in found]


def usual_sources(policy: Policy) -> list[Source]:
    """The usual source of each word that a policy hears.

    >>> from rota.policies import Tracking
    >>> [source.name for source in usual_sources(Tracking(["rte", "mrpc"]))]
    ['survey']
    """
    name, words = type(policy).__name__, policy.hears
    if words is None:
        raise RotaError(
            f"{name} learns and does not say from what. Declare it in the class, such as hears = ('loss',), or "
            f"name its source: fit(…, listen=…)."
        )
    for word in words:
        if word not in USUAL:
            raise RotaError(
                f"{name} hears '{word}', for which there is no usual source (there is one for {', '.join(USUAL)}). "
                f"Name one: fit(…, listen=…)."
            )
    return list(dict.fromkeys(USUAL[word] for word in words))  # one may say several


def source_from(described: str | Mapping[str, Any]) -> Source:
    """A source from the name of a function in `rota.signals`, or from what `describe` returned.

    >>> source_from("prediction_gain").says, source_from({"source": "survey", "every": 50}).every
    ('gain', 50)
    """
    if isinstance(described, str):
        return EachStep(described)
    options = dict(described)
    name = options.pop("source", None)
    if name not in SOURCES:
        raise unknown_name("source", str(name), SOURCES)
    return SOURCES[name](**options)


def _as_source(one: Any, policy: Policy) -> Source:
    if isinstance(one, Source):
        return one
    if isinstance(one, Mapping | str):
        return source_from(one)
    if not callable(one):
        raise RotaError(f"`listen` expects sources or functions of a View. Found {one!r}.")
    only = policy.hears[0] if policy.hears and len(policy.hears) == 1 else ""
    return EachStep(one, "" if getattr(one, "__name__", "") in NAMED else only)


def _refuse_two_alike(sources: Sequence[Source]) -> None:
    """The log has one value per step, and a policy would not know which of two values of one word to believe."""
    steps = [source.name for source in sources if source.each_step]
    if len(steps) > 1:
        raise RotaError(f"Expected one source that speaks after every step. Found {len(steps)}: {', '.join(steps)}.")
    words = [said for source in sources for said in source.words]
    twice = [word for word in words if words.count(word) > 1]
    if twice:
        raise RotaError(f"Expected one source for each word. Found {words.count(twice[0])} that say '{twice[0]}'.")
