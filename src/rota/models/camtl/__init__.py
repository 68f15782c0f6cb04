"""The task-conditioned transformer of CA-MTL, one file per part."""

from rota.models.camtl._count import bert_outline, conditional_counts, default_counts, released_counts
from rota.models.camtl._embeddings import BEGINNINGS
from rota.models.camtl._encoder import CAMTL, camtl
from rota.models.camtl._parts import Parts, PartsFor, make_parts, parts_for
from rota.models.core import Amount, Counted, count_parameters

__all__ = [
    "BEGINNINGS",
    "CAMTL",
    "Amount",
    "Counted",
    "Parts",
    "PartsFor",
    "bert_outline",
    "camtl",
    "conditional_counts",
    "count_parameters",
    "default_counts",
    "make_parts",
    "parts_for",
    "released_counts",
]
