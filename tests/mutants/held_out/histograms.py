"""Histograms, keys and sketches: which bins are told, whose noise they have, how many of them a record moves."""

import math

import numpy as np
from scipy import stats

import dpcheck as dp

from ._draws import KEEP, flip
from ._told import Mixture, Told, apart, bug, exact_at, laplace, line, product, revealed, sound, table

PURE = dp.PureDP(1.0)
ONE_KEY, TWO_KEYS = np.array([1.0]), np.array([2.0])
FIRST, SECOND = np.array([1.0, 0.0]), np.array([0.0, 1.0])
RATIO = math.exp(-1)
NEW = laplace()
KEPT = stats.laplace.sf(7.0)
"""Chance that a bin of one record passes a threshold of 8."""


def counts(moved, scale=1.0):
    """So many bins, all of which the record moves by one."""
    return lambda data, rng, trials: data.sum() + rng.laplace(scale=scale, size=(trials, moved))


def geometric(moved, ratio=RATIO):
    """The same with geometric noise: of an output only whether it is above 0 tells."""
    return lambda data, rng, trials: (
        data.sum() + rng.geometric(1 - ratio, (trials, moved)) - rng.geometric(1 - ratio, (trials, moved))
    )


def above_zero(moved, ratio=RATIO):
    up = ratio / (1 + ratio)
    laws = (stats.binom.pmf(np.arange(moved + 1), moved, chance) for chance in (up, 1 - up))
    return table(*laws, lambda y: (y > 0).sum(axis=1))


def noisy_keys(threshold):
    """A bin is told when its noisy count passes the threshold; a bin without records is never looked at."""

    def run(data, rng, trials):
        noisy = data.sum() + rng.laplace(size=trials)
        return np.where((data.sum() > 0) & (noisy > threshold), noisy, 0.0)

    return run


def rows_of_a_sketch(data, rng, trials):
    """Signs of a random hash, times the records."""
    return rng.choice([-1.0, 1.0], (trials, len(data))) @ data


def signs_law(records):
    """Law of the sum of so many random signs, from -4 to 4."""
    law = np.zeros(9)
    law[4 - records : 5 + records : 2] = stats.binom.pmf(np.arange(records + 1), records, 0.5)
    return law


def registers(data, rng, trials):
    """The register of a distinct count: the longest run of zeros among the hashes, which are drawn anew."""
    return rng.geometric(0.5, (trials, len(data))).max(axis=1)


def register_law(records):
    """Runs up to 40; longer ones have a chance below 1e-11, which is put to the last."""
    below = (1 - 0.5 ** np.arange(41)) ** records
    return np.append(np.diff(below[:-1]), 1 - below[-2])


NOISES = np.random.default_rng(80).laplace(size=(2, 80))


def from_a_table(data, rng, trials):
    """Two noisy counts: three of ten noises are kept ones, of 80 for each bin. The record is in the second bin."""
    kept = rng.random((trials, 2)) < 0.3
    old = NOISES[np.arange(2), rng.integers(80, size=(trials, 2))]
    return np.where(kept, old, rng.laplace(size=(trials, 2))) + np.array([0.0, data.sum()])


def of_the_table(y):
    """0 and 1: the noise of the second bin is a kept one, the record being absent or present; 2 and more: a new one."""
    old, moved = (np.isclose(y[:, 1, None], NOISES[1] + shift, rtol=0, atol=1e-9).any(axis=1) for shift in (0, 1))
    return np.where(old, 0, np.where(moved, 1, 2 + NEW.cell(y[:, 1])))


def table_laws():
    p, q = NEW.laws()
    return np.r_[0.3, 0, 0.7 * p], np.r_[0, 0.3, 0.7 * q]


def drawn_record(data, rng, trials):
    return data[rng.integers(len(data), size=trials)]


