"""Noisy votes of teachers, propose-test-release, smooth sensitivity."""

import math

import numpy as np
from scipy import stats

import dpcheck as dp
from dpcheck.auditing import finite_laws

from ._draws import KEEP, flip, softmax
from ._told import Told, binomials, bug, laplace, line, product, revealed, sound, table

PURE = dp.PureDP(1.0)
VOTES = np.array([3.0, 3.0, 2.0]), np.array([2.0, 4.0, 2.0])
CLEAR = np.array([5.0, 0.0]), np.array([4.0, 1.0])
GRID = np.arange(5.0)
AGES = np.array([1.0, 1, 1, 3, 3]), np.array([1.0, 1, 3, 3, 3])


def noisy_winner(scale, draw="laplace"):
    """The label with most noisy votes."""
    return lambda data, rng, trials: (data + getattr(rng, draw)(scale=scale, size=(trials, len(data)))).argmax(axis=1)


def winner_laws(scale, pair=VOTES):
    return table(*(finite_laws.noisy_min(-side, scale).probabilities for side in pair))


def gap(data):
    low, high = np.sort(data)[-2:]
    return high - low


def released_if(passed):
    """1 + the winner where the test passes, else 0."""
    return lambda data, rng, trials: np.where(passed(data, rng, trials), 1 + int(data.argmax()), 0)


def tested(scale, threshold):
    """Propose, test, release: the winner, if its lead with noise exceeds a threshold."""
    return released_if(lambda data, rng, trials: gap(data) - 1 + rng.laplace(scale=scale, size=trials) > threshold)


def tested_laws(chance):
    return table([1 - chance, chance, 0], [1 - chance, 0, chance])


def distances(data):
    """How many records must change until the median is each value of the grid."""
    n = len(data) // 2 + 1
    return np.array([max(0, n - (data <= x).sum(), n - (data >= x).sum()) for x in GRID], float)


def inverse_sensitivity(factor):
    """The exponential mechanism for how many records must change."""
    return lambda data, rng, trials: (-factor * distances(data) + rng.gumbel(size=(trials, len(GRID)))).argmax(axis=1)


def inverse_laws(factor):
    return table(*(softmax(-factor * distances(side)) for side in AGES))


def scaled(draw, *scales):
    """Noise whose scale is that of the data: the first for 0, the second for 1."""
    return lambda data, rng, trials: getattr(rng, draw)(size=trials) * scales[int(data.sum())]


