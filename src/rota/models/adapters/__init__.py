"""Parts that each task has for itself in a shared transformer, one file per paper."""

from rota.models.adapters._adapted import Adapted, adapted_counts
from rota.models.adapters._adapter import Adapter
from rota.models.adapters._asked import ADAPTERS, make_adapter, with_options
from rota.models.adapters._houlsby import Houlsby
from rota.models.adapters._lora import LoRA
from rota.models.adapters._pals import PALs

__all__ = [
    "ADAPTERS",
    "Adapted",
    "Adapter",
    "Houlsby",
    "LoRA",
    "PALs",
    "adapted_counts",
    "make_adapter",
    "with_options",
]
