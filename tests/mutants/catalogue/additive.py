"""Mutants of additive noise on a clipped mean or a count: scales, sensitivities, sources of bounds."""

import math

import numpy as np
from scipy import stats

import dpcheck as dp
from dpcheck.mutants import Mutant
from dpcheck.testing import kill_by_audit, kill_by_number

from ._laws import between, gaussian_noise, laplace_noise, shifted, told_apart

N = 20
LOW, HIGH = np.zeros(N), np.r_[np.zeros(N - 1), 1.0]
FAR = np.r_[np.zeros(N - 1), 50.0]
PURE = dp.PureDP(1.0)
MU = 0.2681  # (1, 1e-5)-DP
CURVE = dp.GaussianDP(MU)


def mean_laplace(scale):
    return lambda data, rng, trials: np.clip(data, 0, 1).mean() + rng.laplace(scale=scale, size=trials)


def mean_gaussian(sigma, d=1):
    shape = np.array([1.0] + [0.0] * (d - 1)) if d > 1 else 1.0

    def run(data, rng, trials):
        noise = rng.normal(scale=sigma, size=(trials, d) if d > 1 else trials)
        return np.clip(data, 0, 1).mean() * shape + noise

    return run


def punctured_geometric(k):
    """Two-sided geometric law of ratio 1/e without its zero; what lies beyond the support given is below 1e-17."""
    return np.where(k == 0, 0.0, (math.e - 1) / 2 * np.exp(-np.abs(k)))


END = 1 / (2 * math.sqrt(6))


