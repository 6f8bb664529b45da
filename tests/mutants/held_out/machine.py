"""Floating point, seeds, and what a session keeps: a run is a whole session, so that runs stay independent."""

import itertools
import math

import numpy as np
from scipy import stats

import dpcheck as dp

from ._told import ONE, PAIR, bug, gaussian, laplace, line, product, revealed, sound, table
from ._unnamed import Unnamed, Untold, coins

STEP = 1 - math.exp(-1)
PURE = dp.PureDP(1.0)


def between_lattice(y):
    """Whether outputs lie off the multiples of a quarter."""
    return np.abs(4 * y - np.round(4 * y)) > 0.1


def session(data, rng, trials):
    """Two queries, the second of which has its answer from a cache that is searched by the true value."""
    one, two = data
    noise = rng.laplace(size=(trials, 2))
    return np.array([one, two]) + (noise[:, [0, 0]] if one == two else noise)


def nonnegative(data, rng, trials):
    """Noise is drawn anew while the answer is negative."""
    centre = data.sum()
    first = 0.5 * math.exp(-centre)
    u = first + (1 - first) * rng.random(trials)
    return centre + np.where(u < 0.5, np.log(2 * np.minimum(u, 0.5)), -np.log(2 * np.minimum(1 - u, 0.5)))


class Nonnegative:
    """The law of that answer."""

    def __init__(self, centre):
        self.law = stats.laplace(centre)

    def cdf(self, x):
        return 1 - self.sf(x)

    def sf(self, x):
        return self.law.sf(np.maximum(x, 0)) / self.law.sf(0)


def seeded(data, rng, trials):
    """Laplace noise from a seed that is made of the data."""
    return np.full(trials, data.sum() + np.random.default_rng(int(data.sum())).laplace())


def sixteen_seeds(data, rng, trials):
    """Laplace noise from one of sixteen seeds."""
    known = np.array([np.random.default_rng(seed).laplace() for seed in range(16)])
    return data.sum() + known[rng.integers(16, size=trials)]


def of_the_first(y):
    known = np.array([np.random.default_rng(seed).laplace() for seed in range(16)])
    return (np.abs(y[:, None] - known) < 1e-9).any(axis=1)


def halves(data):
    """The mean of every half of eight records, with noise of four bits."""
    picked = np.array([list(half) for half in itertools.combinations(range(8), 4)])
    noise = np.linspace(-1, 1, 16)
    return (data[picked].mean(axis=1)[:, None] + noise).ravel(), np.repeat((picked == 0).any(axis=1), 16)


def half_of_them(data, rng, trials):
    return rng.choice(halves(data)[0], size=trials)


def with_the_first(y):
    """0 and 1: a half with the first record of the data, or of the neighbour; 2: one that both have."""
    cell = np.full(len(y), 2)
    for side, data in enumerate(EIGHT):
        values, first = halves(data)
        own = np.sort(values[first])
        place = np.clip(np.searchsorted(own, y), 1, len(own) - 1)
        cell[np.minimum(np.abs(y - own[place]), np.abs(y - own[place - 1])) < 1e-12] = side
    return cell


EIGHT = tuple(np.r_[first, np.sqrt([2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0])] for first in (0.0, 1.0))
FAR_UP = np.full(1, 2.0**24 + 1), np.full(1, 2.0**24 + 2)
FULL = np.full(127, 1.0), np.full(128, 1.0)

