"""Tensors in a safetensors file, written one after the other: there is never a second copy of all of them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from rota.engine import gathered
from rota.errors import RotaError

TYPES = {
    torch.bool: "BOOL",
    torch.uint8: "U8",
    torch.int8: "I8",
    torch.float8_e5m2: "F8_E5M2",
    torch.float8_e4m3fn: "F8_E4M3",
    torch.int16: "I16",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int32: "I32",
    torch.float32: "F32",
    torch.float64: "F64",
    torch.int64: "I64",
}
"""Their names in a file, in which the last of these come first: then each begins where its numbers may stand."""
RANKS = {dtype: rank for rank, dtype in enumerate(TYPES)}


def tensor_pieces(tensors: Mapping[str, Tensor]) -> Iterator[Any]:
    """The bytes of a safetensors file, in pieces: its header, then one tensor after the other, as `safetensors` writes
    them. A tensor that is sharded over processes is gathered for its piece: then all of them ask for the same pieces.

    >>> header, weight = tensor_pieces({"weight": torch.ones(2)})
    >>> bytes(header[8:]).strip(), bytes(weight).hex()
    (b'{"weight":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}', '0000803f0000803f')
    """
    unknown = sorted(name for name, own in tensors.items() if own.dtype not in TYPES)
    if unknown:
        raise RotaError(
            f"A checkpoint expects tensors of plain numbers. Found {unknown[0]} of {tensors[unknown[0]].dtype}."
        )
    names = sorted(tensors, key=lambda name: (-RANKS[tensors[name].dtype], name))
    header, place = {}, 0
    for name in names:
        own = tensors[name]
        end = place + own.numel() * own.element_size()
        header[name] = {"dtype": TYPES[own.dtype], "shape": list(own.shape), "data_offsets": [place, end]}
        place = end
    told = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    told += b" " * (-len(told) % 8)
    yield len(told).to_bytes(8, "little") + told
    for name in names:
        whole = gathered(tensors[name].detach()).cpu().contiguous()
        numbers: Any = whole.reshape(-1).view(torch.uint8).numpy()
        yield memoryview(numbers)


def write_pieces(path: Path, pieces: Iterable[Any]) -> str:
    """Write a new file, and be sure that the disk has it; return its hash."""
    digest = hashlib.sha256()
    with path.open("wb") as file:
        for piece in pieces:
            file.write(piece)
            digest.update(piece)
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest()


def hash_of(path: Path) -> str:
    """That of a file which is there."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
