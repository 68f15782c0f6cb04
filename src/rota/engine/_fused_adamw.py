"""An update by AdamW of several members in one kernel, in Triton: where it is not there, it is never called."""

from __future__ import annotations

from typing import Any

try:
    import triton
    import triton.language as tl
except ImportError:  # a CPU
    triton = tl = None

jit: Any = (lambda kernel: kernel) if triton is None else triton.jit


@jit
def adamw(
    weights,
    gradients,
    first,
    second,
    rates,
    divisors,
    idle,
    corrections,
    size,
    border,
    decay,
    decay_beyond,
    beta1,
    beta2,
    eps,
    BLOCK: tl.constexpr,
):
    """Some numbers of one seat: those from `border` on decay otherwise."""
    seat = tl.program_id(1)
    if tl.load(idle + seat) == 0.0:
        column = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        inside = column < size
        at = seat.to(tl.int64) * size + column
        rate = tl.load(rates + seat)
        own = tl.load(weights + at, mask=inside, other=0.0)
        g = tl.load(gradients + at, mask=inside, other=0.0).to(tl.float32) / tl.load(divisors + seat)
        m = tl.load(first + at, mask=inside, other=0.0)
        v = tl.load(second + at, mask=inside, other=0.0)
        m = m + (g - m) * (1.0 - beta1)
        v = v * beta2 + g * g * (1.0 - beta2)
        step = rate / tl.load(corrections + 2 * seat)
        shrunk = own * (1.0 - rate * tl.where(column < border, decay, decay_beyond))
        own = shrunk - step * m / (tl.sqrt(v) / tl.load(corrections + 2 * seat + 1) + eps)
        tl.store(weights + at, own, mask=inside)
        tl.store(first + at, m, mask=inside)
        tl.store(second + at, v, mask=inside)