always_told = bug(
    "held-histogram-empty-bins-left-out",
    "noisy counts of the bins that are not empty, and of those only",
    dp.ApproxDP(1.0, 1e-3),
    revealed(lambda y: y != 0),
    noisy_keys(-math.inf),
)
low_threshold = bug(
    "held-partition-threshold-too-low",
    "a threshold of 3 for noisy counts where delta asks for 1 + log(1/(2 delta)) = 7.2",
    dp.ApproxDP(1.0, 1e-3),
    table([1, 0], [stats.laplace.cdf(2), stats.laplace.sf(2)], lambda y: y > 0),
    noisy_keys(3.0),
)
threshold_before_noise = bug(
    "held-partition-threshold-before-the-noise",
    "bins are left out by their true count, and noised afterwards",
    dp.ApproxDP(1.0, 1e-3),
    revealed(lambda y: y != 0),
    lambda data, rng, trials: np.where(data.sum() >= 2, data.sum() + rng.laplace(size=trials), 0.0),
    (ONE_KEY, TWO_KEYS),
)
one_noise_for_bins = bug(
    "held-histogram-one-noise-for-all-bins",
    "one noise for both bins: their difference is exact",
    PURE,
    revealed(lambda y: y[:, 0] < y[:, 1]),
    lambda data, rng, trials: data + rng.laplace(size=(trials, 1)),
    (FIRST, SECOND),
)
kept_noises = bug(
    "held-histogram-with-a-table-of-noise",
    "three of ten noises are taken from a table of 80 for each bin, which is not drawn anew",
    PURE,
    Told(table_laws, of_the_table),
    from_a_table,
)
replaced_as_removed = bug(
    "held-histogram-replacement-moves-two-bins",
    "noise for one record more or less, where one is replaced by another",
    PURE,
    product(laplace(-1.0, cells=16, of=lambda y: y - 1), laplace(cells=16)),
    lambda data, rng, trials: data + rng.laplace(size=(trials, 2)),
    (FIRST, SECOND),
)
hierarchy = bug(
    "held-histogram-tree-charged-once",
    "a record counts on three levels of a tree, each with the noise of one",
    PURE,
    product(*[laplace(cells=8)] * 3),
    counts(3),
)
distinct_of_three = bug(
    "held-distinct-count-of-three-keys",
    "a record brings three new keys to a distinct count of sensitivity 1",
    PURE,
    laplace(3.0, cells=48),
    lambda data, rng, trials: 3 * data.sum() + rng.laplace(size=trials),
)
total_exact = bug(
    "held-histogram-total-kept-exact",
    "the mean noise is taken off, 'so that the total is right'",
    PURE,
    revealed(lambda y: y.sum(axis=1) > 0.5),
    lambda data, rng, trials: data + (noise := rng.laplace(size=(trials, 4))) - noise.mean(axis=1, keepdims=True),
    (np.zeros(4), np.array([1.0, 0.0, 0.0, 0.0])),
)
cells_of_count_min = bug(
    "held-count-min-charged-for-one-row",
    "a record moves a cell in each of three rows of a sketch, noised as one",
    PURE,
    above_zero(3),
    geometric(3),
)
two_hashes = bug(
    "held-bloom-filter-two-hashes",
    "a record sets two bits of a Bloom filter, each flipped as if it were the only one",
    PURE,
    table(*(stats.binom.pmf(np.arange(3), 2, keep) for keep in (1 - KEEP, KEEP)), lambda y: y.sum(axis=1)),
    lambda data, rng, trials: flip(np.full((trials, 2), int(data.sum())), KEEP, rng),
)
ones_flipped = bug(
    "held-bloom-filter-zeros-kept",
    "only bits that are set are flipped, a zero stays zero",
    PURE,
    table([1, 0], [1 - KEEP, KEEP]),
    lambda data, rng, trials: int(data.sum()) * (rng.random(trials) < KEEP).astype(int),
)
register = bug(
    "held-distinct-register-private-by-hashing",
    "the register of a distinct count of two, thought private because its hash is random",
    dp.PureDP(0.5),
    table(register_law(1), register_law(2), lambda y: np.minimum(y, 40) - 1),
    registers,
    (np.zeros(1), np.zeros(2)),
)
random_signs = bug(
    "held-sketch-of-random-signs",
    "a sum of records with random signs, thought private because the signs are: its parity counts",
    PURE,
    Told(lambda: (signs_law(3), signs_law(4)), lambda y: y.astype(int) + 4),
    rows_of_a_sketch,
    (np.array([1.0, 1.0, 1.0, 0.0]), np.ones(4)),
)
random_projection = bug(
    "held-projection-without-noise",
    "a random Gaussian projection without noise: its spread is the norm of the data, 1 against 2",
    dp.ApproxDP(0.5, 1e-2),
    line(stats.norm(0, 1), stats.norm(0, 2), -14, 14),
    lambda data, rng, trials: rng.normal(size=(trials, len(data))) @ data,
    (np.array([1.0, 0, 0, 0]), np.ones(4)),
)
released_record = bug(
    "held-reservoir-of-one",
    "one record in ten is told as it is, delta said to be 1/100",
    dp.ApproxDP(0.1, 0.01),
    table([1, 0], [0.9, 0.1]),
    drawn_record,
    (np.zeros(10), np.r_[np.zeros(9), 1.0]),
)
two_sketches = bug(
    "held-sketch-merged-after-noise-twice",
    "a sketch is told by hour and by day, with the noise of one",
    dp.PureDP(1.2),
    above_zero(2),
    geometric(2),
)
partial_noise = bug(
    "held-histogram-large-counts-left-bare",
    "counts of 5 and more are told without noise, being large",
    dp.ApproxDP(1.0, 1e-2),
    revealed(lambda y: y == 5),
    lambda data, rng, trials: np.where(data.sum() >= 5, data.sum(), data.sum() + rng.laplace(size=trials)),
    (np.full(1, 4.0), np.full(1, 5.0)),
)

enough_threshold = sound(
    "held-partition-threshold",
    "bins pass at a noisy count of 8: one record does so with probability e^-7/2",
    dp.ApproxDP(1.0, 1e-3),
    apart(lambda y: y > 0, 0.0, KEPT, table([1], [1], lambda y: 0 * y)),
    noisy_keys(8.0),
)
moved_charged = sound(
    "held-histogram-tree-charged-for-its-levels",
    "three levels, each with three times the noise",
    PURE,
    product(*[laplace(scale=3.0, cells=8)] * 3),
    counts(3, scale=3.0),
)
count_min_charged = sound(
    "held-count-min-charged-for-three-rows",
    "three rows, each with geometric noise for a third",
    PURE,
    above_zero(3, math.exp(-1 / 3)),
    geometric(3, math.exp(-1 / 3)),
)
reservoir_charged = sound(
    "held-reservoir-of-one-charged",
    "one record in ten is told as it is, and delta says so",
    dp.ApproxDP(0.1, 0.1),
    table([1, 0], [0.9, 0.1]),
    drawn_record,
    (np.zeros(10), np.r_[np.zeros(9), 1.0]),
)
projected_noise = Mixture((1.0, stats.norm(0, math.sqrt(5)))), Mixture((1.0, stats.norm(0, math.sqrt(8))))
projection_with_noise = sound(
    "held-projection-with-noise",
    "a random projection and Gaussian noise, which hides the spread as far as is claimed",
    exact_at(line(*projected_noise, -25, 25), 1e-2),
    line(*projected_noise, -25, 25),
    lambda data, rng, trials: rng.normal(size=(trials, len(data))) @ data + 2 * rng.normal(size=trials),
    (np.array([1.0, 0, 0, 0]), np.ones(4)),
)
