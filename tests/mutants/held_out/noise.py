"""Additive noise: its law, its scale, what is done about its tails."""

import math

import numpy as np
from scipy import optimize, stats

import dpcheck as dp

from ._told import ONE, ZERO, Mixture, apart, bug, gaussian, laplace, line, normal, product, sound, table

PURE = dp.PureDP(1.0)
BOUND = 2.0
TOLD_ENOUGH = 1 + math.log(1 + (math.e - 1) / 2 / 1e-3)
"""Laplace noise cut off there keeps (1, 1e-3)-DP."""


def redrawn_beyond(bound, scale=1.0):
    """Laplace noise, drawn again while it is larger than `bound`."""

    def run(data, rng, trials):
        most = -np.expm1(-bound / scale)
        size = -scale * np.log1p(-most * rng.random(trials))
        return data.sum() + rng.choice([-1.0, 1.0], trials) * size

    return run


class Cut:
    """Laplace noise about a centre, given that it falls between two ends."""

    def __init__(self, centre, low, high, scale=1.0):
        self.law, self.low, self.high = stats.laplace(centre, scale), low, high
        self.whole = self.law.cdf(high) - self.law.cdf(low)

    def cdf(self, x):
        return (self.law.cdf(np.clip(x, self.low, self.high)) - self.law.cdf(self.low)) / self.whole

    def sf(self, x):
        return (self.law.sf(np.clip(x, self.low, self.high)) - self.law.sf(self.high)) / self.whole


def cut_laws(bound, cells):
    return line(Cut(0, -bound, bound), Cut(1, 1 - bound, 1 + bound), -bound, 1 + bound, cells)


def within(low, high, scale=1.0):
    """Laplace noise, drawn again while the sum lies outside of a public range."""

    def run(data, rng, trials):
        centre = data.sum()
        ends = [0.5 * math.exp(-abs(x - centre) / scale) for x in (low, high)]
        first, last = (end if x < centre else 1 - end for x, end in zip((low, high), ends, strict=True))
        u = first + (last - first) * rng.random(trials) - 0.5
        return np.clip(centre - scale * np.sign(u) * np.log1p(-2 * np.abs(u)), low, high)

    return run


