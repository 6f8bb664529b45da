"""Mechanisms that meet their claim with equality."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpcheck as dp
from dpcheck.auditing import finite_laws
from dpcheck.auditing.exact import exact_epsilon
from dpcheck.statistics.binomial import clopper_pearson
from dpcheck.verdicts import Verdict

Array = NDArray[np.float64]
ZERO, ONE = np.zeros(1), np.ones(1)
LOW, HIGH = np.repeat([0.0, 1.0], 5), np.repeat([1.0, 0.0], 5)
KEEP = math.e / (1 + math.e)
QUERIES = 10


def with_limits(verdict: Verdict, count: int, audits: int) -> Verdict:
    """The verdict with the 99 % limits of its rate, one on each side, said as well."""
    low, high = (float(clopper_pearson(count, audits, 0.01, side)[i]) for i, side in enumerate(("lower", "upper")))
    numbers = {**verdict.numbers, "lower_99": low, "upper_99": high}
    reason = f"{verdict.reason}; 99 % limits {100 * low:.2f} % and {100 * high:.2f} %"
    return replace(verdict, reason=reason, numbers=numbers)


@dataclass(frozen=True)
class Null:
    """A mechanism and a claim that it meets with equality (or with no difference at all).

    Attributes:
        identical: both laws are the same, and any certified epsilon is a false alarm.
        tight: whatever rule is learned, its guesses are right as often as the claim allows. Of Laplace noise, noisy-max
            and the sparse vector that is so of the best rule only: one that is learned errs a little at its boundary,
            guesses where the two laws differ by less, and is refuted less often than it might.
    """

    mechanism: Callable[..., Any]
    claim: dp.Guarantee
    pair: tuple[Array, Array] = (ZERO, ONE)
    identical: bool = False
    tight: bool = False
    options: tuple[tuple[str, Any], ...] = ()


def laplace(data: Array, rng: np.random.Generator, trials: int) -> Array:
    return data.sum() + rng.laplace(size=trials)


def blind(data: Array, rng: np.random.Generator, trials: int) -> Array:
    return rng.normal(size=trials)


def response(data: Array, rng: np.random.Generator, trials: int) -> Array:
    return np.where(rng.random(trials) < KEEP, data[0], 1 - data[0])


def geometric(data: Array, rng: np.random.Generator, trials: int) -> Array:
    ratio = 1 - math.exp(-1)
    return data.sum() + rng.geometric(ratio, trials) - rng.geometric(ratio, trials)


def ties(data: Array, rng: np.random.Generator, trials: int) -> Array:
    """Report-noisy-max among five, two of them tied on each side, as strings."""
    names = np.array(["a", "b", "c", "d", "e"])
    scores = np.array([1.0, 1.0, 0.0, 0.0, 0.5]) if data[0] else np.array([0.0, 0.0, 1.0, 1.0, 0.5])
    return names[(scores + rng.gumbel(scale=2.0, size=(trials, 5))).argmax(axis=1)]


def ties_epsilon() -> float:
    """Gumbel noise of scale 2 on scores: the exponential mechanism with coefficient 1/2."""
    one, two = np.array([1.0, 1.0, 0.0, 0.0, 0.5]), np.array([0.0, 0.0, 1.0, 1.0, 0.5])
    laws = [finite_laws.exponential_mechanism(-scores, 0.5).probabilities for scores in (one, two)]
    return exact_epsilon(*laws)


def sparse_vector(data: Array, rng: np.random.Generator, trials: int) -> Array:
    above = data + rng.laplace(scale=4.0, size=(trials, QUERIES)) >= 0.5 + rng.laplace(scale=2.0, size=(trials, 1))
    bits = above.astype(float)
    bits[np.cumsum(above, axis=1) - above > 0] = np.nan
    return bits


def sparse_vector_epsilon() -> float:
    laws = [finite_laws.above_threshold(a, 0.5, 2.0, 4.0).probabilities for a in (LOW, HIGH)]
    return exact_epsilon(*laws)


def nulls() -> dict[str, Null]:
    return {
        "identical laws": Null(blind, dp.PureDP(0.01), identical=True, tight=True),
        "tight Laplace": Null(laplace, dp.PureDP(1.0)),
        "randomised response": Null(response, dp.PureDP(1.0), tight=True),
        "geometric": Null(geometric, dp.PureDP(1.0), tight=True),
        "categories with ties": Null(ties, dp.PureDP(ties_epsilon())),
        "sparse vector": Null(
            sparse_vector,
            dp.PureDP(sparse_vector_epsilon()),
            (LOW, HIGH),
            options=(("adjacency", None), ("halts", True)),
        ),
    }
