"""What captures where there is no GPU: work is done again, and the memory of results is as short as a real graph's."""

from __future__ import annotations

import torch


class Rerun:
    """Stands for CUDA graphs with one pool of memory: work does not run while it is captured, its results always are
    in the same places, and those of other work are gone (here: NaN) once it has run."""

    def __init__(self, device):
        self.results = []
        self.fails_at = {}  # number of a capture: the error that it ends with

    def capture(self, work, rehearsal):
        number = len(self.results)
        self.results.append([])
        rehearsal()
        if number in self.fails_at:
            raise self.fails_at[number]
        kept = None

        def replay():
            nonlocal kept
            found = work()
            if kept is None:
                kept = found
                self.results[number] = leaves(kept)
            for place, tensor in zip(leaves(kept), leaves(found), strict=True):
                place.copy_(tensor)
            for other in range(len(self.results)):
                if other != number:
                    for place in self.results[other]:
                        place.fill_(torch.nan if place.is_floating_point() else -1)
            return kept

        return replay


def leaves(found):
    tensors = [] if found is None else [found]
    if isinstance(found, dict | tuple):
        tensors = found.values() if isinstance(found, dict) else found
    return [tensor.detach() for tensor in tensors]
