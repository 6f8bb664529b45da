"""Tests of order: given how often an event occurs, which of the independent outputs it occurs in is drawn at random."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Test = tuple[Array, str]
"""p-values, and what the smallest of them says."""


def order_tests(runs: Integers, early: Integers, first: int, total: Integers, size: int) -> list[Test]:
    """Runs of events that occur `total` times in `size` outputs, and `early` times in the `first` of these."""
    few, many = hypergeometric(runs, size, size - total + 1, total)
    halves = two_sided(*hypergeometric(early, size, total, first))
    return [
        (few, "an output resembles the one before it, on the same input"),
        (many, "outputs alternate: one differs from the one before it, on the same input"),
        (halves, "the first and the last runs on the same input differ"),
    ]


def two_sided(lower: Array, upper: Array) -> Array:
    """Of two tails, one p-value for both."""
    return np.asarray(2 * np.minimum(lower, upper))


def hypergeometric(drawn: Any, population: Any, marked: Any, draws: Any) -> tuple[Array, Array]:
    """P(X <= drawn) and P(X >= drawn), X the marked ones among `draws` of a population; elementwise."""
    law, told = scipy.stats.hypergeom, (population, marked, draws)
    return np.asarray(law.cdf(drawn, *told)), np.asarray(law.sf(np.asarray(drawn) - 1, *told))


def hypergeometric_parts(drawn: Any, population: Any, marked: Any, draws: Any) -> tuple[Array, Array, Array]:
    """P(X < drawn), P(X > drawn) and P(X = drawn): the smaller tail is summed outwards, the other one is the rest."""
    arrays = np.broadcast_arrays(*(np.asarray(v, dtype=float) for v in (drawn, population, marked, draws)))
    x, size, marks, n = (np.array(v) for v in arrays)

    def choose(a: Array, b: Array) -> Array:
        return np.asarray(
            scipy.special.gammaln(a + 1) - scipy.special.gammaln(b + 1) - scipy.special.gammaln(a - b + 1)
        )

    here = np.exp(np.minimum(0.0, choose(marks, x) + choose(size - marks, n - x) - choose(size, n)))
    down = x <= n * marks / np.maximum(size, 1)
    at, term, tail = x.copy(), here.copy(), np.zeros(x.shape)
    while (term > 1e-12 * tail).any():
        # Ratio of a probability to its inner neighbour's; it is 0 at the end of the support.
        fall = at * (size - marks - n + at) / ((marks - at + 1) * (n - at + 1))
        rise = (marks - at) * (n - at) / ((at + 1) * (size - marks - n + at + 1))
        term = term * np.maximum(0.0, np.where(down, fall, rise))
        tail = tail + term
        at = np.where(term > 0, np.where(down, at - 1, at + 1), at)
    rest = np.maximum(0.0, 1 - here - tail)
    return np.where(down, tail, rest), np.where(down, rest, tail), here