off_the_lattice = bug(
    "held-lattice-noise-on-a-bare-sum",
    "noise on multiples of 1/4 is added to a sum that is not on them",
    PURE,
    revealed(between_lattice),
    lambda data, rng, trials: 0.1 * data.sum() + 0.25 * (rng.geometric(0.3, trials) - rng.geometric(0.3, trials)),
)
mean_of_a_half = bug(
    "held-mean-of-a-random-half-with-four-bits",
    "the mean of a random half of eight records with noise of four bits: half of the values are of one input only",
    PURE,
    table([0.5, 0, 0.5], [0, 0.5, 0.5], with_the_first),
    half_of_them,
    EIGHT,
    untold=Untold(Unnamed(((560, 1 / 1120, 0), (560, 0, 1 / 1120), (560, 1 / 1120, 1 / 1120))), coins(1490, 1.0)),
)
single_precision = bug(
    "held-count-in-single-precision",
    "a count beyond 2^24 in single precision moves by 2",
    PURE,
    laplace(2.0, cells=32, of=lambda y: y - 2.0**24),
    lambda data, rng, trials: float(np.float32(data.sum())) + rng.laplace(size=trials),
    FAR_UP,
)
wraps = bug(
    "held-count-of-eight-bits",
    "a count of 8 bits wraps from 127 to -128",
    PURE,
    laplace(-255.0, cells=510, of=lambda y: y - 127),
    lambda data, rng, trials: float(np.sum(data.astype(np.int8), dtype=np.int8)) + rng.laplace(size=trials),
    FULL,
)
rounded_first = bug(
    "held-mean-rounded-to-a-tenth",
    "the mean is rounded to one digit before noise for a fiftieth",
    PURE,
    laplace(5.0, cells=80, of=lambda y: 50 * y),
    lambda data, rng, trials: np.round(data.mean(), 1) + rng.laplace(scale=0.02, size=trials),
    (np.r_[np.ones(2), np.zeros(48)], np.r_[np.ones(3), np.zeros(47)]),
)
cache_by_value = bug(
    "held-cache-searched-by-the-true-value",
    "answers are kept under their true value: two queries have equal answers where the truth is equal",
    PURE,
    revealed(lambda y: y[:, 0] != y[:, 1]),
    session,
    (np.array([3.0, 3.0]), np.array([3.0, 4.0])),
)
two_sessions = bug(
    "held-budget-renewed-with-the-session",
    "the accountant begins at zero in every session, of which there are two",
    PURE,
    product(laplace(cells=16), laplace(cells=16)),
    lambda data, rng, trials: data.sum() + rng.laplace(size=(trials, 2)),
)
negative_drawn_again = bug(
    "held-negative-counts-drawn-again",
    "a session that sees a negative count asks again",
    PURE,
    line(Nonnegative(0), Nonnegative(1), 0, 1, 40),
    nonnegative,
)
warm_up = bug(
    "held-first-answer-before-the-noise-is-ready",
    "the first answer of a session is given before the buffer of noise is filled",
    PURE,
    revealed(lambda y: y[:, 0] > 0.5),
    lambda data, rng, trials: data.sum() + np.c_[np.zeros(trials), rng.laplace(size=trials)],
)
pool_of_four = bug(
    "held-pool-of-four-noises",
    "noises are taken from a pool of four, and the fifth is the first again",
    PURE,
    revealed(lambda y: y[:, 4] - y[:, 0] > 0.5),
    lambda data, rng, trials: (
        data.sum() * np.array([0, 0, 0, 0, 1]) + rng.laplace(size=(trials, 4))[:, [0, 1, 2, 3, 0]]
    ),
)
state_restored = bug(
    "held-generator-restored-for-a-retry",
    "a query that is tried again has its noise again, about another multiple of the sum",
    PURE,
    revealed(lambda y: y[:, 1] - y[:, 0] > 0.5),
    lambda data, rng, trials: data.sum() * np.array([1, 2]) + rng.laplace(size=(trials, 1)),
)
counted_if_positive = bug(
    "held-ledger-counts-positive-answers",
    "the ledger, which anyone may read, counts a query when its true answer is positive",
    PURE,
    revealed(lambda y: y[:, 1] > 0),
    lambda data, rng, trials: np.stack(
        [data.sum() + rng.laplace(size=trials), np.full(trials, float(data.sum() > 0))], axis=1
    ),
)
seed_of_data = bug(
    "held-seed-from-the-data",
    "the seed is made of the data, so that the same data always has the same answer",
    PURE,
    revealed(lambda y: np.abs(y - seeded(PAIR[0], None, 1)[0]) > 1e-9),
    seeded,
)
seed_of_four_bits = bug(
    "held-seed-of-four-bits",
    "the seed is one of sixteen",
    PURE,
    revealed(lambda y: ~of_the_first(y)),
    sixteen_seeds,
)
workers_alike = bug(
    "held-workers-seeded-alike",
    "two workers with a share of the records each draw the same noise",
    PURE,
    revealed(lambda y: y[:, 0] > y[:, 1] + 0.5),
    lambda data, rng, trials: data + rng.laplace(size=(trials, 1)),
    (np.zeros(2), np.array([1.0, 0.0])),
)
antithetic = bug(
    "held-antithetic-noise",
    "the noise of the second answer is that of the first with its sign turned: their mean is exact",
    gaussian(1.0),
    revealed(lambda y: y.sum(axis=1) > 0.5),
    lambda data, rng, trials: data.sum() + rng.normal(size=(trials, 1)) * np.array([1, -1]),
)
stale_norm = bug(
    "held-normaliser-kept-from-the-last-data",
    "the second of two Gaussian answers is divided by a scale that was learned without noise: 1 against 2",
    gaussian(1.0),
    line(stats.norm(0, 1), stats.norm(0, 0.5), -7, 7, of=lambda y: y[:, 1]),
    lambda data, rng, trials: rng.normal(size=(trials, 2)) / np.array([1.0, data.max()]),
    (ONE, 2 * ONE),
)

