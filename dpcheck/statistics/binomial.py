"""Exact binomial inference: intervals, and lower bounds on epsilon from the counts of an event.

Everything an (epsilon, delta) audit counts is one of two designs:

* *coin-flipped sides*: every one of `samples` trials runs the mechanism on a side chosen by a fair coin, and a rule
  looks at the output and guesses the side, or abstains. `right` and `wrong` guesses are trinomial, and
  (epsilon, delta)-DP forces P(right) <= e^epsilon P(wrong) + delta, whatever the rule. A rule that guesses either side
  uses both directions of the promise as one piece of evidence.
* *two samples*: an event is counted in n_p runs on one input and n_q runs on the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpcheck.errors import InvalidInput

Array = NDArray[np.float64]
NUISANCE = 1e-4
"""Share of the failure probability that pays for confining the nuisance parameter (Berger and Boos 1994)."""
_ROWS, _POINTS = 400, 41
_UNSEEN = 1e-9
"""Part of what confining it costs; a row of a smaller chance counts in full, for all of them add next to nothing."""


def check_probability(failure_probability: float) -> None:
    if not 0 < failure_probability < 1:
        raise InvalidInput(f"failure_probability must lie in (0, 1), got {failure_probability!r}")


def clopper_pearson(
    successes: ArrayLike,
    trials: ArrayLike,
    failure_probability: float = 0.05,
    side: Literal["lower", "upper", "two"] = "two",
) -> tuple[Array, Array]:
    """Exact interval for a binomial probability (Clopper and Pearson 1934).

    Args:
        successes, trials: counts of any common shape.
        failure_probability: of the whole interval; one-sided intervals spend all of it on their side.

    Returns:
        (lower, upper); the free side of a one-sided interval is 0 or 1.

    Raises:
        InvalidInput: counts that are not 0 <= successes <= trials.
    """
    check_probability(failure_probability)
    x, n = np.broadcast_arrays(np.asarray(successes, dtype=float), np.asarray(trials, dtype=float))
    if not ((x >= 0) & (x <= n)).all():
        raise InvalidInput("counts must satisfy 0 <= successes <= trials")
    tail = failure_probability / 2 if side == "two" else failure_probability
    lower, upper = np.zeros(x.shape), np.ones(x.shape)
    if side != "upper":
        some = x > 0
        lower[some] = scipy.special.betaincinv(x[some], n[some] - x[some] + 1, tail)
    if side != "lower":
        rest = x < n
        upper[rest] = scipy.special.betainccinv(x[rest] + 1, n[rest] - x[rest], tail)
    return lower, upper


def binomial_tail(at_least: ArrayLike, trials: ArrayLike, probability: ArrayLike) -> Array:
    """P(Bin(trials, probability) >= at_least), elementwise; 1 where at_least <= 0.

    A regularised incomplete beta function (Abramowitz and Stegun 1964, 26.5.24).
    """
    k, n, p = np.broadcast_arrays(*(np.asarray(v, dtype=float) for v in (at_least, trials, probability)))
    inside = (k > 0) & (k <= n)
    tail = scipy.special.betainc(np.where(inside, k, 1.0), np.where(inside, n - k + 1, 1.0), p)
    return np.where(k <= 0, 1.0, np.where(k > n, 0.0, tail))


def binomial_up_to(at_most: ArrayLike, trials: ArrayLike, probability: ArrayLike) -> Array:
    """P(Bin(trials, probability) <= at_most), elementwise, with the relative accuracy of `binomial_tail`."""
    k, n, p = np.broadcast_arrays(*(np.asarray(v, dtype=float) for v in (at_most, trials, probability)))
    inside = (k >= 0) & (k < n)
    tail = scipy.special.betaincc(np.where(inside, k + 1, 1.0), np.where(inside, n - k, 1.0), p)
    return np.where(k < 0, 0.0, np.where(k >= n, 1.0, tail))


def binomial_masses(k: ArrayLike, trials: ArrayLike, probability: ArrayLike) -> Array:
    """P(Bin(trials, probability) = k), elementwise, k whole; 0 outside of 0..trials.

    Each is the difference of two tails, of those on its own side of the mean, so that small ones are no rounding.
    """
    k, n, p = np.broadcast_arrays(*(np.asarray(v, dtype=float) for v in (k, trials, probability)))
    above = binomial_tail(k, n, p) - binomial_tail(k + 1, n, p)
    return np.where(k > n * p, above, binomial_up_to(k, n, p) - binomial_up_to(k - 1, n, p))


def binomial_quantile(chance: ArrayLike, trials: ArrayLike, probability: ArrayLike) -> Array:
    """The least k with P(Bin(trials, probability) <= k) >= chance, elementwise."""
    q, n, p = np.broadcast_arrays(*(np.asarray(v, dtype=float) for v in (chance, trials, probability)))
    low, high = np.full(q.shape, -1.0), n.copy()
    while (high - low > 1).any():
        middle = np.floor((low + high) / 2)
        enough = binomial_up_to(middle, n, p) >= q
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high


def epsilon_lower_conditional(right: ArrayLike, wrong: ArrayLike, failure_probability: float = 0.05) -> Array:
    """Lower bound on the epsilon of pure DP from right and wrong guesses; 0 when there is no evidence.

    Given the number of guesses, `right` is binomial with probability at most e^epsilon / (1 + e^epsilon): one
    binomial, so the whole failure probability goes into one Clopper-Pearson bound (the conditional test of Przyborowski
    and Wilenski 1940). Exact with coin-flipped sides; conservative in the same sense as Clopper-Pearson itself.
    """
    right, wrong = np.asarray(right, dtype=float), np.asarray(wrong, dtype=float)
    lower, _ = clopper_pearson(right, right + wrong, failure_probability, "lower")
    odds = np.where(lower > 0.5, lower, 0.5)
    return np.asarray(np.log(odds) - np.log1p(-odds))


# ---------------------------------------------------------------------------------------------------------------------
# P(right) <= e^epsilon P(wrong) + delta with delta > 0: one exact test, the nuisance parameter maximised over.


class _Design(Protocol):
    """A pair of counts (outer, inner): outer ~ Bin(samples, s), inner given outer ~ Bin(size(outer), inner_law(s))."""

    @property
    def samples(self) -> int: ...
    def size(self, outer: Array) -> Array: ...
    def inner_law(self, s: Array) -> Array: ...
    def signed_root(self, outer: Array, inner: Array) -> Array: ...
    def lowest(self) -> float: ...
    def highest(self) -> float: ...


@dataclass(frozen=True)
class _Guesses:
    """Outer: guesses made; inner: right ones, on the boundary a share (e^epsilon + delta/s)/(1 + e^epsilon) of them."""

    samples: int
    epsilon: float
    delta: float

    def size(self, outer: Array) -> Array:
        return outer

    def lowest(self) -> float:
        return self.delta

    def highest(self) -> float:
        return 1.0

    def inner_law(self, s: Array) -> Array:
        e = math.exp(-self.epsilon)
        return np.minimum(1.0, (1 + e * self.delta / s) / (1 + e))

    def signed_root(self, outer: Array, inner: Array) -> Array:
        right, wrong, rest = inner, outer - inner, self.samples - outer
        w = self._wrong(right, wrong, rest)
        r = np.minimum(1.0, np.exp(self.epsilon) * w + self.delta)
        free = _entropy(right, self.samples) + _entropy(wrong, self.samples) + _entropy(rest, self.samples)
        bound = (
            scipy.special.xlogy(right, r)
            + scipy.special.xlogy(wrong, w)
            + scipy.special.xlogy(rest, np.maximum(0.0, 1 - r - w))
        )
        excess = right - np.exp(self.epsilon) * wrong - self.delta * self.samples
        return np.asarray(np.sign(excess) * np.sqrt(2 * np.maximum(0.0, free - bound)))

    def _wrong(self, right: Array, wrong: Array, rest: Array) -> Array:
        """Maximum-likelihood P(wrong) on the boundary: root of a w^2 + b w - c in [0, (1-delta)/(1+e^epsilon)]."""
        e, d = math.exp(self.epsilon), self.delta
        a = e * (e + 1) * (right + wrong + rest)
        b = (e + 1) * d * (wrong + rest) - e * (1 - d) * (right + wrong)
        c = wrong * d * (1 - d)
        return _positive_root(a, b, c, (1 - d) / (1 + e))


@dataclass(frozen=True)
class _TwoSamples:
    """Outer: hits among `samples` = n_q runs on one input; inner: hits among n_p runs on the other."""

    samples: int
    runs: int
    epsilon: float
    delta: float

    def size(self, outer: Array) -> Array:
        return np.full(outer.shape, float(self.runs))

    def lowest(self) -> float:
        return 0.0

    def highest(self) -> float:
        return (1 - self.delta) * math.exp(-self.epsilon)

    def inner_law(self, s: Array) -> Array:
        return np.asarray(np.minimum(1.0, math.exp(self.epsilon) * s + self.delta))

    def signed_root(self, outer: Array, inner: Array) -> Array:
        e, d, n_p, n_q = math.exp(self.epsilon), self.delta, self.runs, self.samples
        q = self._hit(outer, inner)
        p = np.minimum(1.0, e * q + d)
        free = _entropy(inner, n_p) + _entropy(n_p - inner, n_p) + _entropy(outer, n_q) + _entropy(n_q - outer, n_q)
        bound = np.asarray(scipy.special.xlogy(inner, p) + scipy.special.xlogy(n_p - inner, 1 - p))
        bound = bound + scipy.special.xlogy(outer, q) + scipy.special.xlogy(n_q - outer, 1 - q)
        excess = inner / n_p - e * outer / n_q - d
        return np.asarray(np.sign(excess) * np.sqrt(2 * np.maximum(0.0, free - bound)))

    def _hit(self, outer: Array, inner: Array) -> Array:
        """Maximum-likelihood q on the boundary p = e^epsilon q + delta: bisection on the (decreasing) score."""
        e, d = math.exp(self.epsilon), self.delta
        low, high = np.zeros(outer.shape), np.full(outer.shape, self.highest())
        for _ in range(60):
            q = (low + high) / 2
            p = e * q + d
            # Strictly inside (0, 1) up to rounding: no division by zero.
            p, q = np.clip(p, 1e-300, 1 - 1e-16), np.clip(q, 1e-300, 1 - 1e-16)
            score = e * (inner / p - (self.runs - inner) / (1 - p)) + outer / q - (self.samples - outer) / (1 - q)
            low, high = np.where(score > 0, q, low), np.where(score > 0, high, q)
        return np.asarray((low + high) / 2)


def _entropy(count: ArrayLike, total: float) -> Array:
    count = np.asarray(count, dtype=float)
    return np.asarray(scipy.special.xlogy(count, count / total))


def _positive_root(a: Array, b: Array, c: Array, top: float) -> Array:
    """The root of a w^2 + b w - c in [0, top] (a > 0, c >= 0), without cancellation."""
    root = np.sqrt(b * b + 4 * a * c)
    w = np.where(b > 0, 2 * c / np.where(b > 0, b + root, 1.0), (root - b) / (2 * a))
    return np.clip(w, 0.0, top)


def _rejection(design: _Design, outer: Array, statistic: float) -> Array:
    """For each outer count, the fewest inner hits with a signed root >= statistic (size + 1: none)."""
    low, high = np.full(outer.shape, -1.0), design.size(outer) + 1
    size = design.size(outer)
    while (high - low > 1).any():
        middle = np.floor((low + high) / 2)
        reached = design.signed_root(outer, np.minimum(middle, size)) >= statistic
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    return high


def _p_value(design: _Design, outer: int, inner: int, failure_probability: float) -> float:
    """Exact: sup over the nuisance s of P(signed root >= the observed one), s confined at `NUISANCE` of the level."""
    observed = float(design.signed_root(np.array([float(outer)]), np.array([float(inner)]))[0])
    if observed <= 0:
        return 1.0
    spent = NUISANCE * failure_probability
    low, high = (float(v[0]) for v in clopper_pearson([outer], [design.samples], spent))
    low, high = max(low, design.lowest()), min(max(high, design.lowest()), design.highest())
    if low >= high:
        low = high
    reach = clopper_rows(design.samples, low, high, spent)
    tops = _rejection(design, reach, observed - 1e-9)
    # Rows are blocks of outer counts: every count of a block gets the most generous rejection of its two ends, which
    # can only raise the probability.
    generous = np.minimum(tops[:-1], tops[1:])
    size = design.size(np.maximum(reach[1:] - 1, reach[:-1]))

    def level(s: Array) -> Array:
        s = np.atleast_1d(s)[:, None]
        edges = binomial_tail(reach[None, :], design.samples, s)
        weight = np.maximum(0.0, edges[:, :-1] - edges[:, 1:])
        inner_law = np.broadcast_to(design.inner_law(s), weight.shape)
        # A row that is all but never met counts in full. Within a block the largest size has the largest tail.
        tail, seen = np.ones(weight.shape), weight > _UNSEEN * spent
        rows = np.nonzero(seen)[1]
        tail[seen] = binomial_tail(generous[rows], size[rows], inner_law[seen])
        return np.asarray((weight * tail).sum(axis=1))

    grid = np.unique(np.linspace(low, high, _POINTS))
    values = level(grid)
    best = int(np.argmax(values))
    worst = float(values[best])
    left, right = grid[max(0, best - 1)], grid[min(len(grid) - 1, best + 1)]
    if left < right:
        refined = scipy.optimize.minimize_scalar(
            lambda s: -float(level(np.array([s]))[0]), bounds=(left, right), method="bounded"
        )
        worst = max(worst, -float(refined.fun))
    return min(1.0, worst + 2 * spent)


def clopper_rows(samples: int, low: float, high: float, tail: float) -> Array:
    """Outer counts that matter when s lies in [low, high]: at most `_ROWS` block edges, all but `tail` of the mass.

    By Bernstein's inequality (1924), whose variance keeps blocks narrow where s is near 1, too.
    """
    width = math.sqrt(2 * math.log(2 / tail))
    first = samples * low - width * math.sqrt(samples * low * (1 - low)) - width * width / 3 - 1
    last = samples * high + width * math.sqrt(samples * high * (1 - high)) + width * width / 3 + 1
    first_count, last_count = max(0, math.floor(first)), min(samples, math.ceil(last))
    step = max(1, math.ceil((last_count - first_count) / _ROWS))
    return np.append(np.arange(first_count, last_count, step), [last_count, last_count + 1]).astype(float)


def guess_p_value(
    right: int,
    wrong: int,
    samples: int,
    epsilon: float,
    delta: float,
    failure_probability: float = 0.05,
    coin: float = 1.0,
) -> float:
    """Exact p-value of P(right) <= e^epsilon P(wrong) + delta with coin-flipped sides.

    Signed-root likelihood-ratio statistic; its tail is computed under the boundary, maximised over the probability of
    a guess within a confidence set (Berger and Boos 1994).
    With delta = 0 this is the conditional binomial tail of `epsilon_lower_conditional`.

    Args:
        right, wrong: guesses among `samples` trials.
        failure_probability: the level at which the p-value will be used; 1e-4 of it confines the nuisance parameter.
        coin: in [0, 1], the part of the chance of these very counts that counts, where delta = 0; see
            `dpcheck.statistics.weighted.weighted_p_value`.
    """
    _check_guesses(right, wrong, samples, delta)
    if delta == 0:
        least, beyond = binomial_tail([right, right + 1], right + wrong, 1 / (1 + math.exp(-epsilon)))
        return float(coin * least + (1 - coin) * beyond) if wrong else float(least)
    return _p_value(_Guesses(samples, epsilon, delta), right + wrong, right, failure_probability)


def two_sample_p_value(
    hits_p: int, runs_p: int, hits_q: int, runs_q: int, epsilon: float, delta: float, failure_probability: float = 0.05
) -> float:
    """Exact p-value of P(A) <= e^epsilon Q(A) + delta from two independent samples of fixed sizes.

    Unconditional, as Barnard's test (1947), with the nuisance parameter confined (Berger and Boos 1994).
    """
    for hits, runs in ((hits_p, runs_p), (hits_q, runs_q)):
        if not 0 <= hits <= runs or runs < 1:
            raise InvalidInput(f"counts must satisfy 0 <= hits <= runs and runs >= 1, got {hits} of {runs}")
    return _p_value(_TwoSamples(runs_q, runs_p, epsilon, delta), hits_q, hits_p, failure_probability)


def epsilon_lower_guesses(
    right: int, wrong: int, samples: int, delta: float = 0.0, failure_probability: float = 0.05
) -> float:
    """Certified lower bound on epsilon at `delta` from right and wrong guesses; 0 when there is no evidence.

    The tests of growing epsilon are a fixed sequence, each at the full failure probability; their p-values grow with
    epsilon, so the first one that is not rejected is found by root search.
    """
    _check_guesses(right, wrong, samples, delta)
    if delta == 0:
        return float(epsilon_lower_conditional(right, wrong, failure_probability))
    return invert_upwards(
        lambda epsilon: guess_p_value(right, wrong, samples, epsilon, delta, failure_probability),
        failure_probability,
        guess=_plug_in(right, wrong, samples, delta),
    )


def epsilon_lower_two_samples(
    hits_p: int, runs_p: int, hits_q: int, runs_q: int, delta: float = 0.0, failure_probability: float = 0.05
) -> float:
    """Certified lower bound on the epsilon of P(A) <= e^epsilon Q(A) + delta; 0 when there is no evidence."""
    return invert_upwards(
        lambda epsilon: two_sample_p_value(hits_p, runs_p, hits_q, runs_q, epsilon, delta, failure_probability),
        failure_probability,
        guess=_plug_in(hits_p / runs_p, hits_q / runs_q + 0.5 / runs_q, 1, delta),
    )


def _plug_in(right: float, wrong: float, samples: int, delta: float) -> float:
    excess = right - samples * delta
    return max(0.1, math.log(excess / max(wrong, 0.5 if samples > 1 else 1e-12))) if excess > 0 else 0.1


def invert_upwards(p_value: Callable[[float], float], failure_probability: float, guess: float = 1.0) -> float:
    """Largest epsilon that a fixed sequence of tests, upwards from 0, rejects; 0 when it does not reject 0.

    Each test has the full level: the first true null stops the sequence (Maurer, Hothorn and Lehmacher 1995).

    Args:
        p_value: epsilon -> p-value, growing with epsilon.
        guess: where to look first.
    """
    needed = -float(scipy.special.ndtri(failure_probability))

    def margin(epsilon: float) -> float:
        return -float(scipy.special.ndtri(max(p_value(epsilon), 1e-300))) - needed

    return largest_rejected(margin, guess)


CLOSE = 1e-4
"""Score by which a bound may lie above its boundary."""


def largest_rejected(margin: Callable[[float], float], guess: float = 1.0) -> float:
    """An epsilon that a fixed sequence of tests, upwards from 0, rejects, next to the largest; 0 when it does not.

    Args:
        margin: epsilon -> score above its boundary, falling with epsilon; a rejection where it is 0 or more.
        guess: where to look first.
    """
    low = high = max(guess, 1e-3)
    at_low = at_high = margin(low)
    step = 0.1 * low + 0.05
    while at_low < 0:
        if low == 0:
            return 0.0
        high, at_high = low, at_low
        low, step = max(0.0, low - step), 2 * step
        at_low = margin(low)
    while at_high >= 0:
        if high > 700:
            return high
        low, at_low = high, at_high
        high, step = high + step, 2 * step
        at_high = margin(high)
    # False position (Illinois) and, at times, halving: scores are nearly straight. The lower end is always rejected.
    pull, push = at_low, at_high
    for turn in range(60):
        if at_low < CLOSE or high - low < 1e-5:
            break
        share = 0.5 if turn % 4 == 3 else (pull - CLOSE / 2) / (pull - push)
        middle = low + min(max(share, 1e-3), 1 - 1e-3) * (high - low)
        at = margin(middle)
        if at >= 0:
            low, at_low, pull, push = middle, at, at, push / 2
        else:
            high, push, pull = middle, at, max(pull / 2, CLOSE)
    return low


def _check_guesses(right: int, wrong: int, samples: int, delta: float) -> None:
    if min(right, wrong) < 0 or right + wrong > samples:
        raise InvalidInput(f"counts must satisfy right + wrong <= samples, got {right} + {wrong} of {samples}")
    if not 0 <= delta < 1:
        raise InvalidInput(f"delta must lie in [0, 1), got {delta!r}; 0 is pure DP")
