"""The sparse vector technique and single thresholds: noises, stops, and what a restart costs."""

import math

import numpy as np
from scipy import stats

import dpcheck as dp

from ._draws import first_above, first_of
from ._told import Told, bug, laplace, product, sound, table

LOW, HIGH = np.repeat([0.0, 1.0], 5), np.repeat([1.0, 0.0], 5)
SIDES = LOW, HIGH
ALL = np.zeros(6), np.ones(6)
WIDE = 3 * LOW, 3 * HIGH
PURE = dp.PureDP(1.0)


def sparse_vector(level_scale, answer_scale):
    """The place of the first noisy answer above the noisy level, or how many there are."""

    def run(data, rng, trials):
        level = rng.laplace(scale=level_scale, size=(trials, 1))
        return first_of(data + rng.laplace(scale=answer_scale, size=(trials, len(data))) >= level)

    return run


def sparse_laws(level_scale, answer_scale, pair=SIDES):
    noises = stats.laplace(0, level_scale), stats.laplace(0, answer_scale)
    return table(*(first_above(side, *noises) for side in pair))


def first_hit(chances):
    """Law of the first of independent events that happens, and of none."""
    missed = np.cumprod(np.r_[1.0, 1 - chances])
    return np.r_[missed[:-1] * chances, missed[-1]]


def restarted(data, rng, trials):
    """Two searches, one on either half."""
    return np.stack([sparse_vector(2.0, 4.0)(half, rng, trials) for half in np.split(data, 2)], axis=1)


def restarted_laws():
    halves = [
        sparse_laws(2.0, 4.0, tuple(np.split(side, 2)[half] for side in (LOW_HALVES, HIGH_HALVES))) for half in (0, 1)
    ]
    return product(*halves)


LOW_HALVES = np.tile([0.0, 0.0, 0.0, 1.0], 2)
HIGH_HALVES = 1 - LOW_HALVES


def one_noise(data, rng, trials):
    """One noise for the level and one for all answers together."""
    gap = rng.laplace(scale=4.0, size=(trials, 1)) - rng.laplace(scale=2.0, size=(trials, 1))
    return first_of(data + gap >= 0.5)


def rare_gap(x):
    """Chance that Laplace noise of scale 4 minus one of scale 2 is above x >= 0."""
    return (16 * math.exp(-x / 4) - 4 * math.exp(-x / 2)) / 24


def one_noise_laws():
    """Of the answers 0 and 1 the larger passes with the gap above -1/2, the smaller above 1/2."""
    rare = rare_gap(0.5)
    low, high = np.zeros(11), np.zeros(11)
    low[[0, 5, 10]] = rare, 1 - 2 * rare, rare
    high[[0, 10]] = 1 - rare, rare
    return low, high


no_noise_for_the_level = bug(
    "held-sparse-vector-level-without-noise",
    "the answers have the noise of one search each, the level none",
    PURE,
    table(*(first_hit(stats.laplace.sf(0.5 - side, 0, 4)) for side in SIDES)),
    lambda data, rng, trials: first_of(data + rng.laplace(scale=4.0, size=(trials, len(data))) >= 0.5),
    SIDES,
)
quarter_noise = bug(
    "held-sparse-vector-noise-of-the-mean",
    "both noises are divided by the number of queries 4, as for a mean of them",
    PURE,
    sparse_laws(0.5, 1.0),
    sparse_vector(0.5, 1.0),
    SIDES,
)
shared_answer_noise = bug(
    "held-sparse-vector-one-noise-for-all-answers",
    "the noise of the answers is drawn once: they pass in their true order",
    PURE,
    Told(one_noise_laws, lambda y: y),
    one_noise,
    SIDES,
)
restart_for_free = bug(
    "held-sparse-vector-restarted-for-free",
    "after its first hit the search starts anew, at no charge",
    PURE,
    restarted_laws(),
    restarted,
    (LOW_HALVES, HIGH_HALVES),
)
gaussian_noises = bug(
    "held-sparse-vector-gaussian-noises",
    "Gaussian noises of deviations 1 and 2, as for answers that move by 1/2; they move by 3",
    PURE,
    table(*(first_above(side, stats.norm(0, 1), stats.norm(0, 2)) for side in WIDE)),
    lambda data, rng, trials: first_of(
        data + rng.normal(scale=2.0, size=(trials, len(data))) >= rng.normal(size=(trials, 1))
    ),
    WIDE,
)
margin_told = bug(
    "held-threshold-with-its-margin",
    "with the answer to a threshold test goes the noisy margin, from a second noise that nobody charged",
    PURE,
    product(table(*([1 - up, up] for up in (stats.laplace.sf(0.5), stats.laplace.cdf(0.5)))), laplace()),
    lambda data, rng, trials: np.stack(
        [data.sum() + rng.laplace(size=trials) > 0.5, data.sum() + rng.laplace(size=trials)], axis=1
    ),
)
bare_skip = bug(
    "held-sparse-vector-skips-true-negatives",
    "answers that are truly below the level are skipped to save time",
    PURE,
    table([0, 1], [1 - 0.5 * math.exp(-0.25), 0.5 * math.exp(-0.25)]),
    lambda data, rng, trials: np.where(
        (data.max() > 0.5) & (data.max() + rng.laplace(scale=2.0, size=trials) > 0.5), 0, 1
    ),
    (np.zeros(3), np.array([0.0, 0.0, 1.0])),
)

both_noises = sound(
    "held-sparse-vector",
    "level noise 2, answer noise 4, stopped at the first hit",
    PURE,
    sparse_laws(2.0, 4.0),
    sparse_vector(2.0, 4.0),
    SIDES,
)
monotone = sound(
    "held-sparse-vector-monotone",
    "answer noise 2 is enough where a record moves all answers the same way",
    PURE,
    sparse_laws(2.0, 2.0, ALL),
    sparse_vector(2.0, 2.0),
    ALL,
)
first_below = sound(
    "held-sparse-vector-first-below",
    "the first answer below instead of above: the same mechanism of the answers turned around",
    PURE,
    table(*(first_above(-side, stats.laplace(0, 2), stats.laplace(0, 4)) for side in SIDES)),
    lambda data, rng, trials: first_of(
        data + rng.laplace(scale=4.0, size=(trials, len(data))) <= rng.laplace(scale=2.0, size=(trials, 1))
    ),
    SIDES,
)
