"""Weighted guesses: a likelihood-ratio test of (epsilon, delta)-DP that is exact given where the outputs fell.

Guesses come in levels 1..K, the level being the weight of a right guess. Every (epsilon, delta)-DP pair is a
post-processing of leaky randomised response (Kairouz, Oh and Viswanath 2015, Theorem 3.1): with probability delta the
input is told, else its bit is told with odds e^epsilon. Given which trials leaked and how many guesses of each level
were made, a trial that did not leak is right with probability at most theta = e^epsilon / (1 + e^epsilon), one that
leaked with probability at most 1, all independently. Moving a leak to a higher level only raises the weighted sum (by
(K - l)(1 - B) for a Bernoulli B), so the worst case puts all leaks into the highest levels:

    p_j = P(j sure right guesses at the top + sum over levels of level * Bin(the others, theta) >= score)

is a p-value given j leaks, for every pair in the null and both directions of the promise. The number of leaks is
Bin(samples, delta), whatever the mechanism, but not given where the outputs fell. So the null is rejected when
p_j <= alpha_j for every j, with probability at most sum of P(j leaks) alpha_j if these levels were fixed beforehand.
Taking alpha_j = Phi(j w - z), w the normal score that a leak is thought to be worth, the smallest level is the p-value

    p = sum over j of P(j leaks) Phi(j w - z),    z = min over j of (Phi^-1(1 - p_j) + j w).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpcheck.errors import InvalidInput
from dpcheck.statistics.binomial import binomial_tail

Array = NDArray[np.float64]
_TRIMMED = 1e-13
_SUITS = 1e-3
"""Least tail under a change of measure that suits it."""
LEAK = 0.002
"""Most of the failure probability that pays for numbers of leaked trials beyond the largest that is looked at."""
LEAKS = 8
"""Numbers of leaks that are looked at; those between them are taken for the next larger one."""


def weighted_p_value(
    right: ArrayLike,
    wrong: ArrayLike,
    samples: int,
    epsilon: float,
    delta: float = 0.0,
    failure_probability: float = 0.05,
    leak_worth: float = 0.0,
    coin: float = 1.0,
    coin_of_leaks: float = 1.0,
) -> float:
    """p-value of (epsilon, delta)-DP, both directions, from guesses of levels 1..K.

    Best suited to a delta well below the chances of a guess: every leak is charged at the highest level.

    Args:
        right, wrong: (K,) guesses of level 1..K among `samples` coin-flipped trials.
        failure_probability: the level at which the p-value will be used; at most `LEAK` of it bounds the number of
            leaks.
        leak_worth: normal score that a leaked trial is thought to add, at least 0; whatever was fixed before the trials
            is valid, a good guess has power (0 charges the largest number of leaks).
        coin: in [0, 1], the part of the chance of this very score that counts; used where delta = 0. Drawn uniformly,
            apart from the trials, it makes the p-value exactly uniform where every guess is right with the largest
            chance that the null leaves (Tocher 1950); 1 is the plain p-value. Guesses that are all right count in full:
            a coin alone must not refute every epsilon.
        coin_of_leaks: the same where delta > 0, one coin for every number of leaks, and whatever the guesses. Given j
            leaks the score S is at most some S_j in law, and coin P(S_j >= S) + (1 - coin) P(S_j > S) falls as S and
            1 - coin grow: a p-value as well, which takes the place of p_j.
    """
    hits, misses = np.asarray(right, dtype=np.int64), np.asarray(wrong, dtype=np.int64)
    if hits.ndim != 1 or hits.shape != misses.shape or (hits < 0).any() or (misses < 0).any():
        raise InvalidInput("right and wrong must be one-dimensional counts of equal length")
    if int((hits + misses).sum()) > samples:
        raise InvalidInput(f"more guesses ({int((hits + misses).sum())}) than samples ({samples})")
    made = hits + misses
    if not made.any():
        return 1.0
    score = int((np.arange(1, len(hits) + 1) * hits).sum())
    theta = 1 / (1 + math.exp(-epsilon))
    if theta == 1:  # beyond epsilon = 37 in double precision: nothing but wrong guesses would be news, and those help
        return 1.0
    if delta == 0:
        return _randomised(score, made, theta, coin)
    leaks, chances, spent = _numbers_of_leaks(samples, delta, LEAK * failure_probability)
    leaked = np.array([_at_the_top(made, number) for number in leaks.tolist()])
    scores, rest = score - leaked @ np.arange(1, len(hits) + 1), made - leaked
    if coin_of_leaks == 1:
        given_leaks = np.array(_tails(scores.tolist(), rest, theta))
    else:
        cases = np.stack([scores, scores + 1], axis=1).ravel()
        least, beyond = np.reshape(_tails(cases.tolist(), np.repeat(rest, 2, axis=0), theta), (-1, 2)).T
        given_leaks = coin_of_leaks * least + (1 - coin_of_leaks) * beyond
    worth = leak_worth * leaks
    z = float((worth - scipy.special.ndtri(given_leaks)).min())
    return min(1.0, float(chances @ scipy.special.ndtr(worth - z)) + spent)


def _randomised(score: int, made: NDArray[np.int64], theta: float, coin: float) -> float:
    """P(sum > score) + coin P(sum = score), with no coin where the score is the largest."""
    if coin == 1 or score == np.arange(1, len(made) + 1) @ made:
        return _tails([score], made[None], theta)[0]
    least, beyond = _tails([score, score + 1], np.stack([made, made]), theta)
    return coin * least + (1 - coin) * beyond


@functools.lru_cache(maxsize=64)
def _numbers_of_leaks(samples: int, delta: float, chance: float) -> tuple[NDArray[np.int64], Array, float]:
    """Increasing numbers of leaks, the chance of each or a smaller one above the one before it, and of still more."""
    most, beyond = most_leaks(samples, delta, chance)
    least = min(most, int(scipy.stats.binom.ppf(0.05, samples, delta)))
    numbers = np.unique(np.rint(np.linspace(least, most, LEAKS)).astype(np.int64))
    return numbers, np.diff(scipy.stats.binom.cdf(numbers, samples, delta), prepend=0.0), beyond


def most_leaks(samples: int, delta: float, chance: float) -> tuple[int, float]:
    """The fewest leaks that are exceeded with at most this chance, and the chance with which they are."""
    # From the survival function itself: `binom.isf` gives up below 1e-16.
    low, high = -1, samples
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if scipy.stats.binom.sf(middle, samples, delta) <= chance else (middle, high)
    return high, float(scipy.stats.binom.sf(high, samples, delta))


def _at_the_top(made: NDArray[np.int64], leaks: int) -> NDArray[np.int64]:
    """(K,) leaks of each level when they fill the levels from the highest one."""
    above = np.concatenate([np.cumsum(made[::-1])[::-1][1:], [0]])
    return np.asarray(np.minimum(np.maximum(leaks - above, 0), made))


def _tails(scores: Sequence[int], made: NDArray[np.int64], theta: float) -> list[float]:
    """P(sum over levels of level * Bin(made, theta) >= score) of cases that differ little, up to a relative 1e-8.

    Deep tails by an exponential change of measure (Esscher 1932) that moves the mean of the sum to the score: what the
    transform cuts off and rounds is small beside the tail itself. One change, that of the middle case, serves all of
    them, but those that it leaves deep in the tail, where the cut would show.

    Args:
        scores: (cases,); made: (cases, K) guesses, no more in a later case than in the first.
    """
    if made.shape[1] == 1:
        return [float(binomial_tail(*case, theta)) for case in zip(scores, made[:, 0], strict=True)]
    seen = np.flatnonzero(made[0])
    level, made = seen + 1, made[:, seen]
    middle = len(scores) // 2
    tilt = _tilt(scores[middle], level, made[middle], theta)
    lean = scipy.special.expit(scipy.special.logit(theta) + tilt * level)
    spread = math.sqrt(float((level**2 * made[0]) @ (lean * (1 - lean))))
    # By Bernstein's inequality less than `_TRIMMED` lies further out, of the sum and of each of its parts.
    reach = math.ceil(8 * spread + 40 * float(level.max(initial=0)))
    size = scipy.fft.next_fast_len(2 * reach + 1, real=True)

    @functools.cache
    def transform(place: int, n: int) -> NDArray[np.complex128]:
        return np.asarray(scipy.fft.rfft(_part(int(level[place]), n, float(lean[place]), size)))

    @functools.cache
    def law_of(*numbers: int) -> Array:
        parts = [transform(place, n) for place, n in enumerate(numbers)]
        return np.asarray(scipy.fft.irfft(np.prod(parts, axis=0), size))

    def tail(score: int, made: NDArray[np.int64]) -> float:
        centre = round(float((level * made) @ lean))
        if score <= max(0, centre - reach):
            return 1.0
        if score > int(level @ made):
            return 0.0
        law = law_of(*made.tolist())
        # Sums are known modulo `size`; all but `_TRIMMED` of them lie in one window of that width.
        sums = np.arange(score, centre + reach + 1)
        beyond = float(np.maximum(law[sums % size], 0.0) @ np.exp(-tilt * (sums - score)))
        if beyond < _SUITS and len(scores) > 1:
            alone = np.bincount(level - 1, weights=made).astype(np.int64)
            return _tails([score], alone[None], theta)[0]
        # The change of measure at the score: log of the moment generating function, less tilt * score.
        moment = float(made @ np.logaddexp(math.log1p(-theta), math.log(theta) + tilt * level)) - tilt * score
        return min(1.0, math.exp(moment) * ((1 + 1e-8) * beyond + 2 * _TRIMMED * len(made)))

    return [tail(*case) for case in zip(scores, made, strict=True)]


def _tilt(score: int, level: NDArray[np.int64], made: NDArray[np.int64], theta: float) -> float:
    """The exponent under which the sum has its mean at the score; 0 where the mean is there already or beyond."""
    if score <= 0:
        return 0.0
    weight, odds = level * made, scipy.special.logit(theta)
    # The largest sum of all needs no infinite exponent: one guess short of it is near enough.
    aim = min(float(score), float(weight.sum()) - 0.5 * float(level.min()))

    def gap(tilt: float) -> float:
        return float(weight @ scipy.special.expit(odds + tilt * level)) - aim

    if gap(0.0) >= 0:
        return 0.0
    high = 1.0
    while gap(high) < 0:
        high *= 2
    return float(scipy.optimize.brentq(gap, 0.0, high, xtol=1e-6))


def _part(level: int, n: int, theta: float, size: int) -> Array:
    """(size,) law of level * Bin(n, theta) modulo size."""
    reach = 8 * math.sqrt(n * theta * (1 - theta)) + 40
    k = np.arange(max(0, math.floor(n * theta - reach)), min(n, math.ceil(n * theta + reach)) + 1)
    return np.asarray(np.bincount(level * k % size, weights=_binomial(k, n, theta), minlength=size), dtype=float)


def _binomial(k: NDArray[np.int64], n: int, theta: float) -> Array:
    """Probabilities of Bin(n, theta)."""
    ways = scipy.special.gammaln(n + 1) - scipy.special.gammaln(k + 1) - scipy.special.gammaln(n - k + 1)
    return np.asarray(np.exp(ways + scipy.special.xlogy(k, theta) + scipy.special.xlog1py(n - k, -theta)))


def epsilon_lower_weighted(
    right: ArrayLike, wrong: ArrayLike, samples: int, delta: float = 0.0, failure_probability: float = 0.05
) -> float:
    """Certified lower bound on epsilon at `delta`: the p-value grows with epsilon, its root is the bound; 0 if none."""

    def excess(epsilon: float) -> float:
        p = weighted_p_value(right, wrong, samples, epsilon, delta, failure_probability)
        return math.log(max(p, 1e-300) / failure_probability)

    if excess(0.0) > 0:
        return 0.0
    total_right, total_wrong = float(np.sum(right)), float(np.sum(wrong))
    high = max(0.5, math.log((total_right + 1) / (total_wrong + 0.5)))
    while excess(high) <= 0 and high < 700:
        high = 1.3 * high + 0.2
    value = float(scipy.optimize.brentq(excess, 0.0, high, xtol=1e-5))
    return max(0.0, value - 2e-5)
