"""How one stretch of records sees a release: plain, by hidden sampling or places, or as a shuffled batch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Protocol, cast

import numpy as np

from dpcheck.accounting.amplification import (
    Array,
    LossCells,
    amplified_from,
    copies,
    dominated_renyi,
    little_sampled_gaussian,
    mixture_renyi,
    sampled_renyi,
    shuffled,
    subsampled_epsilon,
)
from dpcheck.accounting.composition import smallest_epsilon
from dpcheck.accounting.conversion import curve_to_epsilon, pure_renyi
from dpcheck.accounting.placing import placing_delta
from dpcheck.interfaces import GaussianPrivate, Law, OfRecords, PairPrivate, RenyiPrivate, Sampling

INTEGER_ORDERS = 512
"""Largest Rényi order that is tried for a sampled release."""


class Part(Protocol):
    """What composition needs to know of one release on a stretch."""

    @property
    def integer_orders(self) -> bool:
        """Whether `renyi` is best, or only known, at integer orders up to `INTEGER_ORDERS`."""
        ...

    def pure(self) -> float:
        """Total pure epsilon, or inf."""
        ...

    def uses(self) -> list[tuple[float, int]]:
        """(epsilon, count) of its pure mechanisms; epsilon is inf when there are none."""
        ...

    def mu(self) -> float:
        """It is mu-Gaussian DP; inf when it is not known to be."""
        ...

    def zcdp(self) -> float:
        """It is zCDP with this rho."""
        ...

    def renyi(self, alpha: float) -> float:
        """Rényi divergence of that order."""
        ...

    def profile(self, epsilon: float) -> float | None:
        """delta(epsilon) of the whole part, where a curve better than composition is known."""
        ...

    def certified(self, delta: float) -> float:
        """An epsilon at `delta` that only this part knows of; inf otherwise."""
        ...


@cache
def _offers(law: type[Law], protocol: type) -> bool:
    """Whether a law is more than a `Law`; asked anew for every order, it would cost ten times the divergence."""
    return issubclass(law, protocol)


def law_mu(law: Law, sensitivity: float, count: int = 1) -> float:
    """The `mu` of laws that are Gaussian DP, inf for others."""
    if not _offers(type(law), GaussianPrivate):
        return math.inf
    return cast(GaussianPrivate, law).mu(sensitivity, count)


def law_renyi(law: Law, alpha: float, sensitivity: float, count: int = 1) -> float:
    """The law's own Rényi divergence where it has one, or the best that its pure and zCDP guarantees imply."""
    if _offers(type(law), RenyiPrivate):
        return count * cast(RenyiPrivate, law).renyi(alpha, sensitivity)
    return _implied_renyi(alpha, law.zcdp(sensitivity, count), *pure_uses(law, sensitivity, count))


def _implied_renyi(alpha: float, rho: float, epsilon: float, times: int) -> float:
    """The divergence that rho-zCDP allows, or `times` epsilon-DP uses, where that is less."""
    return min(alpha * rho, times * pure_renyi(alpha, epsilon)) if math.isfinite(epsilon) else alpha * rho


def law_pair(law: Law, sensitivity: float) -> tuple[tuple[float, ...], float] | None:
    """Randomised responses and the mu of a Gaussian that dominate one use of a law; None where none are known."""
    if _offers(type(law), PairPrivate):
        return cast(PairPrivate, law).pair(sensitivity)
    mu, epsilon = law_mu(law, sensitivity), law.pure(sensitivity)
    if math.isfinite(mu):
        return (), mu
    return ((epsilon,), 0.0) if math.isfinite(epsilon) else None


def pure_uses(law: Law, sensitivity: float, count: int) -> tuple[float, int]:
    """(epsilon, how many) pure mechanisms in `count` uses: one, when the law charges them together."""
    one, total = law.pure(sensitivity), law.pure(sensitivity, count)
    return (one, count) if math.isclose(total, count * one, rel_tol=1e-12) else (total, 1)


