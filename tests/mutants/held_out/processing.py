"""What is done to a private answer afterwards, with and without another look at the data."""

import math

import numpy as np
from scipy import stats

import dpcheck as dp

from ._told import ONE, Told, apart, bug, laplace, line, masses, product, revealed, sound, table

PURE = dp.PureDP(1.0)
SPREAD = math.exp(-2.0)
TWO = np.array([1.0, 0.0]), np.array([0.0, 1.0])


class Inside:
    """Laplace noise about a centre, given that it is at most so far away."""

    def __init__(self, centre, most):
        self.law, self.low, self.high = stats.laplace(centre), centre - most, centre + most
        self.mass = -math.expm1(-most)

    def cdf(self, x):
        return (self.law.cdf(np.clip(x, self.low, self.high)) - self.law.cdf(self.low)) / self.mass

    def sf(self, x):
        return 1 - self.cdf(x)


TWO_AWAY = line(Inside(0, 2), Inside(1, 2), -2, 3, 50)


def repaired(data, rng, trials):
    """Answers further than 2 from the truth are set to it."""
    noise = rng.laplace(size=trials)
    return data.sum() + np.where(np.abs(noise) > 2, 0.0, noise)


def nearer(pairs, truth):
    return pairs[np.arange(len(pairs)), np.abs(pairs - truth).argmin(axis=1)]


POINTS = np.linspace(0, 1, 13)


def sorted_laws():
    """Of two numbers in growing order: the chances of both orders."""
    still, moved = (masses(POINTS, stats.laplace(at)) for at in (0, 1))
    found = (np.outer(first, still) for first in (still, moved))
    return tuple(np.triu(law + law.T - np.diag(np.diag(law))).ravel() for law in found)


def sorted_cells(y):
    one, two = np.searchsorted(POINTS, y).T
    return (len(POINTS) + 1) * one + two


outliers_repaired = bug(
    "held-outliers-set-to-the-truth",
    "answers that are far off are replaced by the truth, 'being useless'",
    dp.ApproxDP(1.0, 1e-2),
    apart(lambda y: y == 0, SPREAD, 0.0, apart(lambda y: y == 1, 0.0, SPREAD, TWO_AWAY)),
    repaired,
)
nearest_record = bug(
    "held-answer-snapped-to-a-record",
    "the noisy answer is replaced by the nearest record",
    PURE,
    table([0.5, 0.5, 0], [0.5, 0, 0.5], lambda y: (y > 1) * 1 + (y > 2)),
    lambda data, rng, trials: data[
        np.abs(data[None, :] - (data.mean() + rng.laplace(size=trials))[:, None]).argmin(axis=1)
    ],
    (np.array([1.0, 2.0]), np.array([1.0, 2.5])),
)
true_sign = bug(
    "held-answer-with-the-true-sign",
    "a noisy difference is given the sign of the true one",
    PURE,
    revealed(lambda y: y > 0),
    lambda data, rng, trials: np.sign(data.sum()) * np.abs(data.sum() + rng.laplace(size=trials)),
    (-0.5 * ONE, 0.5 * ONE),
)
shrunk_to_truth = bug(
    "held-answer-averaged-with-the-truth",
    "the noisy answer is averaged with the true one, 'to denoise it'",
    PURE,
    laplace(scale=0.5, cells=48),
    lambda data, rng, trials: 0.5 * data.sum() + 0.5 * (data.sum() + rng.laplace(size=trials)),
)
true_order = bug(
    "held-answers-sorted-by-the-truth",
    "two noisy counts are exchanged where their order is not the true one",
    PURE,
    revealed(lambda y: y[:, 0] < y[:, 1]),
    lambda data, rng, trials: np.sort(data + rng.laplace(size=(trials, 2)), axis=1)[:, data.argsort().argsort()],
    TWO,
)
kept_if_close = bug(
    "held-published-if-close",
    "the answer is published if it is within 1 of the truth, else a blank",
    dp.ApproxDP(1.0, 1e-2),
    apart(
        lambda y: y == -99,
        math.exp(-1),
        math.exp(-1),
        line(Inside(0, 1), Inside(1, 1), -1, 2, 60),
    ),
    lambda data, rng, trials: np.where(np.abs(noise := rng.laplace(size=trials)) <= 1, data.sum() + noise, -99.0),
)
error_told = bug(
    "held-error-told-beside-the-answer",
    "the true error of the answer is told as its accuracy",
    PURE,
    revealed(lambda y: np.abs(np.abs(y[:, 0]) - y[:, 1]) > 1e-9),
    lambda data, rng, trials: np.stack([data.sum() + (noise := rng.laplace(size=trials)), np.abs(noise)], axis=1),
)
better_of_two = bug(
    "held-better-of-two-by-true-error",
    "of two noisy answers the one that is nearer to the truth is told",
    PURE,
    laplace(scale=0.5, cells=48),
    lambda data, rng, trials: nearer(data.sum() + rng.laplace(size=(trials, 2)), data.sum()),
)
below_maximum = bug(
    "held-answer-cut-at-the-true-maximum",
    "an answer above the largest record is set to it",
    PURE,
    apart(
        lambda y: y == 0,
        0.5,
        0.0,
        apart(lambda y: y == 1, 0.0, 0.5, table([1, 0], [math.exp(-1), -math.expm1(-1)], lambda y: y > 0)),
    ),
    lambda data, rng, trials: np.minimum(data.sum() + rng.laplace(size=trials), data.max()),
)


def second_as_sign(pairs):
    return np.stack([pairs[:, 0], pairs[:, 1] > 0.5], axis=1)


rounded = sound(
    "held-answer-rounded",
    "the answer is rounded to the integers",
    PURE,
    table(
        *(np.diff([0.0, stats.laplace.cdf(0.5 - at), stats.laplace.cdf(1.5 - at), 1.0]) for at in (0, 1)),
        lambda y: np.clip(y, 0, 2),
    ),
    lambda data, rng, trials: np.round(data.sum() + rng.laplace(size=trials)),
)
sorted_answers = sound(
    "held-answers-sorted",
    "two noisy counts, of which one moves, are told in growing order",
    PURE,
    Told(sorted_laws, sorted_cells),
    lambda data, rng, trials: np.sort(data + rng.laplace(size=(trials, 2)), axis=1),
    (np.zeros(2), np.array([1.0, 0.0])),
)
shrunk_publicly = sound(
    "held-answer-shrunk-to-a-public-value",
    "the answer is averaged with a public one",
    PURE,
    laplace(of=lambda y: 2 * y - 0.5),
    lambda data, rng, trials: 0.5 * 0.5 + 0.5 * (data.sum() + rng.laplace(size=trials)),
)
two_roundings = sound(
    "held-answer-rounded-twice",
    "two columns, each with noise 2, one of them told as its sign",
    PURE,
    product(
        laplace(scale=2.0),
        table(*([1 - up, up] for up in (stats.laplace.sf(0.25), stats.laplace.sf(-0.25)))),
    ),
    lambda data, rng, trials: second_as_sign(data.sum() + rng.laplace(scale=2.0, size=(trials, 2))),
)
