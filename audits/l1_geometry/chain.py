"""The chain behind Lemma 4.4: composition within a subtree, then shuffling over the subtrees of a depth."""

from __future__ import annotations

import math

from dpcheck.accounting import advanced_composition, shuffle_epsilon, shuffle_limit

MOST = 32.0
"""Times epsilon: a chain that costs more at some T would be news, as would one that keeps growing."""


def chain(n: float, delta: float, T: int, epsilon: float) -> float:
    """epsilon of Lemma 4.4's chain, with the true sensitivities: Lemma 2.2 a subtree, then shuffling."""
    worst = 0.0
    log_nd = math.log(n / delta)
    for t, j in [(depth, node) for depth in range(1, T + 1) for node in range(depth + 1)]:
        leaf = (2 if j == 0 else 4) * 2 ** (j - T / 2) * epsilon / log_nd
        count, p = 2 ** (t - j), max(1, 2 ** (j - 1))
        local = min(count * leaf, advanced_composition(leaf, 0.0, count, delta / n)[0])
        worst = max(worst, shuffle_epsilon(local, p, delta) if local <= shuffle_limit(p, delta) else local)
    return worst


def smallest_size(T: int) -> float:
    """The least n, to 1 %, with 2^T <= n/log2(n)^2."""
    n = 2.0**T
    while n / math.log2(n) ** 2 < 2**T:
        n *= 1.01
    return n
