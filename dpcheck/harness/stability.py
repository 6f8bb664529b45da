"""Uniform argument stability: how far replacing one record moves a map's value, against a bound.

The map is a function of the data set, or an algorithm run twice with the same coins. What may be said is what may be
said of a sensitivity: see `dpcheck.harness.sensitivity`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dpcheck.errors import InvalidInput
from dpcheck.harness.replay import Case, distance
from dpcheck.harness.search import Measure, Pair, Records, Search, maximise
from dpcheck.harness.sensitivity import Certificate, Confirm, judge
from dpcheck.interfaces import Array, Norm
from dpcheck.verdicts import Verdict

Map = Callable[[Array], Array]
"""Data sets (pairs, n, *record) -> values (pairs, d); deterministic, each row by itself."""
VALUE = "value"


def of_map(function: Map, bound: float, norm: Norm = 2.0) -> Measure:
    """The measure |A(S) - A(S')| / bound of a map that is given as a function."""
    _check_bound(bound)

    def measure(data: Array, neighbour: Array) -> dict[str, Array]:
        return {VALUE: distance(function(data), function(neighbour), norm) / bound}

    return measure


def search(
    measure: Measure,
    space: Records,
    n: int,
    *,
    given: Sequence[Pair] = (),
    chains: int = 64,
    steps: int = 40,
    examples: int = 0,
    seed: int = 0,
) -> Search:
    """The pair that moves the value most. See `dpcheck.harness.search.maximise`."""
    return maximise(measure, space, n, given=given, chains=chains, steps=steps, examples=examples, seed=seed)


def verdict(searched: Search, *, certificate: Certificate | None = None, confirm: Confirm | None = None) -> Verdict:
    """REFUTED with a confirmed pair, HOLDS with a certificate over all pairs, else CONSISTENT with the best ratio."""
    return judge(searched, certificate=certificate, confirm=confirm, what="stability")


def distances(case: Case, data: Array, neighbour: Array, trials: int, seed: int, norm: Norm = 2.0) -> Array:
    """|A(S, coins) - A(S', coins)| of one pair over fresh coins, (trials,)."""
    seen = case.replay(data, neighbour, trials, seed)
    if seen.other is None:
        raise InvalidInput(f"the two runs part, so their distance means nothing: {seen.parted}")
    return seen.returned_distance(norm)


def _check_bound(bound: float) -> None:
    if not (np.isfinite(bound) and bound > 0):
        raise InvalidInput(f"a stability bound must be a finite number > 0, got {bound!r}")
