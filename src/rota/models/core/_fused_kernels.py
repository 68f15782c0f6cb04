"""Kernels of text encoders for a GPU, in Triton: where it is not there, they are never called.

A token is a row of a line [S·T, …]; weights are those of its member, at a stride of their own. What dropout keeps is
worked out where it is needed, from the seed and the place, as `Dropping` says.
"""

from __future__ import annotations

from typing import Any

try:
    import triton
    import triton.language as tl
except ImportError:  # a CPU
    triton = tl = None

THERE = triton is not None
jit: Any = (lambda kernel: kernel) if triton is None else triton.jit


@jit
def keeps(seed, place, threshold):
    found = place.to(tl.uint32) * 0x9E3779B9 + seed
    found = (found ^ (found >> 16)) * 0x85EBCA6B
    found = (found ^ (found >> 13)) * 0xC2B2AE35
    found = found ^ (found >> 16)
    return (found >> 8).to(tl.int32) >= threshold


@jit
def norm_forward(
    values,
    added,
    weight,
    bias,
    seeds,
    rows,
    offsets,
    out,
    normal,
    deviation,
    tokens,
    size,
    weight_stride,
    bias_stride,
    eps,
    threshold,
    grown,
    ADDS: tl.constexpr,
    DROPS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """The norm of values + dropout(added); or dropout(norm of values)."""
    token = tl.program_id(0)
    member = token // tokens
    column = tl.arange(0, BLOCK)
    inside = column < size
    at = token.to(tl.int64) * size + column
    total = tl.load(values + at, mask=inside, other=0.0).to(tl.float32)
    if DROPS:
        seed = tl.load(seeds + member).to(tl.uint32)
        place = (tl.load(rows + token).to(tl.int32) * 512 + tl.load(offsets + token).to(tl.int32)) * size + column
        kept = keeps(seed, place, threshold)
    if ADDS:
        more = tl.load(added + at, mask=inside, other=0.0).to(tl.float32)
        if DROPS:
            more = tl.where(kept, more * grown, 0.0)
        total += more
    mean = tl.sum(total, axis=0) / size
    centred = tl.where(inside, total - mean, 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(centred * centred, axis=0) / size + eps)
    own = centred * scale
    w = tl.load(weight + member.to(tl.int64) * weight_stride + column, mask=inside, other=0.0).to(tl.float32)
    b = tl.load(bias + member.to(tl.int64) * bias_stride + column, mask=inside, other=0.0).to(tl.float32)
    found = own * w + b
    if DROPS and not ADDS:
        found = tl.where(kept, found * grown, 0.0)
    tl.store(normal + at, own.to(normal.dtype.element_ty), mask=inside)
    tl.store(out + at, found.to(out.dtype.element_ty), mask=inside)
    tl.store(deviation + token, scale)


@jit
def norm_backward(
    gradient,
    weight,
    seeds,
    rows,
    offsets,
    normal,
    deviation,
    of_values,
    of_added,
    of_weight,
    of_bias,
    tokens,
    size,
    weight_stride,
    threshold,
    grown,
    ADDS: tl.constexpr,
    DROPS: tl.constexpr,
    BLOCK: tl.constexpr,
    LINES: tl.constexpr,
):
    """Gradients of `norm_forward`; those of weight and bias as sums over a few tokens each."""
    part = tl.program_id(0)
    first = part * LINES
    member = first // tokens
    column = tl.arange(0, BLOCK)
    inside = column < size
    w = tl.load(weight + member.to(tl.int64) * weight_stride + column, mask=inside, other=0.0).to(tl.float32)
    sum_weight = tl.zeros([BLOCK], dtype=tl.float32)
    sum_bias = tl.zeros([BLOCK], dtype=tl.float32)
    if DROPS:
        seed = tl.load(seeds + member).to(tl.uint32)
    for line in range(LINES):
        token = first + line
        at = token.to(tl.int64) * size + column
        g = tl.load(gradient + at, mask=inside, other=0.0).to(tl.float32)
        if DROPS:
            place = (tl.load(rows + token).to(tl.int32) * 512 + tl.load(offsets + token).to(tl.int32)) * size + column
            kept = keeps(seed, place, threshold)
            if not ADDS:
                g = tl.where(kept, g * grown, 0.0)
        own = tl.load(normal + at, mask=inside, other=0.0).to(tl.float32)
        sum_weight += g * own
        sum_bias += g
        inner = g * w
        mean = tl.sum(inner, axis=0) / size
        slope = tl.sum(inner * own, axis=0) / size
        found = (inner - mean - own * slope) * tl.load(deviation + token)
        tl.store(of_values + at, found.to(of_values.dtype.element_ty), mask=inside)
        if ADDS and DROPS:
            dropped = tl.where(kept, found * grown, 0.0)
            tl.store(of_added + at, dropped.to(of_added.dtype.element_ty), mask=inside)
    at = part.to(tl.int64) * size + column
    tl.store(of_weight + at, sum_weight, mask=inside)
    tl.store(of_bias + at, sum_bias, mask=inside)


@jit
def attention_forward(
    packed,
    out,
    starts,
    lengths,
    seeds,
    tokens,
    rows,
    heads,
    scale,
    threshold,
    grown,
    SHORTER: tl.constexpr,
    LONGEST: tl.constexpr,
    EACH: tl.constexpr,
    DROPS: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """One head of one row, if it has more than SHORTER and at most LONGEST tokens."""
    row = tl.program_id(0)
    head = tl.program_id(1)
    length = tl.load(lengths + row).to(tl.int32)
    if (length > SHORTER) & (length <= LONGEST):
        member = row // rows
        first = (member * tokens + tl.load(starts + row).to(tl.int32)).to(tl.int64)
        place = tl.arange(0, LONGEST)
        lane = tl.arange(0, EACH)
        real = place < length
        width = heads * EACH
        at = (first + place)[:, None] * (3 * width) + head * EACH + lane[None, :]
        q = tl.load(packed + at, mask=real[:, None], other=0.0)
        k = tl.load(packed + at + width, mask=real[:, None], other=0.0)
        v = tl.load(packed + at + 2 * width, mask=real[:, None], other=0.0)
        scores = tl.dot(q, tl.trans(k), input_precision=PRECISION) * scale
        scores = tl.where(real[None, :], scores, -1.0e9)
        weights = tl.exp(scores - tl.max(scores, axis=1)[:, None])
        weights = weights / tl.sum(weights, axis=1)[:, None]
        if DROPS:
            seed = tl.load(seeds + member).to(tl.uint32)
            number = (((row % rows) * heads + head) * 512 + place[:, None]) * 512 + place[None, :]
            weights = tl.where(keeps(seed, number, threshold), weights * grown, 0.0)
        found = tl.dot(weights.to(v.dtype), v, input_precision=PRECISION)
        to = (first + place)[:, None] * width + head * EACH + lane[None, :]
        tl.store(out + to, found.to(out.dtype.element_ty), mask=real[:, None])


@jit
def attention_backward(
    packed,
    gradient,
    found,
    starts,
    lengths,
    seeds,
    tokens,
    rows,
    heads,
    scale,
    threshold,
    grown,
    SHORTER: tl.constexpr,
    LONGEST: tl.constexpr,
    EACH: tl.constexpr,
    DROPS: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """The gradient of `attention_forward`, whose weights are worked out again."""
    row = tl.program_id(0)
    head = tl.program_id(1)
    length = tl.load(lengths + row).to(tl.int32)
    if (length > SHORTER) & (length <= LONGEST):
        member = row // rows
        first = (member * tokens + tl.load(starts + row).to(tl.int32)).to(tl.int64)
        place = tl.arange(0, LONGEST)
        lane = tl.arange(0, EACH)
        real = place < length
        width = heads * EACH
        at = (first + place)[:, None] * (3 * width) + head * EACH + lane[None, :]
        to = (first + place)[:, None] * width + head * EACH + lane[None, :]
        q = tl.load(packed + at, mask=real[:, None], other=0.0)
        k = tl.load(packed + at + width, mask=real[:, None], other=0.0)
        v = tl.load(packed + at + 2 * width, mask=real[:, None], other=0.0)
        g = tl.load(gradient + to, mask=real[:, None], other=0.0)
        scores = tl.dot(q, tl.trans(k), input_precision=PRECISION) * scale
        scores = tl.where(real[None, :], scores, -1.0e9)
        weights = tl.exp(scores - tl.max(scores, axis=1)[:, None])
        weights = weights / tl.sum(weights, axis=1)[:, None]
        asked = tl.dot(g, tl.trans(v), input_precision=PRECISION)
        if DROPS:
            seed = tl.load(seeds + member).to(tl.uint32)
            number = (((row % rows) * heads + head) * 512 + place[:, None]) * 512 + place[None, :]
            kept = keeps(seed, number, threshold)
            asked = tl.where(kept, asked * grown, 0.0)
            mixed = tl.where(kept, weights * grown, 0.0).to(g.dtype)
        else:
            mixed = weights.to(g.dtype)
        of_values = tl.dot(tl.trans(mixed), g, input_precision=PRECISION)
        tl.store(found + at + 2 * width, of_values.to(found.dtype.element_ty), mask=real[:, None])
        slopes = weights * (asked - tl.sum(asked * weights, axis=1)[:, None]) * scale
        slopes = slopes.to(q.dtype)
        of_queries = tl.dot(slopes, k, input_precision=PRECISION)
        tl.store(found + at, of_queries.to(found.dtype.element_ty), mask=real[:, None])
        of_keys = tl.dot(tl.trans(slopes), q, input_precision=PRECISION)
        tl.store(found + at + width, of_keys.to(found.dtype.element_ty), mask=real[:, None])
