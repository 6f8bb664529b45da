"""Subsampling and the accounting of its amplification."""

import math

import numpy as np
from scipy import stats

import dpcheck as dp

from ._told import Mixture, Told, apart, bug, exact_at, line, masses, product, sound, table

RATE, EPSILON = 0.1, 2.0
AMPLIFIED = math.log1p(RATE * math.expm1(EPSILON))
CLAIM = dp.PureDP(AMPLIFIED)
NOISE = stats.laplace(0, 1 / EPSILON)
TEN = np.zeros(10), np.r_[np.zeros(9), 1.0]


def moved(*weights):
    """Laplace noise for epsilon about 0, 1, 2, … with these weights."""
    return Mixture(*((weight, stats.laplace(at, 1 / EPSILON)) for at, weight in enumerate(weights)))


def sampled(rate, of=lambda y: y, cells=40):
    return line(NOISE, moved(1 - rate, rate), 0, 1, cells, of)


def gaussian_step(rate):
    return line(stats.norm(0, 1), Mixture((1 - rate, stats.norm(0, 1)), (rate, stats.norm(1, 1))), -7, 8)


def poisson(rate):
    """The sum over a batch into which every record comes with this chance, and Laplace noise."""
    return lambda data, rng, trials: (
        (rng.random((trials, len(data))) < rate) @ data + rng.laplace(scale=1 / EPSILON, size=trials)
    )


def with_replacement(data, rng, trials):
    """Five draws of ten records, each of all."""
    return data[rng.integers(len(data), size=(trials, 5))].sum(axis=1) + rng.laplace(scale=1 / EPSILON, size=trials)


def without_replacement(data, rng, trials):
    """One record of ten."""
    return data[rng.integers(len(data), size=trials)] + rng.laplace(scale=1 / EPSILON, size=trials)


def one_sample_twice(data, rng, trials):
    """Two answers from one batch."""
    total = (rng.random((trials, len(data))) < RATE) @ data
    return total[:, None] + rng.laplace(scale=1 / EPSILON, size=(trials, 2))


def one_sample_twice_laws():
    points = np.linspace(0, 1, 21)
    zero, one = (masses(points, stats.laplace(at, 1 / EPSILON)) for at in (0, 1))
    return np.outer(zero, zero).ravel(), ((1 - RATE) * np.outer(zero, zero) + RATE * np.outer(one, one)).ravel()


def cells_of_two(y):
    one, two = np.searchsorted(np.linspace(0, 1, 21), y).T
    return 22 * one + two


def until_full(data, rng, trials):
    """Ten draws of the batch, all of them added up until it is full."""
    return poisson(1 - (1 - RATE) ** 10)(data, rng, trials)


linear = bug(
    "held-amplification-linear",
    "epsilon times the sampling rate, instead of log(1 + q(e^epsilon - 1))",
    dp.PureDP(RATE * EPSILON),
    sampled(RATE),
    poisson(RATE),
)
replaced_draws = bug(
    "held-batch-drawn-with-replacement",
    "five draws with replacement, which may take one record five times, accounted as without",
    dp.PureDP(math.log1p(0.5 * math.expm1(EPSILON))),
    line(NOISE, moved(*stats.binom.pmf(np.arange(6), 5, 0.1)), 0, 5, 200),
    with_replacement,
    TEN,
)
batch_told = bug(
    "held-batch-told-with-the-answer",
    "which records were drawn is written beside the answer",
    CLAIM,
    apart(lambda y: y[:, 0] == 0, 1 - RATE, 1 - RATE, line(NOISE, moved(0, 1), 0, 1, 40, lambda y: y[:, 1])),
    lambda data, rng, trials: np.stack(
        [
            taken := (rng.random(trials) < RATE).astype(float),
            taken * data.sum() + rng.laplace(scale=1 / EPSILON, size=trials),
        ],
        axis=1,
    ),
)
two_workers = bug(
    "held-two-workers-sample-everything",
    "each of two workers draws its batch from all records, charged as one",
    CLAIM,
    product(*[sampled(RATE, cells=20)] * 2),
    lambda data, rng, trials: np.stack([poisson(RATE)(data, rng, trials) for _ in range(2)], axis=1),
)
filled_up = bug(
    "held-batch-filled-by-ten-draws",
    "draws are added up until the batch is full, accounted at the rate of one",
    CLAIM,
    sampled(1 - (1 - RATE) ** 10),
    until_full,
)
never_empty = bug(
    "held-empty-batch-drawn-again",
    "an empty batch of two records is drawn again: the record comes in more often than it is said",
    CLAIM,
    sampled(RATE / (1 - (1 - RATE) ** 2)),
    lambda data, rng, trials: (
        data[0] * (rng.random(trials) < RATE / (1 - (1 - RATE) ** 2)) + rng.laplace(scale=1 / EPSILON, size=trials)
    ),
)
same_batch = bug(
    "held-batch-kept-for-two-steps",
    "the second step takes the batch of the first, charged as a batch of its own",
    dp.PureDP(2 * AMPLIFIED),
    Told(one_sample_twice_laws, cells_of_two),
    one_sample_twice,
)
square_rate = bug(
    "held-gaussian-sampling-rate-squared",
    "the square of the sampling rate in place of the rate, in one Gaussian step",
    exact_at(gaussian_step(0.3**2), 1e-3),
    gaussian_step(0.3),
    lambda data, rng, trials: (rng.random(trials) < 0.3) * data.sum() + rng.normal(size=trials),
)
first_always = bug(
    "held-remainder-always-in-the-batch",
    "records that fill the last batch up are the same in every batch, accounted as drawn",
    CLAIM,
    sampled(1.0),
    lambda data, rng, trials: data[-1] + rng.laplace(scale=1 / EPSILON, size=trials),
    TEN,
)
by_weight = bug(
    "held-sampling-by-value",
    "records are drawn in proportion to their values, told as they are",
    dp.ApproxDP(0.3, 0.05),
    table([2 / 3, 1 / 3], [1 / 3, 2 / 3]),
    lambda data, rng, trials: rng.choice(2, trials, p=data / data.sum()),
    (np.array([2.0, 1.0]), np.array([1.0, 2.0])),
)

amplified = sound(
    "held-poisson-sample",
    "a Poisson sample with the amplification that it has",
    CLAIM,
    sampled(RATE),
    poisson(RATE),
)
one_in_ten = sound(
    "held-one-record-of-ten",
    "a sample without replacement, one record exchanged",
    CLAIM,
    sampled(RATE),
    without_replacement,
    TEN,
)
fresh_batches = sound(
    "held-two-batches-charged-twice",
    "two workers, each with a batch of its own, charged twice",
    dp.PureDP(2 * AMPLIFIED),
    product(*[sampled(RATE, cells=20)] * 2),
    lambda data, rng, trials: np.stack([poisson(RATE)(data, rng, trials) for _ in range(2)], axis=1),
)
