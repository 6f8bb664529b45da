"""What plans say of the movement of their means, from the laws of the coins and tests on which it rests."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import scipy

from dpcheck.algorithms.user_level import MinibatchSGD, PhasedSGD
from dpcheck.algorithms.user_level.concentration import certified_movement
from dpcheck.engine.statements import stated
from dpcheck.harness.symbolic import agree
from dpcheck.interfaces import Problem
from dpcheck.verdicts import Verdict

from .cases import difference_of_laplace, plain


def movement_claimed(algorithm: PhasedSGD, told: Problem, n: int, chance: float) -> Verdict:
    """What the plan of Algorithm 1 says of the movement of its means, from the laws: of the coins B, the least count
    that is exceeded with that chance only, and the points that are kept but for that chance; of the test, what passes
    with a score below (4/5 - g) times the points, for the g, at most 0.29, at which that chance is as small. Where none
    is sure to be kept, means move by as much as averages of the steps can lie apart, on a domain of diameter 1.
    """
    left: list[float] = []
    right: list[float] = []
    users = 0
    for row in algorithm.schedule(told, n).phases[:3]:
        C = row.groups
        left.append(row.start)
        right.append(users)
        users += C * row.members
        g = min(0.29, float(scipy.stats.laplace.isf(chance, scale=row.test)) / C)
        below = float(scipy.stats.laplace.sf(g * C, scale=row.test))
        kept, changed = _kept_and_changed(C, 0.8 - g, chance)
        left += [row.moves, row.failure]
        apart = min(1.0, row.eta * (row.steps - 1))
        right += [4 * row.tau * (2 + changed) / kept, below + 2 * chance] if kept else [apart, 0.0]
    for C in range(12, 120, 3):
        movement = certified_movement(
            C, diameter=1.0, reach=5.0, shortfall=0.25, passing=0.01, chance=1e-3, doubled=True
        )  # fmt: skip
        kept, changed = _kept_and_changed(C, 0.55, 1e-3)
        left += [movement.sensitivity, movement.failure]
        right += [(2 + changed) / kept, 0.01 + 2e-3] if kept else [5.0, 0.0]
    return agree(left, right, "movements, and the chances that they are exceeded, of the laws of the coins")


def _kept_and_changed(C: int, core: float, chance: float) -> tuple[int, int]:
    others = scipy.stats.binom(C - 1, min(1.0, 6 / C)).sf(np.arange(C + 1))
    share = 6 * (core * C - 1) / C - 3
    chosen = scipy.stats.binom(math.ceil(core * C - 1e-9) - 1, min(1.0, max(0.0, share))).cdf(np.arange(C + 1))
    return int(np.argmax(chosen >= chance)), int(np.argmax(others <= chance))


MINIBATCHES: tuple[dict[str, Any], ...] = (
    {"K": 30, "steps": 40, "tau_": 0.3},
    {"K": 301, "steps": 7, "tau_": 0.02},
    {"K": 5_000, "steps": 5, "tau_": 0.02},
    {"K": 20_000, "steps": 300, "tau_": 1.0},
    {"K": 200_000, "steps": 2, "tau_": 0.1},
)
"""Of too few users for a certificate, of few for a sure test, and of many."""
STEPPED: tuple[dict[str, Any], ...] = (
    {"c_batch": 1.0, "steps": 9},
    {"c_batch": 500.0, "steps": 60},
    {"c_batch": 40.0, "steps": 2000},
)
"""The same where bit and mean are amplified together, which sets the minibatches."""


def movement_of_minibatches(n: int) -> Verdict:
    """What plans of Algorithm 2 say of the movement of their means, from the laws of coins and tests: a step passes
    with a score below (4/5 - g)K where the noise of a score exceeds that of the threshold by more than gK.
    """
    left: list[float] = []
    right: list[float] = []
    for epsilon, fields in itertools.product((0.01, 1.0, 6.0), MINIBATCHES):
        (row,) = MinibatchSGD(**fields).schedule(plain(3, 10, epsilon), n).phases
        missed = 1e-6 / (10 * row.steps)
        g, passing = _passing(row.batch, 2 * row.test, missed)
        kept, changed = _kept_on_average(row.batch, 0.8 - g, missed), _most_changed(row.batch, missed)
        left += [row.moves, row.failure]
        right += [4 * row.tau * (2 + changed) / kept, min(1.0, row.steps * (passing + 2 * missed))] if kept else [2, 0]
    for epsilon, fields in itertools.product((0.2, 1.0, 6.0), STEPPED):
        each = MinibatchSGD(amplified="steps", threshold="inside", tau_=0.02, **fields)
        (row,) = each.schedule(plain(3, 10, epsilon), n).phases
        share = row.batch / row.users
        g, passing = _passing(row.batch, 2 * row.test, 1e-6 / (4 * row.steps * share))
        sure = 1.6 - 2 * g > 1
        moved = stated("user_level/lem-c2@weighted", tau=row.tau, s=(0.8 - g) * row.batch, K=row.batch) if sure else 2
        left += [row.moves, row.failure]
        right += [min(2.0, moved), min(1.0, row.steps * share * passing)]
    return agree(left, right, "movements, and the chances that they are exceeded, of the laws of coins and tests")


def _passing(K: int, wide: float, chance: float) -> tuple[float, float]:
    """The share g, at most 0.29, beyond which the longer tail of the noise has that chance; and the chance of gK."""
    g = min(0.29, float(scipy.stats.expon.isf(1.5 * chance, scale=wide)) / K)
    return g, difference_of_laplace(g * K, wide, wide / 2)


def _most_changed(K: int, chance: float) -> int:
    """The least number of other coins that is exceeded with that chance only."""
    return int(np.argmax(scipy.stats.binom(K - 1, min(1.0, 6 / K)).sf(np.arange(min(K, 300) + 1)) <= chance))


def _kept_on_average(K: int, core: float, chance: float) -> int:
    """Points that are kept but for that chance, by Chernoff's tail or by Hoeffding's, where the mean count is `core` K,
    less the changed point and 6/K of each other.
    """
    mean = stated("user_level/lem-c2@derived", s=core * K, K=K) * K - 7
    if mean <= 0:
        return 0
    tails = (lambda t: t**2 / (2 * mean), lambda t: 2 * t**2 / K)
    falls = [scipy.optimize.brentq(lambda t, tail=tail: tail(t) + math.log(chance), 0, 10 * K) for tail in tails]
    return max(0, math.floor(mean - min(falls)))
