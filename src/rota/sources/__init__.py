"""Sources of feedback for a policy: after each step, at evaluations, after rounds, or at intervals.

A source describes what is measured; in a run it becomes a feed, which has a memory. `rota.fit` takes the usual source
of each word that a policy hears (`Policy.hears`), unless `listen` names others.
"""

from rota.sources._dev_scores import DevScores
from rota.sources._each_step import EachStep
from rota.sources._gradients import Gradients
from rota.sources._intervals import MEASUREMENTS
from rota.sources._listen import USUAL, Listen, source_from, sources_for, usual_sources
from rota.sources._mixture_file import MixtureFile
from rota.sources._round_success import RoundSuccess
from rota.sources._source import Feed, Moment, Said, Source
from rota.sources._survey import ScoreName, Survey

__all__ = [
    "MEASUREMENTS",
    "USUAL",
    "DevScores",
    "EachStep",
    "Feed",
    "Gradients",
    "Listen",
    "MixtureFile",
    "Moment",
    "RoundSuccess",
    "Said",
    "ScoreName",
    "Source",
    "Survey",
    "source_from",
    "sources_for",
    "usual_sources",
]
