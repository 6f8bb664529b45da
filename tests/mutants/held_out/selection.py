"""Selections: what is scored, with what noise, and what is told beside the winner."""

import math

import numpy as np

import dpcheck as dp
from dpcheck.auditing import finite_laws

from ._draws import KEEP, gumbel_order, order_law, order_number, softmax
from ._told import bug, sound, table

PURE = dp.PureDP(1.0)
UP, DOWN = np.array([0.0, 1.0, 1.0, 1.0]), np.array([1.0, 0.0, 0.0, 0.0])
TWELVE = np.r_[np.zeros(2), np.ones(10)], np.r_[np.ones(2), np.zeros(10)]
SIX = np.r_[np.zeros(2), np.ones(4)], np.r_[np.ones(2), np.zeros(4)]


def winner(factor):
    """The exponential mechanism."""

    def run(data, rng, trials):
        return (factor * data + rng.gumbel(size=(trials, len(data)))).argmax(axis=1)

    return run


def orders(factor, told):
    """The first places of the noisy order."""
    return lambda data, rng, trials: gumbel_order(factor * data, rng, trials)[:, :told]


def order_laws(factor, told, pair):
    return table(*(order_law(factor * side, told) for side in pair), lambda y: order_number(y, len(pair[0])))


def cost_of_median(data, candidates):
    """How far the rank of each candidate is from the middle."""
    return np.abs((data[None, :] < candidates[:, None]).sum(axis=1) - len(data) / 2)


def median_of_records(data, rng, trials):
    places = (-0.5 * cost_of_median(data, data) + rng.gumbel(size=(trials, len(data)))).argmax(axis=1)
    return data[places]


def median_law(data):
    law = np.zeros(10)
    np.add.at(law, data.astype(int), softmax(-0.5 * cost_of_median(data, data)))
    return law


def best_of_a_random_number(stop):
    """The larger of randomised bits, drawn until a coin says stop."""

    def run(data, rng, trials):
        tries = rng.geometric(stop, trials)
        ones = rng.binomial(tries, KEEP if data[0] else 1 - KEEP)
        return (ones > 0).astype(int)

    return run


def best_law(stop, one):
    none = stop * (1 - one) / (1 - (1 - stop) * (1 - one))
    return [none, 1 - none]


def permuted(factor):
    """Permute-and-flip for scores that are minimised, as noisy minimum with exponential noise."""

    def run(data, rng, trials):
        return (data - rng.exponential(size=(trials, len(data))) / factor).argmin(axis=1)

    return run


def permuted_laws(factor):
    return table(*(finite_laws.permute_and_flip(side, factor).probabilities for side in (UP, DOWN)))


MANY = np.array([0.0, 1.0, 2.0, 3.0, 4.0]), np.array([0.0, 1.0, 2.0, 3.0, 9.0])
BITS = np.zeros(1), np.ones(1)

unclipped_scores = bug(
    "held-exponential-scores-not-clipped",
    "scores that a record moves by 3 enter as if it moved them by 1",
    PURE,
    table(softmax(1.5 * UP), softmax(1.5 * DOWN)),
    winner(1.5),
    (UP, DOWN),
)
two_for_one = bug(
    "held-top-two-for-the-price-of-one",
    "the two best are told, noise as for one",
    PURE,
    order_laws(0.5, 2, TWELVE),
    orders(0.5, 2),
    TWELVE,
)
whole_order = bug(
    "held-ranking-for-the-price-of-the-winner",
    "the whole noisy order is told, noise as for its winner",
    dp.PureDP(2.0),
    order_laws(1.0, 6, SIX),
    orders(1.0, 6),
    SIX,
)
common_noise = bug(
    "held-noisy-max-with-one-noise",
    "one noise is added to all scores: the winner is the true one",
    PURE,
    table([1, 0], [0, 1]),
    lambda data, rng, trials: (data + rng.gumbel(size=(trials, 1))).argmax(axis=1),
    (np.array([1.0, 0.0]), np.array([0.0, 1.0])),
)
half_gumbel = bug(
    "held-gumbel-scale-halved",
    "Gumbel noise of scale 1/epsilon, the two forgotten",
    PURE,
    table(softmax(UP), softmax(DOWN)),
    winner(1.0),
    (UP, DOWN),
)
candidates_from_data = bug(
    "held-median-among-the-records",
    "the candidates of a private median are the records themselves",
    PURE,
    table(*map(median_law, MANY), lambda y: y),
    median_of_records,
    MANY,
)
best_of_many = bug(
    "held-best-of-a-geometric-number",
    "the best of a random number of private tries, charged as one",
    PURE,
    table(best_law(0.2, 1 - KEEP), best_law(0.2, KEEP)),
    best_of_a_random_number(0.2),
    BITS,
)
flip_without_half = bug(
    "held-permute-and-flip-without-the-half",
    "coins of permute-and-flip with epsilon instead of epsilon/2",
    PURE,
    permuted_laws(1.0),
    permuted(1.0),
    (UP, DOWN),
)
weights_by_count = bug(
    "held-exponential-weighted-by-counts",
    "candidates are drawn by their counts first, so that one without records is never drawn",
    PURE,
    table([0.5, 0.5], [1.0, 0.0]),
    lambda data, rng, trials: rng.choice(2, trials, p=data / data.sum()),
    (np.array([1.0, 1.0]), np.array([2.0, 0.0])),
)
noise_below_the_winner = bug(
    "held-winner-without-noise-of-its-own",
    "noise is added to all candidates but the leading one",
    PURE,
    table([1 - 0.5 * math.exp(-3), 0.5 * math.exp(-3)], [0.5 * math.exp(-1), 1 - 0.5 * math.exp(-1)]),
    lambda data, rng, trials: np.where(
        data[0] > data[1],
        data[1] + rng.laplace(size=trials) > data[0],
        data[0] + rng.laplace(size=trials) <= data[1],
    ).astype(int),
    (np.array([3.0, 0.0]), np.array([0.0, 1.0])),
)

exponential = sound(
    "held-exponential-by-gumbel",
    "Gumbel noise of scale 2/epsilon is the exponential mechanism",
    PURE,
    table(softmax(0.5 * UP), softmax(0.5 * DOWN)),
    winner(0.5),
    (UP, DOWN),
)
order_charged = sound(
    "held-top-two-charged-twice",
    "the two best, noise as for two selections",
    PURE,
    order_laws(0.25, 2, TWELVE),
    orders(0.25, 2),
    TWELVE,
)
best_charged = sound(
    "held-best-of-a-geometric-number-charged-thrice",
    "the best of a random number of private tries costs three times one",
    dp.PureDP(3.0),
    table(best_law(0.2, 1 - KEEP), best_law(0.2, KEEP)),
    best_of_a_random_number(0.2),
    BITS,
)
flip_with_half = sound(
    "held-permute-and-flip",
    "coins of permute-and-flip with epsilon/2",
    PURE,
    permuted_laws(0.5),
    permuted(0.5),
    (UP, DOWN),
)