two_votes_move = bug(
    "held-votes-scale-for-one-count",
    "a teacher that changes its mind moves two counts, the noise is for one",
    PURE,
    winner_laws(1.0),
    noisy_winner(1.0),
    VOTES,
)
votes_told = bug(
    "held-votes-told-at-the-price-of-the-winner",
    "the noisy votes are told, not the winner alone",
    PURE,
    product(laplace(-1, cells=16, of=lambda y: y - 3), laplace(cells=16, of=lambda y: y - 3)),
    lambda data, rng, trials: data[:2] + rng.laplace(size=(trials, 2)),
    VOTES,
)
cost_told = bug(
    "held-data-dependent-cost-told",
    "with the label goes its data-dependent cost, a function of the true lead",
    PURE,
    revealed(lambda y: y[:, 1] > math.exp(-5)),
    lambda data, rng, trials: np.stack(
        [noisy_winner(2.0)(data, rng, trials), np.full(trials, math.exp(-gap(data)))], axis=1
    ),
    CLEAR,
)
bare_confidence = bug(
    "held-confident-votes-bare-threshold",
    "a question is answered when the true votes of the winner are at least 5, else refused",
    PURE,
    revealed(lambda y: y < 0),
    lambda data, rng, trials: np.where(data.max() >= 5, noisy_winner(2.0)(data, rng, trials), -1),
    CLEAR,
)
shared_record = bug(
    "held-record-with-two-teachers",
    "a record is given to two teachers, both of which it may turn",
    PURE,
    table(softmax(np.array([5.0, 0]) / 2), softmax(np.array([3.0, 2]) / 2)),
    noisy_winner(2.0, "gumbel"),
    (np.array([5.0, 0]), np.array([3.0, 2])),
)
unanimous = bug(
    "held-unanimous-votes-without-noise",
    "where all teachers agree the label is told without noise",
    PURE,
    table([1, 0], finite_laws.noisy_min(-CLEAR[1], 2.0).probabilities),
    lambda data, rng, trials: np.where(data.min() == 0, data.argmax(), noisy_winner(2.0)(data, rng, trials)),
    CLEAR,
)
labelled_four_times = bug(
    "held-student-asks-four-times",
    "one question is asked four times, each with fresh noise, charged once",
    PURE,
    binomials(4, 1 - KEEP, KEEP, lambda y: y.sum(axis=1)),
    lambda data, rng, trials: flip(np.full((trials, 4), int(data.sum())), KEEP, rng),
)
bare_test = bug(
    "held-propose-test-release-bare-test",
    "the distance to instability is tested without noise",
    dp.ApproxDP(1.0, 1e-2),
    revealed(lambda y: y > 0),
    released_if(lambda data, rng, trials: np.full(trials, gap(data) > 1)),
    (np.array([2.0, 1.0]), np.array([3.0, 1.0])),
)
easy_test = bug(
    "held-propose-test-release-threshold-for-another-delta",
    "the test passes at 1, as for delta = 0.18; claimed is 1/100",
    dp.ApproxDP(1.0, 1e-2),
    tested_laws(stats.laplace.sf(1.0)),
    tested(1.0, 1.0),
    (np.array([2.0, 1.0]), np.array([1.0, 2.0])),
)
distance_of_two = bug(
    "held-propose-test-release-distance-moves-by-two",
    "a record moves the lead by 2, the noise of the test is for 1",
    PURE,
    table(*([stats.laplace.cdf(6 - lead), stats.laplace.sf(6 - lead)] for lead in (3, 5))),
    tested(1.0, 6.0),
    (np.array([5.0, 1.0]), np.array([6.0, 0.0])),
)
test_and_value = bug(
    "held-propose-test-release-charged-once",
    "the test and the value each take epsilon, charged as one",
    PURE,
    Told(
        lambda: (
            np.r_[stats.laplace.cdf(0), stats.laplace.sf(0) * laplace(cells=16).laws()[0]],
            np.r_[stats.laplace.cdf(-1), stats.laplace.sf(-1) * laplace(cells=16).laws()[1]],
        ),
        lambda y: np.where(y == -99.0, 0, 1 + laplace(cells=16).cell(y)),
    ),
    lambda data, rng, trials: np.where(
        data.sum() + rng.laplace(size=trials) > 0, data.sum() + rng.laplace(size=trials), -99.0
    ),
)
distance_quoted = bug(
    "held-propose-test-release-distance-in-the-refusal",
    "the refusal says how far the data is from stable",
    PURE,
    revealed(lambda y: y < -1),
    lambda data, rng, trials: np.full(trials, -1 - data.sum()),
)
smooth_too_fast = bug(
    "held-smooth-sensitivity-of-a-fast-bound",
    "the smooth bound may grow e-fold from neighbour to neighbour, with Laplace noise and delta 1/100",
    dp.ApproxDP(1.0, 1e-2),
    line(stats.laplace(0, 1), stats.laplace(0, math.e), -20, 20),
    scaled("laplace", 1.0, math.e),
)
jump = bug(
    "held-smooth-sensitivity-looks-one-step-far",
    "the bound looks one step far, and there the sensitivity jumps: the scale of t noise is 1 against 4",
    PURE,
    line(stats.cauchy(0, 1), stats.cauchy(0, 4), -40, 40, cells=4000),
    scaled("standard_cauchy", 1.0, 4.0),
)
zero_gap = bug(
    "held-local-sensitivity-of-zero",
    "the noise is scaled by the gap around the median, which is zero",
    dp.ApproxDP(1.0, 1e-2),
    revealed(lambda y: y != 1),
    lambda data, rng, trials: np.median(data) + (data[3] - data[1]) / 2 * rng.laplace(size=trials),
    (np.ones(5), np.array([1.0, 1, 1, 2, 2])),
)
inverse_without_half = bug(
    "held-inverse-sensitivity-distance-counted-twice",
    "a record that is replaced counts as one removed and one added, at epsilon for a step of the distance",
    PURE,
    inverse_laws(2.0),
    inverse_sensitivity(2.0),
    AGES,
)

winner = sound(
    "held-votes",
    "noisy votes of scale 2/epsilon",
    PURE,
    winner_laws(2.0),
    noisy_winner(2.0),
    VOTES,
)
test_passed = sound(
    "held-propose-test-release",
    "the test passes beyond log(1/(2 delta))",
    dp.ApproxDP(1.0, 1e-2),
    tested_laws(stats.laplace.sf(math.log(50))),
    tested(1.0, math.log(50)),
    (np.array([2.0, 1.0]), np.array([1.0, 2.0])),
)
cauchy_scales = sound(
    "held-smooth-sensitivity-with-cauchy-noise",
    "Cauchy noise bears a scale that grows e-fold",
    PURE,
    line(stats.cauchy(0, 1), stats.cauchy(0, math.e), -40, 40, cells=4000),
    scaled("standard_cauchy", 1.0, math.e),
)
inverse_with_half = sound(
    "held-inverse-sensitivity",
    "the same with epsilon/2",
    PURE,
    inverse_laws(0.5),
    inverse_sensitivity(0.5),
    AGES,
)
