"""How the updates that are left are shared out."""

from __future__ import annotations

from collections.abc import Mapping


def cut_to(lengths: Mapping[str, int], steps: int) -> dict[str, int]:
    """A number of updates, shared out in the ratio of the lengths, at least one each.

    >>> cut_to({"left": 10, "right": 5}, 15), cut_to({"left": 10, "right": 5}, 16), cut_to({"left": 100, "right": 1}, 3)
    ({'left': 10, 'right': 5}, {'left': 11, 'right': 5}, {'left': 2, 'right': 1})
    """
    cut, end, passed, total = {}, 0, 0, sum(lengths.values())
    for behind, (name, length) in zip(range(len(lengths) - 1, -1, -1), lengths.items(), strict=True):
        start, passed = end, passed + length
        end = max(start + 1, min(round(steps * passed / total), steps - behind))
        cut[name] = end - start
    return cut
