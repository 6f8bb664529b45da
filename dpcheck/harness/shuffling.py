"""What is stated of shuffled local randomisers, at every epsilon_0, n and delta of a box."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
import scipy

from dpcheck.accounting import shuffle_limit
from dpcheck.accounting.amplification import shuffle_delta
from dpcheck.harness import accuracy
from dpcheck.verdicts import Verdict


def response_delta(epsilon: float, epsilon_0: float, n: int) -> float:
    """Exact delta at `epsilon` of n shuffled randomised responses, all other records the same."""
    flip = 1 / (1 + math.exp(epsilon_0))
    others = scipy.stats.binom.pmf(np.arange(n), n - 1, flip)
    one, two = (np.convolve(others, [1 - q, q]) for q in (1 - flip, flip))
    return float(np.maximum(0.0, one - math.exp(epsilon) * two).sum())


def everywhere(
    stated: Callable[[float, int, float], float],
    sizes: Sequence[int],
    epsilons: Sequence[float] = tuple(np.geomspace(0.01, 1, 17)),
    deltas: Sequence[float] = tuple(np.geomspace(1e-12, 1e-2, 11)),
) -> Verdict:
    """Judges an epsilon that is stated at (epsilon_0, n, delta), between the first and the last of each, all rising.

    At the points shuffled randomised response may refute it. Between them Feldman, McMillan and Talwar's pair of clones
    (2021, Theorem 3.2) dominates all local randomisers: its delta grows with epsilon_0 and falls with n, for less
    clones and one record less are undone by post-processing, and what is stated grows with epsilon_0 and falls with n
    and delta. So the worst corner of a cell against its best one decides all of it, as far as it is below the limit.
    """
    grid = [(e, n, d) for e in epsilons for n in sizes for d in deltas if e <= shuffle_limit(n, d)]
    cells = [
        shuffle_delta(stated(low, most, last), high, few) <= first
        for low, high in itertools.pairwise(epsilons)
        for few, most in itertools.pairwise(sizes)
        for first, last in itertools.pairwise(deltas)
        if low <= shuffle_limit(most, last)
    ]
    where = f"{len(cells):,} cells of epsilon_0, delta and n from {sizes[0]:,} to {sizes[-1]:,}"
    return accuracy.never_violated(
        [response_delta(stated(*at), at[0], at[1]) for at in grid],
        [delta for _, _, delta in grid],
        statement="exact delta of shuffled randomised response <= delta",
        covers=f"{where}, by their corners, for every local randomiser" if all(cells) else "",
        evidence="certificate",
        drawn=False,
    )
