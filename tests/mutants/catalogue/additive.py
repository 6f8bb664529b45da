"""Mutants of additive noise on a clipped mean or a count: scales, sensitivities, sources of bounds."""

import math

import numpy as np
from scipy import stats

import dpcheck as dp
from dpcheck.auditing.limits import fewest_on_gaussian_curve, fewest_samples
from dpcheck.mutants import Mutant
from dpcheck.testing import kill_by_audit, kill_by_number

N = 20
LOW, HIGH = np.zeros(N), np.r_[np.zeros(N - 1), 1.0]
FAR = np.r_[np.zeros(N - 1), 50.0]
PURE = dp.PureDP(1.0)
MU = 0.2681  # (1, 1e-5)-DP
CURVE = dp.GaussianDP(MU)


def laplace_cells(shift):
    x = np.linspace(-14, 14 + shift, 1201)
    laws = (np.diff(np.r_[0, stats.laplace.cdf(x - at), 1]) for at in (0.0, shift))
    return tuple(np.maximum(law, 1e-30) for law in laws)


def laplace_minimum(shift):
    return lambda alpha, power: fewest_samples(*laplace_cells(shift), 1.0, 0.0, alpha, power)


def gaussian_minimum(mu):
    return lambda alpha, power: fewest_on_gaussian_curve(mu, MU, alpha, power)


def mean_laplace(scale):
    return lambda data, rng, trials: np.clip(data, 0, 1).mean() + rng.laplace(scale=scale, size=trials)


def mean_gaussian(sigma, d=1):
    shape = np.array([1.0] + [0.0] * (d - 1)) if d > 1 else 1.0

    def run(data, rng, trials):
        noise = rng.normal(scale=sigma, size=(trials, d) if d > 1 else trials)
        return np.clip(data, 0, 1).mean() * shape + noise

    return run


half_sensitivity = Mutant(
    name="laplace-half-sensitivity",
    bug="sensitivity C/n (add-remove) where replace-one in [-C, C] needs 2C/n",
    kill=kill_by_audit(
        lambda data, rng, trials: np.clip(data, -1, 1).mean() + rng.laplace(scale=1 / N, size=trials),
        -np.ones(N),
        np.r_[-np.ones(N - 1), 1.0],
        PURE,
        exact_epsilon=2.0,
        minimum=laplace_minimum(2.0),
    ),
)
gaussian_half_sensitivity = Mutant(
    name="gaussian-half-sensitivity",
    bug="Gaussian noise for C/n where replace-one needs 2C/n: twice the shift",
    kill=kill_by_audit(
        mean_gaussian(1 / N / (2 * MU)),
        LOW,
        HIGH,
        CURVE,
        exact_epsilon=dp.GaussianDP(2 * MU).epsilon_at(1e-5),
        minimum=gaussian_minimum(2 * MU),
    ),
)
variance_as_deviation = Mutant(
    name="gaussian-variance-as-deviation",
    bug="the variance sigma^2 < sigma passed where a standard deviation is meant",
    kill=kill_by_audit(
        mean_gaussian((1 / N / MU) ** 2),
        LOW,
        HIGH,
        CURVE,
        exact_epsilon=dp.GaussianDP(N * MU**2).epsilon_at(1e-5),
        minimum=gaussian_minimum(N * MU**2),
    ),
)
deviation_as_variance = Mutant(
    name="gaussian-deviation-as-variance",
    bug="the standard deviation 3.7 taken for a variance: noise of its square root",
    kill=kill_by_audit(
        lambda data, rng, trials: data.sum() + rng.normal(scale=math.sqrt(1 / MU), size=trials),
        LOW,
        HIGH,
        CURVE,
        exact_epsilon=dp.GaussianDP(math.sqrt(MU)).epsilon_at(1e-5),
        minimum=gaussian_minimum(math.sqrt(MU)),
        standard=60_000,
    ),
)
per_coordinate_noise = Mutant(
    name="gaussian-noise-over-root-d",
    bug="noise per coordinate divided by sqrt(d), d = 5",
    kill=kill_by_audit(
        mean_gaussian(1 / N / MU / math.sqrt(5), d=5),
        LOW,
        HIGH,
        CURVE,
        exact_epsilon=dp.GaussianDP(MU * math.sqrt(5)).epsilon_at(1e-5),
        minimum=gaussian_minimum(MU * math.sqrt(5)),
    ),
)
divided_twice = Mutant(
    name="laplace-divided-by-n-twice",
    bug="noise divided by the batch size once too often",
    kill=kill_by_audit(
        mean_laplace(1 / N / N), LOW, HIGH, PURE, exact_epsilon=float(N), minimum=laplace_minimum(float(N))
    ),
)
epsilon_as_scale = Mutant(
    name="histogram-scale-epsilon",
    bug="histogram noise of scale epsilon instead of 1/epsilon, epsilon = 0.5",
    kill=kill_by_audit(
        lambda data, rng, trials: (data > 0.5).sum() + rng.laplace(scale=0.5, size=trials),
        LOW,
        HIGH,
        dp.PureDP(0.5),
        exact_epsilon=2.0,
        minimum=lambda alpha, power: fewest_samples(*laplace_cells(2.0), 0.5, 0.0, alpha, power),
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
        exact_epsilon=4.0,
        minimum=laplace_minimum(4.0),
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
        exact_epsilon=50.0,
        minimum=laplace_minimum(50.0),
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
        exact_epsilon=3.0,
        minimum=laplace_minimum(3.0),
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
        minimum=lambda alpha, power: fewest_samples([0.8161, 0.1839], [0.1839, 0.8161], 1.0, 0.0, alpha, power),
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
    ),
)
one_sided_noise = Mutant(
    name="exponential-noise-one-sided",
    bug="one-sided exponential noise with the proof of the two-sided law",
    kill=kill_by_audit(
        lambda data, rng, trials: data.sum() + rng.exponential(size=trials), LOW, HIGH, PURE, exact_epsilon=math.inf
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
