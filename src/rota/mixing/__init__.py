"""Batches from several data sets, drawn by a policy, for any loop or trainer."""

from rota.mixing._joined import BatchRows, JoinedDataset, join, rows_by
from rota.mixing._mix import Mix
from rota.mixing._open_decisions import MixBatch

__all__ = ["BatchRows", "JoinedDataset", "Mix", "MixBatch", "join", "rows_by"]
