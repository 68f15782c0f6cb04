"""The task-conditioned transformer of CA-MTL, one file per part."""

from rota.models.camtl._count import bert_outline, default_counts, released_counts
from rota.models.camtl._embeddings import BEGINNINGS
from rota.models.camtl._encoder import CAMTL, camtl
from rota.models.camtl._parts import Parts, make_parts
from rota.models.core import Amount, Counted, count_parameters

__all__ = [
    "BEGINNINGS",
    "CAMTL",
    "Amount",
    "Counted",
    "Parts",
    "bert_outline",
    "camtl",
    "count_parameters",
    "default_counts",
    "make_parts",
    "released_counts",
]
