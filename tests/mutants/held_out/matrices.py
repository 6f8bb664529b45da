"""Continual sums: trees, matrix mechanisms and noise that is correlated in time."""

import math

import numpy as np

import dpcheck as dp

from ._told import along, bug, gaussian, laplace, normal, product, revealed, sound

MU = 0.5
STREAM = np.zeros(4), np.array([1.0, 0.0, 0.0, 0.0])
LAST = np.zeros(3), np.array([0.0, 0.0, 1.0])
ROOT = np.array([[1, 0, 0, 0], [0.5, 1, 0, 0], [0.375, 0.5, 1, 0], [0.3125, 0.375, 0.5, 1]])
"""Square root of the matrix of prefix sums of four steps."""
HAAR = np.array([[1, 1, 1, 1], [1, 1, -1, -1], [1, -1, 0, 0], [0, 0, 1, -1]], float)


def strategy(matrix, mu=MU):
    """The rows of a matrix answered with standard normal noise."""
    return lambda data, rng, trials: mu * (matrix @ data) + rng.normal(size=(trials, len(matrix)))


def told_by(matrix, record, mu=MU):
    return along(*(mu * (matrix @ record)))


def nodes(data):
    """Sums of a tree over four leaves: leaves, pairs, the root."""
    return np.r_[data, data[:2].sum(), data[2:].sum(), data.sum()]


def fresh_prefixes(data, rng, trials):
    """Prefix sums of tree nodes whose noise is drawn anew for every sum."""
    used = np.array([1, 1, 2, 1])
    return MU * np.cumsum(data) + rng.normal(size=(trials, 4)) * np.sqrt(used)


def last_leaf_bare(data, rng, trials):
    """Prefix sums of three steps: leaf, pair, and the pair with a leaf that waits for its partner."""
    noise = rng.normal(size=(trials, 2))
    return MU * np.cumsum(data) + noise[:, [0, 1, 1]]


def cancelling(data, rng, trials):
    """Every step takes the noise of the one before off again."""
    noise = rng.normal(size=(trials, 4))
    return MU * data.sum() * np.ones(4) + noise - np.c_[np.zeros(trials), noise[:, :-1]]


GROWING = np.array([1.0, 2.0, 3.0, 4.0])
TWICE = np.array([1.0, 0.0, 1.0, 0.0])

one_level = bug(
    "held-tree-noise-for-one-level",
    "a record lies in three nodes of a tree, each noised as if it were the only one",
    gaussian(MU),
    along(*(MU * nodes(STREAM[1]))),
    lambda data, rng, trials: MU * nodes(data) + rng.normal(size=(trials, 7)),
    STREAM,
)
nodes_drawn_anew = bug(
    "held-tree-noise-drawn-anew",
    "a node has fresh noise in every prefix sum that it is used in",
    gaussian(MU * math.sqrt(3)),
    normal(
        MU * math.sqrt(3.5),
        of=lambda y: y @ (np.ones(4) / np.array([1, 1, 2, 1])) / math.sqrt(3.5),
    ),
    fresh_prefixes,
    STREAM,
)
largest_entry = bug(
    "held-matrix-sensitivity-of-the-largest-entry",
    "the sensitivity of a strategy is taken as its largest entry, not the length of a column",
    gaussian(MU),
    told_by(ROOT, STREAM[1]),
    strategy(ROOT),
    STREAM,
)
epochs = bug(
    "held-matrix-sensitivity-of-one-epoch",
    "a record takes part in steps 1 and 3: the columns add up before their length is taken",
    gaussian(MU * float(np.linalg.norm(ROOT[:, 0]))),
    told_by(ROOT, TWICE),
    strategy(ROOT),
    (np.zeros(4), TWICE),
)
anticorrelated = bug(
    "held-correlated-noise-charged-as-independent",
    "noise that the next step takes off again, accounted as independent noise of its variance 2",
    gaussian(MU * 2 / math.sqrt(2)),
    normal(
        MU * math.sqrt(30),
        of=lambda y: np.cumsum(y, axis=1) @ GROWING / math.sqrt(30),
    ),
    cancelling,
)
leaf_without_noise = bug(
    "held-tree-last-leaf-bare",
    "a leaf that waits for its partner is added to the prefix sum without noise",
    gaussian(1.0),
    revealed(lambda y: y[:, 2] - y[:, 1] > 0.5 * MU),
    last_leaf_bare,
    LAST,
)
wavelet = bug(
    "held-wavelet-charged-for-one-coefficient",
    "a record moves three coefficients of a wavelet, each with Laplace noise for one",
    dp.PureDP(1.0),
    product(*[laplace(cells=8)] * 3),
    lambda data, rng, trials: HAAR[:3] @ data + rng.laplace(size=(trials, 3)),
    STREAM,
)
frobenius = bug(
    "held-matrix-sensitivity-of-the-mean-column",
    "the sensitivity is that of the mean column, and the first is longer",
    gaussian(MU * math.sqrt(float((ROOT**2).sum()) / 4)),
    told_by(ROOT, STREAM[1]),
    strategy(ROOT),
    STREAM,
)
prefixes = bug(
    "held-prefix-sums-charged-as-one-count",
    "all four prefix sums move, noised as one count",
    gaussian(MU),
    along(*[MU] * 4),
    lambda data, rng, trials: MU * np.cumsum(data) + rng.normal(size=(trials, 4)),
    STREAM,
)

leaves = sound(
    "held-prefix-sums-of-noisy-leaves",
    "prefix sums of noisy leaves: their differences are the leaves",
    gaussian(MU),
    normal(MU, of=lambda y: y[:, 0]),
    lambda data, rng, trials: np.cumsum(MU * data + rng.normal(size=(trials, 4)), axis=1),
    STREAM,
)
whole_tree = sound(
    "held-tree-charged-for-its-levels",
    "a record lies in three nodes, and sqrt(3) is charged",
    gaussian(MU * math.sqrt(3)),
    along(*(MU * nodes(STREAM[1]))),
    lambda data, rng, trials: MU * nodes(data) + rng.normal(size=(trials, 7)),
    STREAM,
)
columns = sound(
    "held-matrix-mechanism",
    "a strategy with the length of its longest column",
    gaussian(MU * float(np.linalg.norm(ROOT[:, 0]))),
    told_by(ROOT, STREAM[1]),
    strategy(ROOT),
    STREAM,
)
final_only = sound(
    "held-anticorrelated-noise-last-sum",
    "of steps whose noise cancels the sum alone is told, at its price of 4 records' moves",
    gaussian(4 * MU),
    normal(4 * MU),
    lambda data, rng, trials: cancelling(data, rng, trials).sum(axis=1),
)