@dataclass(frozen=True)
class Plain:
    """`count` adaptive uses of a law on a core that one record moves by `sensitivity`."""

    law: Law
    sensitivity: float
    count: int = 1

    integer_orders = False

    def pure(self) -> float:
        return self.law.pure(self.sensitivity, self.count)

    def uses(self) -> list[tuple[float, int]]:
        return [pure_uses(self.law, self.sensitivity, self.count)]

    def mu(self) -> float:
        return law_mu(self.law, self.sensitivity, self.count)

    def zcdp(self) -> float:
        return self.law.zcdp(self.sensitivity, self.count)

    def renyi(self, alpha: float) -> float:
        if self._implied is None:
            return law_renyi(self.law, alpha, self.sensitivity, self.count)
        return _implied_renyi(alpha, *self._implied)

    @cached_property
    def _implied(self) -> tuple[float, float, int] | None:
        """What a law without divergences of its own says at every order: rho, and uses of a pure epsilon."""
        return None if _offers(type(self.law), RenyiPrivate) else (self.zcdp(), *self.uses()[0])

    def profile(self, epsilon: float) -> float | None:
        return self.law.delta(epsilon, self.sensitivity) if self.count == 1 else None

    def certified(self, delta: float) -> float:
        return math.inf

    def epsilon(self, delta: float) -> float:
        """Smallest epsilon of this part alone."""
        best = self.pure()
        if delta > 0:
            if self.count == 1:
                best = min(best, smallest_epsilon(lambda e: self.law.delta(e, self.sensitivity), delta))
            else:
                best = min(best, curve_to_epsilon(self.renyi, delta))
        return best


@dataclass(frozen=True)
class Unbounded:
    """An output that depends on records and that no noise hides: nothing bounds what it costs."""

    integer_orders = False

    def pure(self) -> float:
        return math.inf

    def uses(self) -> list[tuple[float, int]]:
        return [(math.inf, 1)]

    def mu(self) -> float:
        return math.inf

    def zcdp(self) -> float:
        return math.inf

    def renyi(self, alpha: float) -> float:
        return math.inf

    def profile(self, epsilon: float) -> float | None:
        return None

    def certified(self, delta: float) -> float:
        return math.inf


@dataclass(frozen=True)
class Unproved(Unbounded):
    """A release whose sensitivity rests on claims that are not proved here: nothing is known of what it costs."""

    rests_on: tuple[str, ...]


@dataclass(frozen=True)
class Sampled:
    """`count` uses, each on a fresh hidden sample of a block.

    A record drawn k times with replacement moves the core by k times the sensitivity.

    Attributes:
        rows: length of the block that is sampled from.
        amplify: False when another release may have seen the same samples; then only what holds for each is used.
    """

    law: Law
    sensitivity: float
    count: int
    sampling: Sampling
    rows: int
    amplify: bool = True

    integer_orders = True

    @property
    def _most(self) -> int:
        """How often a record can be drawn."""
        return self.sampling.size if self.sampling.kind == "with-replacement" else 1

    @cached_property
    def _draws(self) -> tuple[tuple[int, ...], Array, float]:
        """(k >= 1, chance of k, chance of more than the largest k)."""
        if not self.amplify:
            return (self._most,), np.ones(1), 0.0
        if self.sampling.kind == "with-replacement":
            chances, more = copies(self.sampling.size, self.rows)
            seen = np.flatnonzero(chances[1:] > 0) + 1
            return tuple(int(k) for k in seen), chances[seen], more
        return (1,), np.array([min(1.0, self.sampling.size / self.rows)]), 0.0

    @property
    def rate(self) -> float:
        """Chance that a record is drawn at all."""
        return float(self._draws[1].sum())

    @property
    def missed(self) -> float:
        """Chance that some use draws the record more often than was reckoned with: it goes into delta."""
        return self.count * self._draws[2]

    @property
    def _theorem(self) -> bool:
        """Poisson samples with and without a record differ in size: joint convexity is all that applies."""
        return self.amplify and self.sampling.kind != "poisson"

    def pure(self) -> float:
        one = self.law.pure(self._most * self.sensitivity)
        return self.count * (subsampled_epsilon(one, self.rate) if self._theorem else one)

    def uses(self) -> list[tuple[float, int]]:
        return [(self.pure() / self.count, self.count)]

    def mu(self) -> float:
        return math.inf if self.amplify else law_mu(self.law, self._most * self.sensitivity, self.count)

    def zcdp(self) -> float:
        return self.law.zcdp(self._most * self.sensitivity, self.count)

    @cached_property
    def _table(self) -> Array:
        times, chances, _ = self._draws
        pure = np.array([self.law.pure(k * self.sensitivity) for k in times])

        def renyi(alpha: float, k: int) -> float:
            return law_renyi(self.law, alpha, k * self.sensitivity)

        return sampled_renyi(INTEGER_ORDERS, times, chances, renyi, pure)

    @cached_property
    def _pairs(self) -> tuple[tuple[float, ...], tuple[LossCells, ...]] | None:
        """The numbers of copies by their shares, and what dominates one use under each; None where nothing is known."""
        times, chances, _ = self._draws
        known = [law_pair(self.law, k * self.sensitivity) for k in times]
        if not self._theorem or self.rate <= 0:
            return None
        dominating = tuple(LossCells.of(*pair) for pair in known if pair is not None)
        return (tuple(chances / self.rate), dominating) if len(dominating) == len(known) else None

    def renyi(self, alpha: float) -> float:
        times, chances, _ = self._draws
        divergences = np.array([law_renyi(self.law, alpha, k * self.sensitivity) for k in times])
        best = mixture_renyi(alpha, chances, divergences)
        if self._pairs is not None:
            best = min(best, dominated_renyi(alpha, self.rate, *self._pairs))
        elif self._theorem and alpha == int(alpha) and alpha <= INTEGER_ORDERS:
            best = min(best, float(self._table[int(alpha) - 2]))
        return self.count * best

    def profile(self, epsilon: float) -> float | None:
        """Balle, Barthe and Gaboardi 2018, Theorems 9 and 10; joint convexity under Poisson sampling."""
        if self.count > 1:
            return None
        before = amplified_from(epsilon, self.rate) if self._theorem else epsilon
        times, chances, _ = self._draws
        return float(sum(p * self.law.delta(before, k * self.sensitivity) for k, p in zip(times, chances, strict=True)))

    def certified(self, delta: float) -> float:
        """Of Gaussian noise, the one law with a mu, where a draw moves the core by a small part of it."""
        shift = law_mu(self.law, self.sensitivity)
        if not (self.amplify and self.sampling.kind == "with-replacement" and math.isfinite(shift)):
            return math.inf
        return little_sampled_gaussian(shift, self.sampling.size, self.rows, self.count, delta)


