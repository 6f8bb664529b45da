"""Mechanisms whose privacy is known exactly: tight claims, and bugs with their limit of theory."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

import dpcheck as dp
from dpcheck.auditing import finite_laws
from dpcheck.auditing.exact import exact_epsilon
from dpcheck.auditing.limits import fewest_on_gaussian_curve, fewest_samples
from dpcheck.auditing.scores import LikelihoodRatio
from dpcheck.statistics.binomial import clopper_pearson
from dpcheck.verdicts import Verdict

Array = NDArray[np.float64]
ZERO, ONE = np.zeros(1), np.ones(1)
LOW, HIGH = np.repeat([0.0, 1.0], 5), np.repeat([1.0, 0.0], 5)
KEEP = math.e / (1 + math.e)
QUERIES = 10


def with_limits(verdict: Verdict, found: int, audits: int) -> Verdict:
    """The verdict with the 99 % limits of its rate, one on each side, said as well."""
    low, high = (float(clopper_pearson(found, audits, 0.01, side)[i]) for i, side in enumerate(("lower", "upper")))
    numbers = {**verdict.numbers, "lower_99": low, "upper_99": high}
    reason = f"{verdict.reason}; 99 % limits {100 * low:.2f} % and {100 * high:.2f} %"
    return replace(verdict, reason=reason, numbers=numbers)


@dataclass(frozen=True)
class Null:
    """A mechanism and a claim that it meets with equality (or with no difference at all)."""

    mechanism: Callable[..., Any]
    claim: dp.Guarantee
    pair: tuple[Array, Array] = (ZERO, ONE)
    identical: bool = False
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
        "identical laws": Null(blind, dp.PureDP(0.01), identical=True),
        "tight Laplace": Null(laplace, dp.PureDP(1.0)),
        "randomised response": Null(response, dp.PureDP(1.0)),
        "geometric": Null(geometric, dp.PureDP(1.0)),
        "categories with ties": Null(ties, dp.PureDP(ties_epsilon())),
        "sparse vector": Null(
            sparse_vector,
            dp.PureDP(sparse_vector_epsilon()),
            (LOW, HIGH),
            options=(("adjacency", None), ("halts", True)),
        ),
    }


@dataclass(frozen=True)
class Bug:
    """A mechanism that breaks its claim, with the fewest runs (both inputs) of any test: (alpha, power) -> runs."""

    mechanism: Callable[..., Any]
    claim: dp.Guarantee
    fewest: Callable[[float, float], int | None]
    known: LikelihoodRatio | None = None
    pair: tuple[Array, Array] = (ZERO, ONE)
    adjacency: str | None = "replace-one"


def _fewest(one: Array, two: Array, claim: dp.ApproxDP) -> Callable[[float, float], int | None]:
    p, q = (np.maximum(law, 1e-300) for law in (one, two))
    return lambda alpha, power: fewest_samples(p, q, claim.epsilon, claim.delta, alpha, power)


def _additive(name: str, shift: float, claim: dp.ApproxDP) -> Bug:
    """Unit noise on a record that is moved by `shift`."""
    law = getattr(stats, name)
    x = np.linspace(-14, 14 + shift, 1601)
    cells = [np.diff(np.r_[0, law.cdf(x - at), 1]) for at in (0.0, shift)]
    draw = {"laplace": np.random.Generator.laplace, "norm": np.random.Generator.normal}[name]
    return Bug(
        lambda data, rng, trials: shift * data.sum() + draw(rng, size=trials),
        claim,
        _fewest(cells[0], cells[1], claim),
        LikelihoodRatio(lambda y: law.logpdf(y), lambda y: law.logpdf(y - shift)),
    )


def _curve(mu: float) -> Bug:
    return Bug(
        lambda data, rng, trials: mu * data.sum() + rng.normal(size=trials),
        dp.GaussianDP(1.0),
        lambda alpha, power: fewest_on_gaussian_curve(mu, 1.0, alpha, power),
    )


def _told(data: Array, rng: np.random.Generator, trials: int) -> Array:
    noisy = data + rng.laplace(scale=2.0, size=(trials, QUERIES))
    return (noisy >= 1.0 + rng.laplace(scale=2.0, size=(trials, 1))).astype(float)


def bugs() -> dict[str, Bug]:
    """Seeded bugs whose laws can be written down."""
    pure = dp.PureDP(1.0)
    told = [finite_laws.above_threshold(a, 1.0, 2.0, 2.0, None).probabilities for a in (LOW, HIGH)]
    bias = 1 - math.exp(-1) / 2
    wrong = np.array([bias, 1 - bias])
    return {
        "Laplace, half the scale": _additive("laplace", 2.0, pure),
        "Laplace, scale a quarter": _additive("laplace", 4.0, pure),
        "Laplace, 20 % too small": _additive("laplace", 1.25, pure),
        "Gaussian, half the scale": _additive("norm", 2.0, dp.ApproxDP(4.3772, 1e-5)),
        "Gaussian, half the scale, curve": _curve(2.0),
        "Gaussian, 10 % too small, curve": _curve(1 / 0.9),
        "randomised response, wrong bias": Bug(
            lambda data, rng, trials: np.where(rng.random(trials) < bias, data[0], 1 - data[0]),
            pure,
            _fewest(wrong, wrong[::-1], pure),
        ),
        "sparse vector, no cut-off": Bug(
            _told, pure, _fewest(told[0], told[1], pure), pair=(LOW, HIGH), adjacency=None
        ),
    }
