"""What a test needs that is not told which values are of which input, and sees only whether values are alike.

The fewest runs of any test are those of one that is told both laws. Where a mechanism hands out one of many values,
such as a key, a hash or noise of few bits, and nothing but repeats says which are of which input, a test has those to
learn from. Here the names of the values are drawn by chance for every audit. Then how often each value came from either
input is all that any test knows. The likelihood ratio of these counts against a private mechanism of the same kind, its
names drawn as well, has the largest power of all tests (Neyman and Pearson), on average over the names.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import signal, special


@dataclass(frozen=True)
class Unnamed:
    """A mechanism whose outputs are values that are alike or not, and no more.

    Attributes:
        kinds: (how many values, chance of each on the data, the same on the neighbour), kind by kind; over all values
            the chances of either input add up to 1.
    """

    kinds: tuple[tuple[int, float, float], ...]

    @property
    def epsilon(self) -> float:
        """Of pure differential privacy on this pair."""
        pairs = [sorted(chances) for _, *chances in self.kinds]
        return max(math.log(more / less) if less else math.inf for less, more in pairs)

    @functools.cached_property
    def laws(self) -> tuple[np.ndarray, np.ndarray]:
        """Of a value on the data, and on the neighbour."""
        sizes = [size for size, _, _ in self.kinds]
        first, second = (np.repeat([kind[side] for kind in self.kinds], sizes) for side in (1, 2))
        return first, second

    def draw(self, runs: int, rng: np.random.Generator) -> np.ndarray:
        """How often each value came from the data and from the neighbour, of `runs` on each: (values that came, 2)."""
        counts = np.stack([rng.multinomial(runs, law) for law in self.laws], axis=1)
        return counts[counts.any(axis=1)]

    def log_likelihood(self, counts: np.ndarray) -> float:
        """Of such counts, up to what is the same of all mechanisms; every value is as likely to have any name.

        It is the sum over all ways to give the values that came their kinds, by how many are of each kind: the
        coefficients of a polynomial in one variable for each kind but the last, of which all others are.
        """
        total = sum(size for size, _, _ in self.kinds)
        log, ways = 0.0, np.ones((1,) * (len(self.kinds) - 1))
        for (first, second), times in zip(*np.unique(counts, axis=0, return_counts=True), strict=True):
            chances = [(total * p) ** first * (total * q) ** second for _, p, q in self.kinds]
            ways = signal.convolve(ways, _power(chances, times), method="direct")
            if not (largest := ways.max()):
                return -math.inf
            log, ways = log + math.log(largest), ways / largest
        of_kinds = np.indices(ways.shape)
        every = (*of_kinds, len(counts) - of_kinds.sum(axis=0))
        with np.errstate(divide="ignore"):
            logs = np.log(ways) + sum(_places(kind[0], some) for kind, some in zip(self.kinds, every, strict=True))
        return float(log + special.logsumexp(logs) - counts.sum() * math.log(total))


def coins(values: int, epsilon: float) -> Unnamed:
    """Each value comes e^epsilon times as often from one input as from the other, half of them from either."""
    more, less = 2 / values * special.expit([epsilon, -epsilon])
    return Unnamed(((values // 2, more, less), (values - values // 2, less, more)))


@dataclass(frozen=True)
class Untold:
    """The test of a broken mechanism that is not told the names of its values.

    Attributes:
        private: what keeps the claim, and can hardly be told from it: any will do for a bound, the likest bounds most.
    """

    broken: Unnamed
    private: Unnamed

    def power(self, runs: int, level: float, seed: int, draws: int = 200) -> tuple[float, float]:
        """Of the best test from `runs` on each input at this level, and its standard error; rather too much.

        Where the ratio has ties, the test may find the private one as often as the next threshold above the level says.
        """
        rng = np.random.default_rng(seed)
        threshold = np.quantile(self._ratios(self.private, runs, rng, draws), 1 - level, method="lower")
        found = self._ratios(self.broken, runs, rng, draws) >= threshold
        # The threshold is drawn as well, which adds about as much again.
        return float(found.mean()), math.sqrt(2 * max(0.5 / draws, float(found.var())) / draws)

    def _ratios(self, drawn: Unnamed, runs: int, rng: np.random.Generator, draws: int) -> np.ndarray:
        seen = [drawn.draw(runs, rng) for _ in range(draws)]
        return np.array([self.broken.log_likelihood(each) - self.private.log_likelihood(each) for each in seen])


def _places(size: int, some: np.ndarray) -> np.ndarray:
    """log of size (size - 1) … (size - some + 1): which values of a kind those are."""
    able = (some >= 0) & (some <= size)
    left = np.where(able, size - some, 0)
    return np.where(able, special.gammaln(size + 1) - special.gammaln(left + 1), -np.inf)


def _power(chances: Sequence[float], times: int) -> np.ndarray:
    """(c_1 x_1 + … + c_K x_K)^times with x_K = 1: its coefficients by the powers of the other variables."""
    some = np.indices([times + 1 if chance > 0 else 1 for chance in chances[:-1]])
    every = np.array([*some, times - some.sum(axis=0)])
    able = (every >= 0).all(axis=0)
    every = np.where(able, every, 0)
    of_each = np.reshape(chances, (-1, *[1] * (len(chances) - 1)))
    logs = special.gammaln(times + 1) + (special.xlogy(every, of_each) - special.gammaln(every + 1)).sum(axis=0)
    return np.where(able, np.exp(logs), 0.0)