half_sensitivity = Mutant(
    name="laplace-half-sensitivity",
    bug="sensitivity C/n (add-remove) where replace-one in [-C, C] needs 2C/n",
    kill=kill_by_audit(
        lambda data, rng, trials: np.clip(data, -1, 1).mean() + rng.laplace(scale=1 / N, size=trials),
        -np.ones(N),
        np.r_[-np.ones(N - 1), 1.0],
        PURE,
        **laplace_noise(2.0),
    ),
)
gaussian_half_sensitivity = Mutant(
    name="gaussian-half-sensitivity",
    bug="Gaussian noise for C/n where replace-one needs 2C/n: twice the shift",
    kill=kill_by_audit(mean_gaussian(1 / N / (2 * MU)), LOW, HIGH, CURVE, **gaussian_noise(2 * MU, MU)),
)
variance_as_deviation = Mutant(
    name="gaussian-variance-as-deviation",
    bug="the variance sigma^2 < sigma passed where a standard deviation is meant",
    kill=kill_by_audit(mean_gaussian((1 / N / MU) ** 2), LOW, HIGH, CURVE, **gaussian_noise(N * MU**2, MU)),
)
deviation_as_variance = Mutant(
    name="gaussian-deviation-as-variance",
    bug="the standard deviation 3.7 taken for a variance: noise of its square root",
    kill=kill_by_audit(
        lambda data, rng, trials: data.sum() + rng.normal(scale=math.sqrt(1 / MU), size=trials),
        LOW,
        HIGH,
        CURVE,
        **gaussian_noise(math.sqrt(MU), MU),
        standard=60_000,
    ),
)
per_coordinate_noise = Mutant(
    name="gaussian-noise-over-root-d",
    bug="noise per coordinate divided by sqrt(d), d = 5",
    kill=kill_by_audit(
        mean_gaussian(1 / N / MU / math.sqrt(5), d=5), LOW, HIGH, CURVE, **gaussian_noise(MU * math.sqrt(5), MU)
    ),
)
divided_twice = Mutant(
    name="laplace-divided-by-n-twice",
    bug="noise divided by the batch size once too often",
    kill=kill_by_audit(mean_laplace(1 / N / N), LOW, HIGH, PURE, **laplace_noise(float(N))),
)
epsilon_as_scale = Mutant(
    name="histogram-scale-epsilon",
    bug="histogram noise of scale epsilon instead of 1/epsilon, epsilon = 0.5",
    kill=kill_by_audit(
        lambda data, rng, trials: (data > 0.5).sum() + rng.laplace(scale=0.5, size=trials),
        LOW,
        HIGH,
        dp.PureDP(0.5),
        **laplace_noise(2.0),
    ),
)
one_end_of_the_range = Mutant(
    name="laplace-one-end-of-the-range",
    bug="sensitivity |low|/n of records in [-1, 4]: only one end of the range is looked at",
    kill=kill_by_audit(
        lambda data, rng, trials: np.clip(data, -1, 4).mean() + rng.laplace(scale=1 / N, size=trials),
        LOW,
        FAR,
        PURE,
        **laplace_noise(4.0),
    ),
)
raw_copy_used = Mutant(
    name="laplace-raw-copy-used",
    bug="the clipped copy is computed, the raw one averaged",
    kill=kill_by_audit(
        lambda data, rng, trials: (np.clip(data, 0, 1), data)[1].mean() + rng.laplace(scale=1 / N, size=trials),
        LOW,
        FAR,
        PURE,
        **laplace_noise(50.0),
    ),
)
clip_ignored = Mutant(
    name="laplace-clip-argument-ignored",
    bug="the clip norm is an argument that nothing reads: records up to 3 enter whole",
    kill=kill_by_audit(
        lambda data, rng, trials: np.clip(data, 0, 3).mean() + rng.laplace(scale=1 / N, size=trials),
        LOW,
        FAR,
        PURE,
        **laplace_noise(3.0),
    ),
)
bounds_from_data = Mutant(
    name="laplace-bounds-from-data",
    bug="records are scaled by their own maximum, which is released in effect",
    kill=kill_by_audit(
        lambda data, rng, trials: (
            data.max() * ((data / max(data.max(), 1e-9)).mean() + rng.laplace(scale=1 / N, size=trials))
        ),
        np.r_[np.zeros(N - 1), 1.0],
        FAR,
        PURE,
        exact_epsilon=math.inf,
        # Sums of N: 1 + Laplace(1) against 50 + 50 Laplace(1).
        laws=lambda: between(
            np.linspace(-700, 800, 30_001), lambda x: stats.laplace.cdf(x, 1, 1), lambda x: stats.laplace.cdf(x, 50, 50)
        ),
    ),
)
width_from_data = Mutant(
    name="laplace-scale-from-data",
    bug="the noise scale is the range of the data: local, not global, sensitivity",
    kill=kill_by_audit(
        lambda data, rng, trials: data.mean() + rng.laplace(scale=np.ptp(data) / N + 1e-6, size=trials),
        np.full(N, 0.5),
        np.r_[np.full(N - 1, 0.5), 1.0],
        PURE,
        exact_epsilon=math.inf,
        laws=lambda: between(
            0.5 + np.concatenate([-np.geomspace(3, 1e-8, 600), np.geomspace(1e-8, 3, 600)]),
            lambda x: stats.laplace.cdf(x, 0.5, 1e-6),
            lambda x: stats.laplace.cdf(x, 0.5 + 0.5 / N, 0.5 / N + 1e-6),
        ),
    ),
)
geometric_without_zero = Mutant(
    name="geometric-without-zero",
    bug="two-sided geometric noise that never draws 0",
    kill=kill_by_audit(
        lambda data, rng, trials: data.sum() + rng.choice([-1, 1], trials) * rng.geometric(1 - math.exp(-1), trials),
        LOW,
        HIGH,
        PURE,
        exact_epsilon=math.inf,
        laws=lambda: tuple(punctured_geometric(np.arange(-40, 41) - at) for at in (0, 1)),
    ),
)
wrong_bias = Mutant(
    name="randomised-response-wrong-bias",
    bug="the truth kept with probability 1 - e^-epsilon/2 instead of e^epsilon/(1 + e^epsilon)",
    kill=kill_by_audit(
        lambda data, rng, trials: np.where(rng.random(trials) < 1 - math.exp(-1) / 2, data[-1], 1 - data[-1]),
        LOW,
        HIGH,
        PURE,
        exact_epsilon=math.log((1 - math.exp(-1) / 2) / (math.exp(-1) / 2)),
        laws=lambda: ([1 - math.exp(-1) / 2, math.exp(-1) / 2], [math.exp(-1) / 2, 1 - math.exp(-1) / 2]),
    ),
)
masked_after_noise = Mutant(
    name="gaussian-masked-by-data",
    bug="the noisy mean is set to zero afterwards where the true one is zero",
    kill=kill_by_audit(
        lambda data, rng, trials: np.where(data.mean() > 0, data.mean() + rng.normal(size=trials), 0.0),
        LOW,
        HIGH,
        CURVE,
        exact_epsilon=math.inf,
        minimum=told_apart(CURVE),
    ),
)
clipped_to_data = Mutant(
    name="laplace-clipped-to-data-range",
    bug="the noisy mean is clipped to the range of the data 'for plausibility'",
    kill=kill_by_audit(
        lambda data, rng, trials: np.clip(data.mean() + rng.laplace(scale=1 / N, size=trials), data.min(), data.max()),
        np.full(N, 0.5),
        np.r_[np.full(N - 1, 0.5), 1.0],
        PURE,
        exact_epsilon=math.inf,
        # Always 0.5, against noise about 0.525 of which what lies below 0.5 is moved there.
        laws=lambda: ([1.0, 0.0], [math.exp(-0.5) / 2, 1 - math.exp(-0.5) / 2]),
    ),
)
one_sided_noise = Mutant(
    name="exponential-noise-one-sided",
    bug="one-sided exponential noise with the proof of the two-sided law",
    kill=kill_by_audit(
        lambda data, rng, trials: data.sum() + rng.exponential(size=trials),
        LOW,
        HIGH,
        PURE,
        exact_epsilon=math.inf,
        laws=lambda: between(np.linspace(0, 30, 3001), stats.expon.cdf, lambda x: stats.expon.cdf(x - 1)),
    ),
)
uniform_noise = Mutant(
    name="uniform-noise",
    bug="uniform noise of the same variance: a law with a false proof",
    kill=kill_by_audit(
        lambda data, rng, trials: data.sum() + rng.uniform(-math.sqrt(6), math.sqrt(6), size=trials),
        LOW,
        HIGH,
        PURE,
        exact_epsilon=math.inf,
        # Either end of one law, a share 1/(2 sqrt(6)), lies beyond the other.
        laws=lambda: ([END, 1 - END, 0.0], [0.0, 1 - END, END]),
    ),
)
smaller_scale = Mutant(
    name="laplace-scale-a-fifth-too-small",
    bug="noise of scale 0.8 where 1 is needed",
    kill=kill_by_audit(
        lambda data, rng, trials: data.sum() + rng.laplace(scale=0.8, size=trials),
        LOW,
        HIGH,
        PURE,
        **laplace_noise(1.25),
    ),
)
smaller_deviation = Mutant(
    name="gaussian-deviation-a-tenth-too-small",
    bug="noise of standard deviation 0.9 where the curve needs 1",
    kill=kill_by_audit(
        lambda data, rng, trials: data.sum() + rng.normal(scale=0.9, size=trials),
        LOW,
        HIGH,
        dp.GaussianDP(1.0),
        **gaussian_noise(1 / 0.9, 1.0),
    ),
)
half_deviation = Mutant(
    name="gaussian-half-the-deviation",
    bug="noise of standard deviation 1/2 where the curve needs 1",
    kill=kill_by_audit(
        lambda data, rng, trials: data.sum() + rng.normal(scale=0.5, size=trials),
        LOW,
        HIGH,
        dp.GaussianDP(1.0),
        **gaussian_noise(2.0, 1.0),
    ),
)
half_deviation_at_a_point = Mutant(
    name="gaussian-half-the-deviation-at-a-point",
    bug="the same with only (4.3772, 1e-5) claimed",
    kill=kill_by_audit(
        lambda data, rng, trials: data.sum() + rng.normal(scale=0.5, size=trials),
        LOW,
        HIGH,
        dp.ApproxDP(4.3772, 1e-5),
        exact_epsilon=dp.GaussianDP(2.0).epsilon_at(1e-5),
        laws=shifted(stats.norm, 2.0),
    ),
)


