"""What hidden sampling adds: subsampling and shuffling theorems, under replace-one neighbours."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from dpcheck.accounting.composition import smallest_epsilon
from dpcheck.accounting.conversion import check_delta, check_nonnegative
from dpcheck.errors import InvalidInput
from dpcheck.numerics import edge
from dpcheck.statistics.binomial import binomial_masses, binomial_tail, binomial_up_to

Array = NDArray[np.float64]


def subsampled_epsilon(epsilon: float, rate: float) -> float:
    """log(1 + rate (e^epsilon - 1)): pure DP of a uniform subset of that share, without replacement.

    With it goes delta' = rate delta at the amplified epsilon (Balle, Barthe, Gaboardi 2018, Theorem 9).
    """
    check_nonnegative("epsilon", epsilon)
    if not 0 < rate <= 1:
        raise InvalidInput(f"a sampling rate must lie in (0, 1], got {rate!r}")
    if epsilon > 500:
        return epsilon + math.log(rate) if math.isfinite(epsilon) else math.inf
    return math.log1p(rate * math.expm1(epsilon))


def amplified_from(epsilon: float, rate: float) -> float:
    """The epsilon before sampling that gives `epsilon` after it: log(1 + (e^epsilon - 1) / rate)."""
    check_nonnegative("epsilon", epsilon)
    if epsilon > 500:
        return epsilon - math.log(rate)
    return math.log1p(math.expm1(epsilon) / rate)


def copies(size: int, rows: int, tail: float = 1e-30) -> tuple[Array, float]:
    """How often one record appears in `size` draws with replacement from `rows`.

    Returns:
        The probabilities of k = 0..K times, and that of more, at most `tail`.
    """
    mean = size / rows
    k = np.arange(min(size, int(mean + 40 * math.sqrt(mean)) + 500) + 1)
    beyond = binomial_tail(k + 1, size, 1 / rows)
    last = int(np.argmax(beyond <= tail))
    return binomial_masses(k[: last + 1], size, 1 / rows), float(beyond[last])


def mixture_renyi(alpha: float, chances: Array, divergences: Array) -> float:
    """Bound on the Rényi divergence of mixtures whose hidden coin k has the same law on both sides.

    exp((alpha - 1) D_alpha) is jointly convex, so no amplification theorem is needed.

    Args:
        chances: probabilities of the coins that bring the record in, (K,); under the others nothing differs.
        divergences: D_alpha given each of these coins, (K,).
    """
    if math.isinf(float(divergences.max())):
        return math.inf
    power = (alpha - 1) * divergences
    if power.max() < 500:
        total = math.log1p(float(chances @ np.expm1(power)))
    else:
        weights = np.append(chances, max(0.0, 1 - float(chances.sum())))
        total = log_sum(np.append(power, 0.0)[weights > 0] + np.log(weights[weights > 0]))
    return max(0.0, total / (alpha - 1))


def little_sampled_gaussian(shift: float, size: int, rows: int, count: int, delta: float) -> float:
    """Epsilon at `delta` of many Gaussians on few draws each, where one draw moves the mean by little of the noise.

    Rényi orders that matter at a small epsilon lie beyond every sum over binomials, and convexity alone loses
    1/sqrt(rate). Let K be how often the record is drawn, S what it adds, at most K shift long. With e the difference
    of its two values, the privacy loss of y = S + z is the integral of E[K <y - S, e> | y] along the way from one to
    the other. Unless a draw's product with the normal z exceeds sqrt(2 exceptions) shift, or K exceeds `most`, the
    posterior mean of K lies between `low` and `high`, near rate = size/rows: a use loses at most a normal variable of
    deviation `middle` shift and `rest`. Exceptions cost half of delta, and Chernoff's bound the other half.

    It holds for cores that are sums over the draws, or means: a record that is drawn K times then moves the core by K
    times one vector, e at most, and S is what its draws add. Of another function of the drawn records, say the end of a
    descent on them, nothing is said, even where one draw moves it by no more than `shift`.

    Args:
        shift: how far one draw moves the mean, in standard deviations of the noise.
        count: of uses, each on fresh draws with replacement.
    """
    check_delta(delta)
    rate, exceptions = size / rows, math.log(8 * count * (2 * size + 1)) - math.log(delta) if delta > 0 else math.inf
    if not math.isfinite(exceptions):
        return math.inf
    most = next(k for k in range(1, size + 1) if k == size or _log_tail(rate, k + 1) <= -exceptions)
    tilt = shift * math.sqrt(2 * exceptions) + most * shift**2
    if tilt > 1:
        return math.inf
    grown = math.exp(rate * math.expm1(tilt))  # E e^(K tilt), at most
    weight = 1 - rate * tilt - (rate + rate**2) * shift**2 / 2  # E e^(-K tilt - K^2 shift^2/2), at least
    if weight <= 0:
        return math.inf
    mean = rate * math.exp(tilt)
    high, squared = mean * grown / weight, (mean + mean**2) * grown / weight
    low = (rate - (rate + rate**2) * tilt - (rate + 3 * rate**2 + rate**3) * shift**2 / 2) / grown
    middle, half = (high + max(0.0, low)) / 2, (high - max(0.0, low)) / 2
    rest = (middle * most + squared) * shift**2 + half * tilt
    return count * rest + middle * shift * math.sqrt(2 * count * math.log(2 / delta))


def _log_tail(mean: float, k: int) -> float:
    """log of mean^k/k!, above the chance of k successes or more."""
    return k * math.log(mean) - math.lgamma(k + 1)


def log_sum(x: Array) -> float:
    """log of the sum of e^x: (K,) -> a number. `special.logsumexp` takes many times as long on short vectors."""
    top = float(x.max())
    return top + math.log(float(np.exp(x - top).sum())) if math.isfinite(top) else top


def sampled_renyi(
    orders: int, times: Sequence[int], chances: Array, renyi: Callable[[float, int], float], pure: Array
) -> Array:
    """Rényi divergences of orders 2..`orders` of a mechanism that sees a record k times with a hidden chance.

    Wang, Balle and Kasiviswanathan 2019, Theorem 9, for replace-one neighbours: with gamma the chance of being seen,
    1 + sum over j of binom(alpha, j) gamma^j E|P - Q|^j / R^(j - 1), R being the output without the record; k copies
    are a mixture, to which joint convexity applies.

    Args:
        orders: largest order.
        times: how often the record may be drawn, each >= 1.
        chances: probability of each of these; without replacement, m/n of once.
        renyi: (order, k) -> divergence of the unsampled mechanism when k records change.
        pure: its pure epsilon when that many records change; inf where there is none.

    Returns:
        (orders - 1,): the divergence of order alpha at place alpha - 2.
    """
    if orders < 2:
        raise InvalidInput(f"the largest order must be >= 2, got {orders!r}")
    gamma = float(chances.sum())
    log_share = np.log(chances) - math.log(gamma)
    ratio = np.log(np.maximum(np.expm1(np.minimum(pure, 300.0)), 1e-300))
    j = np.arange(2, orders + 1)
    power = np.array([[(order - 1) * renyi(float(order), k) for k in times] for order in j])
    # |P - Q|^j <= P^j + Q^j, and <= (e^pure - 1)^j min(P, Q)^j
    bound = power + np.minimum(math.log(2), j[:, None] * ratio)
    bound[0] = np.minimum(bound[0], math.log(4) + _log_expm1(power[0]))
    terms = j * math.log(gamma) + scipy.special.logsumexp(bound + log_share, axis=1)
    factorials = scipy.special.gammaln(np.arange(orders + 2) + 1.0)
    result = np.empty(orders - 1)
    for alpha in j:
        choose = factorials[alpha] - factorials[2 : alpha + 1] - factorials[alpha - 2 :: -1]
        total = np.logaddexp(0.0, log_sum(choose + terms[: alpha - 1]))
        result[alpha - 2] = max(0.0, float(total)) / (alpha - 1)
    return result


REACH, CELL = 37.0, 1 / 96
"""Deviations of the Gaussian that the cells of `LossCells.of` cover, and the width of those up to eight."""


@dataclass(frozen=True)
class LossCells:
    """A privacy loss above 0 as it falls without the record: in each cell the largest loss and the mass.

    Attributes:
        losses, masses: (C,).
        beyond: mu of the Gaussian, and the mass of the outcomes beside it that its tail beyond the cells goes with.
    """

    losses: Array
    masses: Array
    beyond: tuple[float, tuple[tuple[float, float], ...]]

    @staticmethod
    def of(pure: Sequence[float], mu: float) -> LossCells:
        """Randomised responses of these epsilons beside N(mu, 1) against N(0, 1)."""
        sides = [(0.0, 1.0)]
        for epsilon in pure:
            rare = float(scipy.special.expit(-epsilon))
            sides = [(y + s * epsilon, w * (rare if s > 0 else 1 - rare)) for y, w in sides for s in (1, -1)]
        if mu == 0:
            above = [(y, w) for y, w in sides if y > 0]
            return LossCells(np.array([y for y, _ in above]), np.array([w for _, w in above]), (0.0, ()))
        losses, masses = [], []
        for y, w in sides:
            start = min(max(mu / 2 - y / mu, -REACH), REACH)
            fine = np.arange(start, max(start, 8.0) + CELL, CELL)
            z = np.append(fine, np.arange(fine[-1] + 2 * CELL, REACH, 2 * CELL))
            z = np.append(z[z < REACH], REACH)
            low, high = scipy.special.ndtr(z), scipy.special.ndtr(-z)
            # Each side of 0 from its own tail: masses far out are small, not rounding.
            mass = np.where(z[1:] < 0, np.diff(low), -np.diff(high))
            if start == -REACH:
                mass[0] += low[0]
            losses.append(y + mu * z[1:] - mu * mu / 2)
            masses.append(w * mass)
        return LossCells(np.concatenate(losses), np.concatenate(masses), (mu, tuple(sides)))

    def left_out(self, alpha: float, rate: float) -> float:
        """log of at least E r^alpha - 1 over the outcomes beyond the cells, r = 1 + rate (e^loss - 1).

        r^alpha is at most 1 - rate + rate e^(alpha loss), and at most 2^(alpha - 1) (1 + rate^alpha e^(alpha loss)).
        """
        mu, sides = self.beyond
        total, log = -math.inf, math.log(rate)
        for y, w in sides:
            power = alpha * y + alpha * (alpha - 1) * mu * mu / 2 + float(scipy.special.log_ndtr(alpha * mu - REACH))
            few = np.logaddexp(float(scipy.special.log_ndtr(-REACH)), alpha * log + power)
            total = np.logaddexp(total, math.log(w) + min(log + power, (alpha - 1) * math.log(2) + float(few)))
        return float(total)


def dominated_renyi(alpha: float, rate: float, shares: Sequence[float], cells: Sequence[LossCells]) -> float:
    """Rényi divergence of order alpha of the pair that dominates a mechanism on a hidden sample, at most.

    A mechanism with the profile h, sampled at that rate, has the profile H(x) = rate h(1 + (x - 1)/rate) for x >= 1 on
    replace-one neighbours (Balle, Barthe and Gaboardi 2018, Theorems 9 and 10), and by symmetry 1 - x + x H(1/x) below.
    H is that of a pair of laws (Zhu, Dong and Wang 2022), the second moments of which are integrals over H'': with r =
    1 + rate (e^loss - 1), E r^alpha = 1 + E[(r^alpha - 1)(1 - r^(1 - alpha)); loss > 0], the loss as it falls without
    the record. Adding a to h adds no more than an outcome of mass rate a to the pair, which goes into delta.

    Args:
        rate: chance that the record is in the sample.
        shares: of the numbers of copies in it, (K,), adding up to 1; cells: the loss under so many, (K,).
    """
    total = -math.inf
    for share, each in zip(shares, cells, strict=True):
        logs = [each.left_out(alpha, rate)]
        if each.losses.size:
            # r below e^700, where it can be written down, and as good as rate e^loss beyond.
            x = np.log1p(rate * np.expm1(np.minimum(each.losses, 700.0))) + np.maximum(0.0, each.losses - 700.0)
            with np.errstate(divide="ignore"):
                lost = alpha * x + np.log(-np.expm1(-alpha * x)) + np.log(-np.expm1((1 - alpha) * x))
                logs.append(log_sum(lost + np.log(each.masses)))
        total = np.logaddexp(total, math.log(share) + float(np.logaddexp.reduce(logs)))
    return float(np.logaddexp(0.0, total)) / (alpha - 1)


def _log_expm1(x: Array) -> Array:
    """log(e^x - 1), -inf at 0."""
    with np.errstate(divide="ignore"):
        return np.where(x > 30, x, np.log(np.expm1(np.minimum(x, 30.0))))


def shuffle_epsilon(epsilon0: float, n: int, delta: float) -> float:
    """Feldman, McMillan and Talwar 2021, Theorem 3.1: n adaptive epsilon0-DP local randomisers on shuffled records.

    With e for epsilon0: log(1 + (e^e - 1) / (e^e + 1) (8 sqrt(e^e log(4 / delta) / n) + 8 e^e / n)), for e at most
    log(n / (16 log(2 / delta))); epsilon0 itself where that is less or the condition fails.
    """
    check_nonnegative("epsilon0", epsilon0)
    check_delta(delta)
    if n < 1 or delta == 0:
        return epsilon0
    if epsilon0 > shuffle_limit(n, delta):
        return epsilon0
    grown = math.exp(epsilon0)
    spread = 8 * math.sqrt(grown * math.log(4 / delta) / n) + 8 * grown / n
    return min(epsilon0, math.log1p(math.tanh(epsilon0 / 2) * spread))


def shuffle_limit(n: int, delta: float) -> float:
    """Largest epsilon0 that `shuffle_epsilon` amplifies: log(n / (16 log(2 / delta))); negative when there is none."""
    return math.log(n / (16 * math.log(2 / delta)))


def shuffle_delta(epsilon: float, epsilon0: float, n: int) -> float:
    """Exact hockey-stick divergence of the pair that dominates shuffling (same paper, Theorem 3.2: 'clones').

    Every other record hides the changed one with probability e^-epsilon0: C ~ Bin(n - 1, e^-epsilon0) clones, half of
    each colour. Tighter than `shuffle_epsilon`, and valid for every epsilon0.
    """
    check_nonnegative("epsilon", epsilon)
    check_nonnegative("epsilon0", epsilon0)
    if epsilon >= epsilon0:
        return 0.0
    p, clone = float(scipy.special.expit(epsilon0)), math.exp(-epsilon0)
    spread = 10 * math.sqrt((n - 1) * clone * (1 - clone)) + 60
    c = np.arange(max(0, int((n - 1) * clone - spread)), min(n - 1, int((n - 1) * clone + spread)) + 1)
    missed = float(binomial_up_to(c[0] - 1, n - 1, clone) + binomial_tail(c[-1] + 1, n - 1, clone))
    # P(a) = p B(a - 1) + (1 - p) B(a), Q the same with p and 1 - p swapped, B ~ Bin(c, 1/2): P > e^eps Q for large a.
    cut = (p * (1 + math.exp(epsilon)) - 1) / ((2 * p - 1) * (1 + math.exp(epsilon)))
    a = np.floor(cut * (c + 1))
    above = binomial_tail(a, c, 0.5)  # P(B >= a)
    at = binomial_masses(a, c, 0.5)
    from_cut = np.maximum(0.0, above - at)
    upper = p * above + (1 - p) * from_cut
    lower = (1 - p) * above + p * from_cut
    excess = np.maximum(0.0, upper - math.exp(epsilon) * lower)
    return min(1.0, missed + float(binomial_masses(c, n - 1, clone) @ excess))


def shuffle_epsilon_exact(epsilon0: float, n: int, delta: float) -> float:
    """Smallest epsilon at `delta` by `shuffle_delta`."""
    check_delta(delta)
    return min(epsilon0, smallest_epsilon(lambda e: shuffle_delta(e, epsilon0, n), delta, epsilon0, tolerance=1e-6))


def shuffled(local: Callable[[float], float], n: int, delta: float, *, exact: bool = False) -> float:
    """Epsilon at `delta` of n shuffled local randomisers that are (epsilon0, delta0)-DP on a curve.

    Same paper, Theorem 3.8: (epsilon0, delta0) randomisers add (e^epsilon + 1)(1 + e^-epsilon0 / 2) n delta0 to delta.
    The split of `delta` is searched; inf when nothing will do.

    Args:
        local: delta0 -> epsilon0.
        exact: amplify by `shuffle_delta` rather than by the closed form.
    """
    check_delta(delta)
    amplify = shuffle_epsilon_exact if exact else shuffle_epsilon
    best = local(0.0)
    for share in (0.02, 0.1, 0.3, 0.5, 0.8):
        for cap in (0.05, 0.3, 1.0, 3.0, 8.0):
            epsilon0 = local(share * delta / (1.5 * n * (math.exp(cap) + 1)))
            if math.isfinite(epsilon0):
                epsilon = amplify(epsilon0, n, (1 - share) * delta)
                if epsilon <= cap:
                    best = min(best, epsilon)
                    break
    return best


def largest_local_epsilon(epsilon: float, n: int, delta: float, limit: float = math.inf) -> float:
    """Largest epsilon0 <= limit with `shuffle_epsilon(epsilon0, n, delta) <= epsilon`; at least `epsilon` itself."""
    high = min(limit, shuffle_limit(n, delta))
    if high <= epsilon or shuffle_epsilon(high, n, delta) <= epsilon:
        return min(limit, max(high, epsilon))
    low = min(epsilon, high)
    return edge(lambda local: shuffle_epsilon(local, n, delta) > epsilon, low, high, tolerance=1e-12)[0]
