"""Files of tensors: those that safetensors writes, without a copy of all of them."""

from __future__ import annotations

import hashlib
import tracemalloc

import pytest
import safetensors.torch
import torch

from rota.errors import RotaError
from rota.training import Checkpoints
from rota.training._tensor_file import tensor_pieces, write_pieces


def test_a_file_of_tensors_is_that_of_safetensors(tmp_path):
    """Whatever is in it; but it is written one tensor after the other."""
    generator = torch.Generator().manual_seed(0)
    numbers = torch.randn(3, 5, generator=generator)
    tensors = {
        "a.weight": numbers,
        "tied": numbers,
        "turned": numbers.t(),
        "one": torch.tensor(3.5, dtype=torch.float64),
        "none": torch.zeros(0, 4),
        "half": numbers.bfloat16(),
        "quarter": numbers.to(torch.float8_e4m3fn),
        "eighth": numbers.to(torch.float8_e5m2),
        "ä": torch.arange(3, dtype=torch.int16),
        "flags": numbers > 0,
        "ids": torch.arange(7),
        "low": torch.arange(5, dtype=torch.int8),
        "bytes": torch.arange(9, dtype=torch.uint8),
        "f16": numbers.half(),
        "i32": torch.arange(2, dtype=torch.int32),
    }
    expected = safetensors.torch.save({name: own.clone().contiguous() for name, own in tensors.items()})
    digest = write_pieces(tmp_path / "file", tensor_pieces(tensors))
    assert (tmp_path / "file").read_bytes() == expected
    assert digest == hashlib.sha256(expected).hexdigest()
    with pytest.raises(RotaError, match=r"tensors of plain numbers\. Found wave of torch\.complex64"):
        next(tensor_pieces({"wave": torch.zeros(2, dtype=torch.complex64)}))


def test_a_checkpoint_is_never_in_memory_a_second_time(tmp_path):
    """Of sixteen tensors of a megabyte, one at a time is copied."""
    tensors = {f"w{number}": torch.zeros(2**18) for number in range(16)}
    tracemalloc.start()
    Checkpoints(tmp_path, "run").save_best(1, tensors)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20
