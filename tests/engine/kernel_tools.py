"""Runs kernels that are written for a GPU in Python, one program after the other: what they would read and write."""

from __future__ import annotations

import itertools

import torch

from rota.models import mixed
from rota.models.core._seeded_dropout import BITS, SPREAD


class Place:
    """A pointer into a tensor."""

    def __init__(self, tensor, at=0):
        self.flat, self.at = tensor.as_strided((tensor.untyped_storage().nbytes() // tensor.itemsize,), (1,), 0), at
        self.first = tensor.storage_offset()
        self.dtype = self
        self.element_ty = tensor.dtype

    def __add__(self, more):
        found = object.__new__(Place)
        found.__dict__.update(self.__dict__)
        found.dtype, found.at = found, self.at + more
        return found


class Language:
    """Of the language of kernels, what ours use."""

    float32, int32, int64, uint32 = torch.float32, torch.int64, torch.int64, torch.int64
    constexpr = object
    exp, sqrt, where = staticmethod(torch.exp), staticmethod(torch.sqrt), staticmethod(torch.where)
    program = ()

    def program_id(self, axis):
        return torch.tensor(self.program[axis])

    def arange(self, start, end):
        return torch.arange(start, end)

    def zeros(self, shape, dtype):
        return torch.zeros(shape, dtype=dtype)

    def sum(self, values, axis):
        return values.sum(axis)

    def max(self, values, axis):
        return values.amax(axis)

    def trans(self, values):
        return values.T

    def dot(self, one, other, input_precision):
        assert min(*one.shape, *other.shape) >= 16, "products are of 16 numbers and more"
        return one.float() @ other.float()

    def load(self, place, mask=None, other=None):
        at = torch.as_tensor(place.at)
        if mask is None:
            return place.flat[place.first + at]
        mask, at = torch.broadcast_tensors(mask, at)
        return torch.where(mask, place.flat[place.first + torch.where(mask, at, 0)], other)

    def store(self, place, values, mask=None):
        at, values = torch.broadcast_tensors(torch.as_tensor(place.at), torch.as_tensor(values))
        chosen = torch.ones_like(at, dtype=torch.bool) if mask is None else mask.expand_as(at)
        place.flat[place.first + at[chosen]] = values[chosen]


class Launched:
    """A kernel, `kernel[grid](…)`."""

    def __init__(self, kernel, language):
        self.kernel, self.language = getattr(kernel, "fn", kernel), language

    def __getitem__(self, grid):
        def launch(*arguments, num_warps=4, **options):
            own = [Place(value) if isinstance(value, torch.Tensor) else value for value in arguments]
            for program in itertools.product(*map(range, grid)):
                self.language.program = program
                self.kernel(*own, **options)

        return launch


def keeps(seed, place, threshold):
    return (mixed(place * SPREAD + seed) >> (32 - BITS)) >= threshold


def run_in_python(monkeypatch, module, names):
    """Kernels of a module run in Python."""
    language = Language()
    monkeypatch.setattr(module, "tl", language)
    for name in names:
        monkeypatch.setattr(module, name, Launched(getattr(module, name), language))
    if hasattr(module, "keeps"):
        monkeypatch.setattr(module, "keeps", keeps)
