"""What a run cost, in examples that went through the model."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields


@dataclass
class Ledger:
    """Counts of examples, by what was done with them; so that methods are compared at equal cost.

    Args:
        updates: Optimizer steps.
        train: Examples trained on (forward and backward).
        tokens: Those of them whose loss was trained, in tasks of a language model.
        scored: Examples forwarded to make a signal or to pick candidates.
        evaluated: Dev examples forwarded by evaluations during training.
        reported: Dev and test examples forwarded at the end, to say how good the model is.
        dev_trained: Dev examples with a backward pass (αVIL's tuning).
        runs: Whole trainings, inner ones included.

    >>> ledger = Ledger(updates=2, train=64, scored=64)
    >>> ledger.forward_equivalents
    256
    """

    updates: int = 0
    train: int = 0
    tokens: int = 0
    scored: int = 0
    evaluated: int = 0
    reported: int = 0
    dev_trained: int = 0
    runs: int = 1

    BACKWARD = 2
    """A backward pass costs about two forward passes."""

    @property
    def forward_equivalents(self) -> int:
        """What a method costs in forward passes of one example; evaluations, which all methods have, are left out."""
        return (1 + self.BACKWARD) * (self.train + self.dev_trained) + self.scored

    @property
    def all_forwards(self) -> int:
        """What the whole run costs in forward passes of one example."""
        return self.forward_equivalents + self.evaluated + self.reported

    def __add__(self, other: Ledger) -> Ledger:
        return Ledger(**{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)})

    def as_dict(self) -> dict[str, int]:
        return {
            **asdict(self),
            "forward_equivalents": self.forward_equivalents,
            "all_forwards": self.all_forwards,
        }

    @classmethod
    def from_dict(cls, counts: dict[str, int]) -> Ledger:
        return cls(**{f.name: counts[f.name] for f in fields(cls) if f.name in counts})  # older runs count less