scale_cut_to_integer = bug(
    "held-laplace-scale-cut-to-integer",
    "integer division makes the scale 1 of 1.9",
    dp.PureDP(1 / 1.9),
    laplace(),
    lambda data, rng, trials: data.sum() + rng.laplace(scale=1.9 // 1, size=trials),
)
euclidean_for_sums = bug(
    "held-laplace-euclidean-sensitivity",
    "two columns, the scale from the Euclidean sensitivity sqrt(2) instead of the sum 2",
    PURE,
    product(laplace(scale=math.sqrt(2)), laplace(scale=math.sqrt(2))),
    lambda data, rng, trials: data.sum() + rng.laplace(scale=math.sqrt(2), size=(trials, 2)),
)
narrow_cauchy = bug(
    "held-cauchy-half-scale",
    "Cauchy noise of scale 1/2, half of what the claim takes",
    PURE,
    line(stats.cauchy(0, 0.5), stats.cauchy(1, 0.5), -8, 9),
    lambda data, rng, trials: data.sum() + 0.5 * rng.standard_cauchy(trials),
)
student_as_cauchy = bug(
    "held-student-with-the-proof-of-cauchy",
    "Student's t with three degrees of freedom, scaled as Cauchy noise would be",
    PURE,
    line(stats.t(3, 0, 0.9), stats.t(3, 1, 0.9), -8, 9),
    lambda data, rng, trials: data.sum() + 0.9 * rng.standard_t(3, trials),
)
records_up_to_two = bug(
    "held-geometric-records-up-to-two",
    "geometric noise for a count, added to a sum of records up to 2",
    PURE,
    line(stats.dlaplace(1.0), stats.dlaplace(1.0, loc=2), -0.5, 2.5, 3),
    lambda data, rng, trials: (
        2 * data.sum() + rng.geometric(1 - math.exp(-1), trials) - rng.geometric(1 - math.exp(-1), trials)
    ),
)
noise_cut_off = bug(
    "held-laplace-cut-off-at-two",
    "noise beyond two scales is drawn again, and the tail that is missing tells",
    dp.ApproxDP(1.0, 1e-3),
    cut_laws(BOUND, 50),
    redrawn_beyond(BOUND),
)
outputs_redrawn = bug(
    "held-laplace-redrawn-into-the-range",
    "noise is redrawn until the answer falls into [0, 1], with the scale of unbounded noise: the constants differ",
    dp.PureDP(0.5),
    line(Cut(0, 0, 1), Cut(0.5, 0, 1), 0, 1, 40),
    within(0.0, 1.0),
    (ZERO, 0.5 * ONE),
)
sign_of_the_data = bug(
    "held-noise-away-from-the-middle",
    "the sign of the noise follows the answer, so that it never crosses the middle",
    PURE,
    table([1, 0], [0, 1], lambda y: y > 0.5),
    lambda data, rng, trials: data.sum() + (1 if data.sum() > 0.5 else -1) * rng.exponential(size=trials),
)
relative_noise = bug(
    "held-noise-relative-to-the-answer",
    "the scale is the answer itself: 1 against 2",
    dp.ApproxDP(1.0, 1e-2),
    line(stats.laplace(1, 1), stats.laplace(2, 2), -20, 30),
    lambda data, rng, trials: data.sum() * (1 + rng.laplace(size=trials)),
    (ONE, 2 * ONE),
)
delta_of_a_hundredth = bug(
    "held-gaussian-for-another-delta",
    "noise for delta = 1e-2 sold at delta = 1e-4",
    dp.ApproxDP(1.0, 1e-4),
    normal(MU := float(optimize.brentq(lambda m: dp.GaussianDP(m).epsilon_at(1e-2) - 1, 0.1, 2))),
    lambda data, rng, trials: MU * data.sum() + rng.normal(size=trials),
)
poisson_count = bug(
    "held-poisson-noise-on-a-small-count",
    "a Poisson number about the count is its own noise, at a count of 4",
    dp.ApproxDP(0.2, 1e-2),
    table(*(stats.poisson.pmf(np.arange(60), mean) for mean in (4, 5))),
    lambda data, rng, trials: rng.poisson(data.sum(), trials),
    (4 * ONE, 5 * ONE),
)
few_coins = bug(
    "held-binomial-noise-of-eight-coins",
    "binomial noise of too few coins: its ends show",
    dp.ApproxDP(1.0, 1e-3),
    table(*(stats.binom.pmf(np.arange(10) - at, 8, 0.5) for at in (0, 1))),
    lambda data, rng, trials: data.sum() + rng.binomial(8, 0.5, trials),
)
one_of_two_noised = bug(
    "held-noise-with-probability-nine-tenths",
    "a flag that is drawn switches the noise off in a tenth of the runs",
    dp.ApproxDP(1.0, 1e-2),
    apart(lambda y: y == 0, 0.1, 0.0, apart(lambda y: y == 1, 0.0, 0.1, laplace())),
    lambda data, rng, trials: data.sum() + (rng.random(trials) < 0.9) * rng.laplace(size=trials),
)
two_scales = bug(
    "held-laplace-of-a-mixed-scale",
    "the scale is drawn from {1/4, 7/4}, which is 1 on average",
    PURE,
    line(*(Mixture(*((0.5, stats.laplace(at, scale)) for scale in (0.25, 1.75))) for at in (0, 1)), -6, 7),
    lambda data, rng, trials: data.sum() + rng.laplace(size=trials) * rng.choice([0.25, 1.75], trials),
)

cauchy = sound(
    "held-cauchy",
    "Cauchy noise of scale 1: its ratio is largest near the middle, 2 asinh(1/2)",
    PURE,
    line(stats.cauchy(0, 1), stats.cauchy(1, 1), -8, 9),
    lambda data, rng, trials: data.sum() + rng.standard_cauchy(trials),
)
logistic = sound(
    "held-logistic",
    "logistic noise has the tails of Laplace noise, and meets its claim there",
    PURE,
    line(stats.logistic(0), stats.logistic(1), -15, 16),
    lambda data, rng, trials: data.sum() + rng.logistic(size=trials),
)
cut_far_out = sound(
    "held-laplace-cut-off-far-out",
    "noise that is cut off where no more than delta is left",
    dp.ApproxDP(1.0, 1e-3),
    cut_laws(TOLD_ENOUGH, 800),
    redrawn_beyond(TOLD_ENOUGH),
)
clamped = sound(
    "held-laplace-clamped",
    "the same range kept by clamping, which is post-processing",
    dp.PureDP(0.5),
    laplace(0.5, cells=12, of=lambda y: np.where(y == 0.5, 1.0, y)),
    lambda data, rng, trials: np.clip(data.sum() + rng.laplace(size=trials), 0, 0.5),
    (ZERO, 0.5 * ONE),
)
many_coins = sound(
    "held-binomial-noise-of-128-coins",
    "binomial noise of enough coins",
    dp.ApproxDP(1.0, 1e-3),
    table(*(stats.binom.pmf(np.arange(130) - at, 128, 0.5) for at in (0, 1))),
    lambda data, rng, trials: data.sum() + rng.binomial(128, 0.5, trials),
)
tight_point = sound(
    "held-gaussian-at-a-point",
    "Gaussian noise that meets its point with equality",
    gaussian(1.0),
    normal(1.0),
    lambda data, rng, trials: data.sum() + rng.normal(size=trials),
)
floors = sound(
    "held-floors-of-exponentials",
    "the difference of two exponential variables, each rounded down, is geometric noise",
    PURE,
    line(stats.dlaplace(1.0), stats.dlaplace(1.0, loc=1), -0.5, 1.5, 2),
    lambda data, rng, trials: (
        data.sum() + np.floor(rng.exponential(size=trials)) - np.floor(rng.exponential(size=trials))
    ),
)