def classic_epsilon(epsilon, delta=1e-5):
    """Exact epsilon of the classic sigma = sqrt(2 log(1.25/delta)) / epsilon, whose proof needs epsilon <= 1."""
    return dp.GaussianDP(epsilon / math.sqrt(2 * math.log(1.25 / delta))).epsilon_at(delta)


classic_gaussian = Mutant(
    name="classic-gaussian-at-30",
    bug="the classic Gaussian formula at epsilon = 30 (fine at 8, broken here)",
    kill=kill_by_number("exact law", "(30, 1e-5)-DP", lambda: classic_epsilon(30.0), 30.0),
)
delta_not_split = Mutant(
    name="delta-not-split",
    bug="three phases on the same records, each at delta, sold as one (epsilon, delta)",
    # Leaky randomised response meets its delta with equality: three of them reveal with probability 1 - (1 - delta)^3.
    kill=kill_by_number("exact law", "delta = 1e-5 in all", lambda: -math.expm1(3 * math.log1p(-1e-5)), 1e-5),
)
over_rounded = Mutant(
    name="conversion-optimistic-rounding",
    bug="zCDP to (epsilon, delta) by rho + sqrt(rho log(1/delta)): a factor 2 lost",
    kill=kill_by_number(
        "accountant",
        "epsilon of rho = 0.5 at 1e-5",
        lambda: dp.GaussianDP(1.0).epsilon_at(1e-5),
        0.5 + math.sqrt(0.5 * math.log(1e5)),
    ),
)
