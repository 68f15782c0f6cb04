"""What would other mixtures score, and how much is there to win?"""

from rota.surfaces._best_shares import ShareLimits, best_shares
from rota.surfaces._design import designed_mixtures, plain_mixtures
from rota.surfaces._find_headroom import ENOUGH, Gain, Headroom, find_headroom
from rota.surfaces._held_out import HeldOut, held_out, rank_correlation
from rota.surfaces._surface import Surface, fit_surface
from rota.surfaces._swarm import METRICS, RATIOS, Swarm, read_swarm, write_swarm

__all__ = [
    "ENOUGH",
    "METRICS",
    "RATIOS",
    "Gain",
    "Headroom",
    "HeldOut",
    "ShareLimits",
    "Surface",
    "Swarm",
    "best_shares",
    "designed_mixtures",
    "find_headroom",
    "fit_surface",
    "held_out",
    "plain_mixtures",
    "rank_correlation",
    "read_swarm",
    "write_swarm",
]
