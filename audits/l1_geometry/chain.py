"""The chain behind Lemma 4.4: composition within a subtree, then shuffling over the subtrees of a depth."""

from __future__ import annotations

import math
from functools import partial

from dpcheck.accounting import advanced_composition, shuffle_epsilon, shuffle_limit
from dpcheck.algorithms.l1_geometry import TreeFrankWolfe
from dpcheck.algorithms.l1_geometry.frank_wolfe import record_count
from dpcheck.claims import Claim
from dpcheck.engine.catalogue import claim
from dpcheck.harness.outside import excluded, must_exclude
from dpcheck.harness.plans import planned
from dpcheck.privacy import ApproxDP
from dpcheck.verdicts import Verdict, combine, differs

from .cases import LASSO, problem

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


def over_the_stated(T: int, epsilon: float) -> float:
    """What the chain costs over what Lemma 4.4 states, without its constant, at the least n that admits T."""
    n = smallest_size(T)
    at = {"n": n, "b": n / math.log2(n) ** 2, "T": T, "delta": n**-1.5, "epsilon": epsilon}
    return chain(n, n**-1.5, T, epsilon) / float(claim("l1_geometry/lem-4-4").evaluate(**at))


def ends_of_the_chain(stated: Claim) -> Verdict:
    """Whether a claim excludes trees that have no plan, and a budget at which the chain costs far more than epsilon."""
    T, b = 3, 16
    n, tree = record_count(b, T), partial(TreeFrankWolfe, T=T, noise="approximate")
    inside = {"T": T, "b": b, "delta": 1 / n, "epsilon": 0.1}

    def refused(privacy: ApproxDP, batch: int) -> bool:
        return not planned(tree(batch=batch), problem(LASSO, privacy), n)

    if (outside := excluded(stated, {**inside, "n": n})) or refused(ApproxDP(0.1, 1 / n), b):
        return differs(f"at {inside} there is a plan, and {outside or 'not'} is assumed")
    size = smallest_size(24)
    cost = chain(size, size**-1.5, 24, 1.0)
    deep = {"T": 24, "b": 2**24, "delta": size**-1.5, "n": size, "epsilon": 1}
    few, likely = {**inside, "n": n, "b": 4}, {**inside, "n": n, "delta": 1.1 / n}
    parts = [
        must_exclude([stated], few, "there is no plan", shown=refused(ApproxDP(0.1, 1 / n), 4)),
        must_exclude([stated], likely, "there is no plan", shown=refused(ApproxDP(0.1, 1.1 / n), b)),
        must_exclude([stated], deep, f"the chain costs {cost:.4g} times epsilon", shown=cost > MOST),
    ]
    return combine(parts)
