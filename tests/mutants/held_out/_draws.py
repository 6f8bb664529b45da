"""Laws and draws that several mechanisms share; the draws are plain NumPy."""

import itertools
import math

import numpy as np
from scipy import stats

KEEP = math.e / (1 + math.e)
"""Randomised response with this chance of the truth is 1-DP."""


def softmax(scores):
    weights = np.exp(scores - np.max(scores))
    return weights / weights.sum()


def gumbel_order(scores, rng, trials):
    """Places in falling order of score plus Gumbel noise: exponential mechanisms without replacement."""
    return np.argsort(-(scores + rng.gumbel(size=(trials, len(scores)))), axis=1)


def order_law(scores, told):
    """Law of the first `told` places of that order, over all tuples of places in their order."""
    found = []
    for order in itertools.permutations(range(len(scores)), told):
        left, chance = list(range(len(scores))), 1.0
        for place in order:
            chance *= softmax(np.asarray(scores)[left])[left.index(place)]
            left.remove(place)
        found.append(chance)
    return np.array(found)


def order_number(orders, places):
    """The number of each row among all tuples of different places in their order."""
    known = {order: i for i, order in enumerate(itertools.permutations(range(places), orders.shape[1]))}
    rows, back = np.unique(orders, axis=0, return_inverse=True)
    return np.array([known[tuple(map(int, row))] for row in rows])[back.ravel()]


def flip(bits, keep, rng):
    """Randomised response of an array of bits."""
    return np.where(rng.random(bits.shape) < keep, bits, 1 - bits)


def first_above(answers, level_noise, answer_noise):
    """Law of the first noisy answer that reaches a noisy level, and of none: by quadrature over the level's noise."""
    x, weight = np.polynomial.legendre.leggauss(40)
    edges = np.unique(np.r_[np.linspace(-30, 30, 241), answers])
    half, middle = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
    level = (middle[:, None] + half[:, None] * x).ravel()
    mass = (half[:, None] * weight).ravel() * level_noise.pdf(level)
    below = np.array([answer_noise.cdf(level - answer) for answer in answers])
    so_far = np.cumprod(np.vstack([np.ones_like(level), below]), axis=0)
    law = np.r_[(mass * so_far[:-1] * (1 - below)).sum(axis=1), (mass * so_far[-1]).sum()]
    return law / law.sum()


def first_of(hits):
    """The first column that is set, or how many there are."""
    return np.where(hits.any(axis=1), hits.argmax(axis=1), hits.shape[1])


LAPLACE = stats.laplace
