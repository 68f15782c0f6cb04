"""What tests of texts share."""

from __future__ import annotations

import contextlib
import gzip
import json

import numpy as np
import pytest

from rota.data import Reading
from rota.errors import RotaError


def tsv(*rows):
    return "".join("\t".join(map(str, row)) + "\n" for row in rows)


def jsonl(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def write(folder, files):
    """Write texts or bytes into files; gzipped where their names end in .gz."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        content = content if isinstance(content, bytes) else content.encode()
        path.write_bytes(gzip.compress(content, mtime=0) if name.endswith(".gz") else content)
    return folder


def reading_in(folder, encoder, **options):
    """Reads from `folder / "data"` and keeps its arrays in `folder / "cache"`."""
    (folder / "data").mkdir(exist_ok=True)
    return Reading(data=folder / "data", encoder=str(encoder), cache=folder / "cache", **options)


def whole_batch(rows):
    return rows.batch(np.arange(len(rows)))


def squeezed(text):
    """A text as it can be read from its tokens: without spaces and capitals."""
    return "".join(text.lower().split())


def halves(rows, tokenizer):
    """The first and the second text of each row (a list of them where there are choices), squeezed."""
    inputs = whole_batch(rows).inputs
    tokens, types, mask = (inputs[name].flatten(0, -2) for name in ("tokens", "types", "mask"))
    found = []
    for own, kind, real in zip(tokens, types, mask, strict=True):
        texts = [tokenizer.fast.decode(own[real & (kind == k)], skip_special_tokens=True) for k in (0, 1)]
        found.append(tuple(map(squeezed, texts)))
    shape = inputs["tokens"].shape
    return found if len(shape) == 2 else [found[k : k + shape[1]] for k in range(0, len(found), shape[1])]


def tokens_between(rows, tokenizer, row, start, end):
    """The text of some tokens of a row, both ends inside."""
    return squeezed(tokenizer.fast.decode(rows.batch(np.array([row])).inputs["tokens"][0, start : end + 1]))


@contextlib.contextmanager
def assert_refuses(*parts):
    """One sentence that has all these parts."""
    with pytest.raises(RotaError) as caught:
        yield
    said = str(caught.value)
    assert "\n" not in said
    for part in parts:
        assert str(part) in said, said
