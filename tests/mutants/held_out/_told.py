"""Mechanisms that are held out, with what they tell: both laws of their outputs on cells, and the cell of an output.

All of this folder was written after the scores of the auditor were fixed, without running it on any mechanism: only the
laws were tested. So they are a test set, which `benchmarks/bench_held_out.py` judges, and which no check and no
tuning may read. Their names begin with "held-".

A statistic that stands for the outputs must be sufficient for the pair: what it leaves out has the same law on both
inputs given it. Then the laws give the exact epsilon at every delta, and the fewest runs of any test.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

import dpcheck as dp
from dpcheck.auditing.exact import exact_epsilon
from dpcheck.mutants import Mutant
from dpcheck.testing import AuditKill

from ._unnamed import Untold

ZERO, ONE = np.zeros(1), np.ones(1)
PAIR = ZERO, ONE


@dataclass(frozen=True)
class Told:
    """Both laws on cells, which are computed when they are asked for, and the cells (integers) of outputs."""

    laws: Callable[[], tuple[Any, Any]]
    cell: Callable[[Any], Any]


@dataclass(frozen=True, kw_only=True)
class Judged(AuditKill):
    """A mechanism that `dp.audit` may be asked about, with the cells of its outputs.

    Attributes:
        untold: where outputs are values that are only alike or not, the test that is not told which are of which input.
    """

    cell: Callable[[Any], Any]
    untold: Untold | None = None


def _whole(outputs):
    return outputs


def table(first, second, of=_whole):
    """Laws of a number 0, 1, … that says all: `of` the outputs."""
    return Told(lambda: (np.asarray(first, float), np.asarray(second, float)), lambda y: np.asarray(of(y)).astype(int))


def revealed(event):
    """An event that is impossible on the data and certain on the neighbour."""
    return table([1, 0], [0, 1], event)


class Mixture:
    """Weights and laws, as one law."""

    def __init__(self, *parts):
        self.parts = parts

    def cdf(self, x):
        return sum(weight * law.cdf(x) for weight, law in self.parts)

    def sf(self, x):
        return sum(weight * law.sf(x) for weight, law in self.parts)


def masses(points, law):
    """Of the cells up to each point and beyond the last, with small tails exact on both sides."""
    low, high = law.cdf(points), law.sf(points)
    return np.where(np.r_[0.0, low] < 0.5, np.diff(np.r_[0.0, low, 1.0]), -np.diff(np.r_[1.0, high, 0.0]))


def line(first, second, low, high, cells=1200, of=_whole):
    """Two laws of a number on cells of equal width."""
    points = np.linspace(low, high, cells + 1)
    return Told(
        functools.cache(lambda: (masses(points, first), masses(points, second))),
        lambda y: np.searchsorted(points, of(y)),
    )


def laplace(shift=1.0, scale=1.0, cells=24, of=_whole):
    """Laplace noise about 0 and about `shift`: beyond both the ratio stays as it is."""
    return line(stats.laplace(0, scale), stats.laplace(shift, scale), min(shift, 0), max(shift, 0), cells, of)


def normal(mu, of=_whole):
    """Standard normal noise about 0 and about `mu`."""
    return line(stats.norm(0, 1), stats.norm(mu, 1), -7, 7 + mu, of=of)


def along(*shift):
    """What says all of standard normal noise in several columns about 0 and about `shift`, and its law."""
    way = np.array(shift, float)
    size = float(np.linalg.norm(way))
    return normal(size, of=lambda y: y @ way / size)


def apart(event, first, second, rest):
    """An event with its chance on each input; outside of it, `rest`."""

    def laws():
        p, q = rest.laws()
        return np.r_[first, (1 - first) * p], np.r_[second, (1 - second) * q]

    return Told(laws, lambda y: np.where(event(y), 0, 1 + rest.cell(y)))


def product(*parts):
    """Independent columns."""

    def laws():
        found = [part.laws() for part in parts]
        return tuple(functools.reduce(np.multiply.outer, side).ravel() for side in zip(*found, strict=True))

    def cell(y):
        sizes = [len(part.laws()[0]) for part in parts]
        return np.ravel_multi_index([part.cell(y[:, i]) for i, part in enumerate(parts)], sizes)

    return Told(laws, cell)


def binomials(count, first, second, of=_whole):
    """How many of `count` independent bits are set, each with these chances."""
    return table(*(stats.binom.pmf(np.arange(count + 1), count, chance) for chance in (first, second)), of)


def gaussian(mu, delta=1e-2):
    """The point at `delta` of the curve of Gaussian noise."""
    return dp.ApproxDP(dp.GaussianDP(mu).epsilon_at(delta), delta)


def exact_at(told, delta):
    """What a mechanism that tells this may claim at `delta`, and no less."""
    return dp.ApproxDP(exact_epsilon(*told.laws(), delta) * (1 + 1e-9), delta)


def bug(name, said, claim, told, mechanism, pair=PAIR, *, lookalike=False, untold=None, **options):
    """A mechanism that breaks its claim on this pair."""
    kill = Judged(
        mechanism=mechanism,
        data=pair[0],
        neighbour=pair[1],
        claim=claim,
        laws=told.laws,
        cell=told.cell,
        exact_epsilon=exact_epsilon(*told.laws(), claim.delta),
        untold=untold,
        options={"adjacency": None, **options},
    )
    return Mutant(name=name, bug=said, kill=kill, lookalike=lookalike)


sound = functools.partial(bug, lookalike=True)
"""A mechanism that keeps its claim, on the pair that tells most."""
