"""Arrays of numbers, by what is in them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]
"""Numbers of rows."""