on_the_lattice = sound(
    "held-lattice-noise-on-a-rounded-sum",
    "the sum is rounded to the lattice of the noise, which is for one step of it",
    PURE,
    line(stats.dlaplace(1.0), stats.dlaplace(1.0, loc=1), -0.5, 1.5, 2, lambda y: 4 * y),
    lambda data, rng, trials: (np.round(4 * 0.2 * data.sum()) + rng.geometric(STEP, (trials, 2)) @ [1, -1]) / 4,
)
thousandths = sound(
    "held-coin-of-thousandths",
    "a coin of thousandths keeps the truth with 0.731, just below e/(1 + e)",
    PURE,
    table([0.731, 0.269], [0.269, 0.731]),
    lambda data, rng, trials: np.where(rng.integers(1000, size=trials) < 731, data.sum(), 1 - data.sum()).astype(int),
)
stale_answer = sound(
    "held-cache-searched-by-the-question",
    "the same question has the same answer, however often it is asked",
    PURE,
    laplace(of=lambda y: y[:, 0]),
    lambda data, rng, trials: (data.sum() + rng.laplace(size=(trials, 1)))[:, [0, 0, 0]],
)
one_of_many_words = sound(
    "held-answer-among-six-hundred",
    "randomised response among 600 numbers: the truth with e times the chance of any other",
    PURE,
    table(np.r_[math.e, np.ones(599)] / (math.e + 599), np.r_[1, math.e, np.ones(598)] / (math.e + 599)),
    lambda data, rng, trials: np.where(
        rng.random(trials) < (math.e - 1) / (math.e + 599), int(data.sum()), rng.integers(600, size=trials)
    ),
)
ticket_of_the_call = sound(
    "held-ticket-that-knows-nothing",
    "the answer comes with one of 300 tickets, the same whatever the data",
    PURE,
    laplace(of=lambda y: y[:, 0]),
    lambda data, rng, trials: np.c_[data.sum() + rng.laplace(size=trials), rng.integers(300, size=trials)],
)
one_seed_a_session = sound(
    "held-noise-from-a-seed-of-the-session",
    "all noise comes from a seed of 63 bits that is drawn for the call",
    PURE,
    laplace(),
    lambda data, rng, trials: data.sum() + np.random.default_rng(rng.integers(2**63)).laplace(size=trials),
)
