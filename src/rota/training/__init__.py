"""Train and evaluate: the loop, and what it needs."""

from rota.training._evaluate import evaluate
from rota.training._fit import fit
from rota.training._recorder import NotANumberError

__all__ = ["NotANumberError", "evaluate", "fit"]