@dataclass(frozen=True)
class Places:
    """`count` uses, of which each record is read by one at most: by the one whose place it has drawn.

    Given all places this is parallel composition; that a record's place is hidden amplifies under Gaussian noise.
    """

    law: Law
    sensitivity: float
    count: int
    places: int

    integer_orders = False

    def pure(self) -> float:
        return self.law.pure(self.sensitivity)

    def uses(self) -> list[tuple[float, int]]:
        return [(self.pure(), 1)]

    def mu(self) -> float:
        return law_mu(self.law, self.sensitivity)

    def zcdp(self) -> float:
        return self.law.zcdp(self.sensitivity)

    def renyi(self, alpha: float) -> float:
        return law_renyi(self.law, alpha, self.sensitivity)

    def profile(self, epsilon: float) -> float | None:
        delta, shift = self.law.delta(epsilon, self.sensitivity), self.mu() / 2
        return min(delta, placing_delta(epsilon, shift, self.count, 1 / self.places)) if shift < math.inf else delta

    def certified(self, delta: float) -> float:
        return math.inf


@dataclass(frozen=True)
class Shuffled:
    """Batches that partition one uniformly permuted block: a record is in at most one of them.

    Given the permutation this is parallel composition. Given the unordered partition, the batches are shuffled users of
    a local randomiser each, which amplifies; where noise is added per record, the records are.
    """

    members: tuple[Plain, ...]
    batches: int
    records: int

    integer_orders = False

    def pure(self) -> float:
        return max(member.pure() for member in self.members)

    def uses(self) -> list[tuple[float, int]]:
        return [(self.pure(), 1)]

    def mu(self) -> float:
        return max(member.mu() for member in self.members)

    def zcdp(self) -> float:
        return max(member.zcdp() for member in self.members)

    def renyi(self, alpha: float) -> float:
        return max(member.renyi(alpha) for member in self.members)

    def profile(self, epsilon: float) -> float | None:
        return max(member.law.delta(epsilon, member.sensitivity) for member in self.members)

    def certified(self, delta: float) -> float:
        def local(delta0: float) -> float:
            return max(member.epsilon(delta0) for member in self.members)

        randomisers = [self.batches]
        if all(isinstance(member.law, OfRecords) for member in self.members):
            randomisers.append(self.records)
        return min(shuffled(local, n, delta) for n in randomisers)
