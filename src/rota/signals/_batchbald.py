"""How uncertain a batch is: what its labels together would say about the parameters (BatchBALD).

Given the parameters labels are independent, so the joint of a batch is p(y) = 1/K Σ_k Π_i p_k(y_i | x_i). All
functions look at it through one table, `P_MK`: its rows are label configurations y of the batch, its entries
p(y, ω = k), and its sum is 1. While the table is small it holds every configuration; otherwise it holds some that were
drawn, each worth 1/M, with the posterior p(ω | y) along its row. The same formulas read both.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.special import entr

from rota.errors import RotaError
from rota.signals._uncertainty import bald, expected_entropy, probabilities

SMALLEST = 2**12  # a table of so many rows is exact however few samples are asked for
BLOCK = 250_000  # numbers in one product: 2 MB, so that they stay in a cache
CHEAP = 50_000  # so many numbers cost hardly more than the call itself
FINALISTS = 8  # looked at first, so that others know what they have to beat
TIE = 1e-12  # rounding alone makes such differences


class BatchBALD(NamedTuple):
    """A batch, in the order in which it was picked.

    Args:
        indices: The rows that were picked.
        scores: The mutual information of the first one, the first two, … and the parameters, in nats.

    >>> p_NKC = torch.tensor([[[0.9, 0.1], [0.1, 0.9]], [[0.5, 0.5], [0.5, 0.5]]])
    >>> batchbald(p_NKC, 1).indices  # the passes disagree about the first row alone
    [0]
    """

    indices: list[int]
    scores: Tensor


def joint_mutual_information(p_NKC: Tensor, samples: int = 10_000, generator: torch.Generator | None = None) -> Tensor:
    """Mutual information of the labels of all N examples together and the parameters, in nats:

        I(y_1, …, y_N; ω) = H(y_1, …, y_N) - Σ_i 1/K Σ_k H[p_k(· | x_i)]

    At least 0, at most log K and at most N log C: with large noise it is soon log K, whatever the examples are.

    It is exact while there are at most `samples` label configurations (or 4,096). Otherwise configurations are drawn,
    equally many from each pass, and the same quantity is read as log K - mean of H(ω | y). Of two such forms this is
    the one with the small error: each term lies between 0 and log K, while those of the joint entropy grow with N.

    Args:
        p_NKC: Probabilities of N examples, K passes, C classes.
        samples: How many label configurations to look at.
        generator: Where chance comes from; by default one with seed 0, so that the same input gives the same number.

    Reference: Kirsch, van Amersfoort and Gal (2019), BatchBALD.

    >>> agree, differ = [[0.5, 0.5], [0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]]
    >>> round(joint_mutual_information(torch.tensor([agree, differ, differ])).item(), 4)  # the third says nothing new
    0.6931
    """
    p = probabilities(p_NKC)
    N, K, C = p.shape
    _expect("samples", samples, 1)
    if _is_small(N, C, samples):
        P_MK = _empty(p)
        for p_KC in p:
            P_MK = _extended(P_MK, p_KC)
    else:
        P_MK = _weighed(_drawn(p, samples, generator or _seeded()))
    found = math.log(K) + entr(P_MK.sum(1)).sum() - entr(P_MK).sum()  # H(ω) + H(y) - H(ω, y)
    return found.clamp(0.0, min(math.log(K), N * math.log(C)))


def batchbald(p_NKC: Tensor, size: int, samples: int = 10_000, generator: torch.Generator | None = None) -> BatchBALD:
    """The batch whose labels together say most about the parameters, picked one by one (Kirsch et al. 2019, alg. 1).

    Each pick is the example that adds most mutual information to those before it; ties go to the lowest index.

    A block of candidates is one matrix product, and most candidates are never looked at: mutual information is
    submodular here, so what a candidate would have added to a smaller batch bounds what it adds now, and one that
    cannot win is left out. The batch is the same as if all were looked at.

    The joint is exact while the labels of the picks so far have at most `samples` configurations (or 4,096), and
    estimated from that many draws afterwards. An estimate above what the last exact look allows is cut to it.

    Args:
        p_NKC: Probabilities of N examples, K passes, C classes.
        size: How many to pick; all of them, if there are fewer.
        samples: How many label configurations to look at.
        generator: Where chance comes from; by default one with seed 0, so that the same input gives the same batch.

    >>> a, b = [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]], [[0.5, 0.5], [0.1, 0.9], [0.9, 0.1]]
    >>> batch = batchbald(torch.tensor([b, a, a]), size=2)  # the same example again adds nothing
    >>> batch.indices, batch.scores.numpy().round(2)
    ([1, 0], array([0.64, 0.88]))
    """
    p = probabilities(p_NKC.detach())
    N, K, C = p.shape
    _expect("size", size, 0)
    _expect("samples", samples, 1)
    if K == 1 or C == 1:  # nothing to learn: all are equal
        return BatchBALD(list(range(min(size, N))), p.new_zeros(min(size, N)))
    generator = generator or _seeded()
    race = _Race(p)
    indices: list[int] = []
    scores: list[float] = []
    for count in range(min(size, N)):
        drawn = None
        if not _is_small(count, C, samples):
            drawn = _Table(_weighed(_drawn(p[indices], samples, generator)))
        elif count:
            race.tables.append(_Table(_extended(race.tables[-1].P_MK, p[indices[-1]])))
        gain_N = race.gains(drawn)
        index = int((gain_N >= gain_N.max() - TIE).nonzero()[0])
        # By the chain rule. A sum of estimates may go beyond what is possible.
        scores.append(min((scores[-1] if scores else 0.0) + float(gain_N[index]), math.log(K)))
        indices.append(index)
        race.bound_N[index] = -math.inf
    return BatchBALD(indices, torch.tensor(scores, dtype=p.dtype, device=p.device))


def released_batchbald(
    p_NKC: Tensor, num_samples: int = 10, num_draw: int = 500, generator: torch.Generator | None = None
) -> Tensor:
    """The numbers that the released code of Fang & Alqatari gives for a mini-batch, whose mean it calls uncertainty.

    It picks like BatchBALD from sampled joint entropies, but reports H(y_1, …, y_n) - 1/K Σ_k H[p_k(· | x_n)]: the
    conditional entropy of the last pick is subtracted and those of the others are not. That is the same to a greedy
    choice, which compares last picks only, but it is no mutual information: it is near the joint entropy of the
    examples before the last one. With two classes its mean over ten picks stays near ln 2 · (0 + 1 + … + 9) / 10 = 3.12
    even where all passes agree. It is here to reproduce the paper; `batchbald` has the mutual information.

    Where this differs from that code: it makes one more step, only to drop its score, and with fewer than `num_samples`
    examples there is a -1000 among the scores; here there are as many scores as examples, then.

    Args:
        p_NKC: Probabilities of N examples (a mini-batch), K passes, C classes.
        num_samples: How many scores.
        num_draw: How many label configurations to draw from each pass.
        generator: Where chance comes from; by default one with seed 0.

    >>> p_NKC = torch.full((12, 4, 2), 0.5)  # nothing to learn: all passes agree
    >>> round(released_batchbald(p_NKC).mean().item(), 1)
    3.1
    """
    p = probabilities(p_NKC.detach())
    N, K, _ = p.shape
    _expect("num_samples", num_samples, 0)
    _expect("num_draw", num_draw, 1)
    generator = generator or _seeded()
    conditional_N = expected_entropy(p)
    score_N = bald(p)
    picked: list[int] = []
    scores: list[Tensor] = []
    for count in range(min(num_samples, N)):
        if count:
            L_MK = _drawn(p[picked], K * num_draw, generator)
            # Their importance sampling, H(history, y) as the mean of -log p(history) and of H(y | history).
            history = math.log(K) - L_MK.logsumexp(1).mean() - math.log(len(L_MK))
            score_N = history + _joint_entropies(_weighed(L_MK), p) - conditional_N
            score_N[picked] = -math.inf
        picked.append(int(score_N.argmax()))
        scores.append(score_N[picked[-1]])
    return torch.stack(scores) if scores else p.new_empty(0)


def _expect(name: str, found: int, least: int) -> None:
    if found < least:
        raise RotaError(f"Expected '{name}' of at least {least}. Found {found}.")


def _seeded() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def _is_small(n: int, C: int, samples: int) -> bool:
    return C**n <= max(samples, SMALLEST)


def _empty(p_NKC: Tensor) -> Tensor:
    """The table of no examples: one configuration, each pass as likely as the others."""
    K = p_NKC.shape[1]
    return p_NKC.new_full((1, K), 1 / K)


def _extended(P_MK: Tensor, p_KC: Tensor) -> Tensor:
    """The table with one more example: each row once per class."""
    return (P_MK[:, None, :] * p_KC.t()).flatten(0, 1)


def _drawn(p_nKC: Tensor, samples: int, generator: torch.Generator) -> Tensor:
    """Label configurations of n examples, equally many from each pass; returns log p_k(y) of each under all passes."""
    n, K, _ = p_nKC.shape
    uniform = torch.rand(n, K, max(1, samples // K), dtype=p_nKC.dtype, generator=generator, device=generator.device)
    # Without the last boundary, which is 1 up to rounding, the largest number falls into the last class.
    inner = p_nKC.cumsum(-1)[..., :-1].contiguous()
    labels_nM = torch.searchsorted(inner, uniform.to(p_nKC.device), right=True).flatten(1)
    log_nCK = p_nKC.clamp_min(torch.finfo(p_nKC.dtype).tiny).log().transpose(1, 2)
    L_MK = p_nKC.new_zeros(labels_nM.shape[1], K)
    for log_CK, labels_M in zip(log_nCK, labels_nM, strict=True):
        L_MK += log_CK[labels_M]
    return L_MK


def _weighed(L_MK: Tensor) -> Tensor:
    """The table of drawn configurations. They come from the joint itself, so each is worth the same."""
    return L_MK.softmax(1) / len(L_MK)


def _joint_entropies(P_MK: Tensor, p_NKC: Tensor) -> Tensor:
    """Entropy of the table's examples together with each of N candidates."""
    N, K, C = p_NKC.shape
    P_KM = P_MK.t()
    found_N = p_NKC.new_empty(N)
    step = max(1, BLOCK // (len(P_MK) * C))
    for start in range(0, N, step):
        p_nCK = p_NKC[start : start + step].transpose(1, 2)
        joint = (p_nCK.reshape(-1, K) @ P_KM).view(len(p_nCK), -1)
        joint.clamp_min_(torch.finfo(joint.dtype).tiny)  # log 0; and it is faster than `entr` on a CPU
        found_N[start : start + step] = -torch.linalg.vecdot(joint, joint.log())
    return found_N


class _Table:
    """A table, and what does not depend on candidates."""

    def __init__(self, P_MK: Tensor) -> None:
        self.P_MK = P_MK
        self.entropy = entr(P_MK.sum(1)).sum()
        self.weight_K = P_MK.sum(0)  # 1/K, if the table is exact

    def added(self, p_NKC: Tensor, H_NK: Tensor) -> Tensor:
        """What each of N candidates adds to the table's examples: I(y; ω | table) = H(y | table) - H(y | table, ω)."""
        # The weights of drawn rows are 1/K on average only, but the same in both terms: so their noise cancels.
        return (_joint_entropies(self.P_MK, p_NKC) - self.entropy - H_NK @ self.weight_K).clamp_min(0.0)


class _Race:
    """Which candidate adds most to the picks so far. None is looked at more closely than it takes to see that it loses.

    What a candidate adds to the first picks bounds what it adds to all of them, and their table is smaller.
    """

    def __init__(self, p_NKC: Tensor) -> None:
        self.p_NKC = p_NKC
        self.H_NK = entr(p_NKC).sum(-1)
        self.tables = [_Table(_empty(p_NKC))]  # exact ones, of the first 0, 1, 2, … picks
        self.bound_N = self.tables[0].added(p_NKC, self.H_NK)  # by the largest exact table each was looked at with
        self.seen_N = torch.zeros(len(p_NKC), dtype=torch.long, device=p_NKC.device)  # the number of that table

    def gains(self, drawn: _Table | None = None) -> Tensor:
        """What candidates add to all picks, by the last exact table or one that was drawn; -∞ for those that lose."""
        last = len(self.tables) - 1
        tables = [*self.tables, drawn] if drawn else self.tables
        costs = [len(table.P_MK) * self.p_NKC.shape[2] for table in tables]
        gain_N = torch.full_like(self.bound_N, -math.inf)
        # Finalists of the step before; for a small table that is everybody.
        freshest_N = self.bound_N + self.seen_N * (1.0 + self.bound_N.max())
        rows = freshest_N.topk(min(len(gain_N), max(FINALISTS, CHEAP // costs[-1]))).indices
        gain_N[rows] = self._probe(rows, last, drawn)
        enough = float(gain_N.max()) - TIE
        for number in range(1, len(tables) - 1):
            if len(gain_N) * costs[number + 1] > CHEAP:  # otherwise the next table will do
                rows = ((self.bound_N >= enough) & (self.seen_N < number)).nonzero()[:, 0]
                if len(rows) * costs[number + 1] > CHEAP:
                    self._probe(rows, number)
        rows = ((self.bound_N >= enough) & gain_N.isinf()).nonzero()[:, 0]
        if len(rows):
            gain_N[rows] = self._probe(rows, last, drawn)
        return gain_N

    def _probe(self, rows: Tensor, number: int, drawn: _Table | None = None) -> Tensor:
        stale = rows[self.seen_N[rows] < number]
        if len(stale):
            found = self.tables[number].added(self.p_NKC[stale], self.H_NK[stale])
            self.bound_N[stale] = torch.minimum(found, self.bound_N[stale])
            self.seen_N[stale] = number
        bound = self.bound_N[rows]
        return torch.minimum(drawn.added(self.p_NKC[rows], self.H_NK[rows]), bound) if drawn else bound
