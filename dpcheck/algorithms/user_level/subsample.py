"""The subsampled mechanism of Lemma A.8."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpcheck.errors import InvalidInput
from dpcheck.interfaces import Array, Rng, procedure

Mechanism = Callable[[Array, Rng, int], Array]
"""(trials, M, *record), generator, trials -> one output a trial."""


@procedure("user_level/proc-subsample")
def subsampled(mechanism: Mechanism, size: int, *, replacement: bool = False) -> Mechanism:
    """`mechanism` on a uniformly random subset of `size` records a trial, without replacement as the lemma needs.

    Args:
        mechanism: handed one subset a trial.
        replacement: draw with replacement, the literal reading of Algorithm 2: the lemma's delta then lacks a factor.
    """
    if size < 1:
        raise InvalidInput(f"a subsample needs at least one record, got {size}")

    def mechanism_on_subset(data: Array, rng: Rng, trials: int) -> Array:
        n = len(data)
        if size > n and not replacement:
            raise InvalidInput(f"a subset of {size} records needs at least as many, got {n}")
        if replacement:
            chosen = rng.integers(n, size=(trials, size))
        else:
            chosen = np.argsort(rng.random((trials, n)), axis=1)[:, :size]
        return mechanism(np.asarray(data)[chosen], rng, trials)

    return mechanism_on_subset
