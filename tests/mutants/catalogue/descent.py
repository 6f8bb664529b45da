"""Mutants of noisy gradient descent: T = 10 full-batch steps on records g_i in the unit ball, one step a coordinate.

The step is w <- w - mean clip(g_i(w)) + noise with g_i(w) = w - x_i (squared loss), so that a record enters every step.
The correct release of all increments is mu-GDP with mu = sqrt(T) (2C/n)/sigma.
"""

import math

import numpy as np

import dpcheck as dp
from dpcheck.auditing.attacks import replayed_noise
from dpcheck.auditing.limits import fewest_on_gaussian_curve, fewest_samples
from dpcheck.mutants import Mutant
from dpcheck.testing import kill_by_attack, kill_by_audit, kill_by_number

N, STEPS, CLIP = 10, 10, 1.0
MU = 0.5
CLAIM = dp.GaussianDP(MU)
SENSITIVITY = 2 * CLIP / N
SIGMA = math.sqrt(STEPS) * SENSITIVITY / MU
# Saturates the clip on both sides, at opposite ends.
DATA, NEIGHBOUR = np.r_[np.zeros(N - 1), 9.0], np.r_[np.zeros(N - 1), -9.0]


def clipped(values):
    return np.clip(values, -CLIP, CLIP)


def mean_gradient(w, data):
    return clipped(w[:, None] - data).mean(axis=1)


def descent(gradient=mean_gradient, sigma=SIGMA, steps=STEPS, rate=0.2, last_noised=True, seed=None, releases="all"):
    """The transcript of noisy gradients, (trials, steps), or the last iterate."""

    def run(data, rng, trials):
        source = rng if seed in (None, "step") else np.random.default_rng(seed)
        w, told = np.zeros(trials), []
        for step in range(steps):
            noise = source.normal(scale=sigma, size=trials) if last_noised or step < steps - 1 else 0.0
            if seed == "step":
                noise = np.random.default_rng(5).normal(scale=sigma, size=trials)
            noisy = gradient(w, data) + noise
            w = w - rate * noisy
            told.append(noisy)
        return np.stack(told, axis=1) if releases == "all" else w

    return run


def epsilon_of(mu, delta=1e-5):
    return dp.GaussianDP(mu).epsilon_at(delta)


def batch_mean_clipped(w, data):
    return clipped((w[:, None] - data).mean(axis=1))


def unclipped(w, data):
    return (w[:, None] - data).mean(axis=1)


def intercept_outside(w, data):
    return clipped(w[:, None] - data).mean(axis=1) - 0.3 * data.mean()


batch_mean = Mutant(
    name="descent-batch-mean-clipped",
    bug="the mean of the batch is clipped, not each gradient",
    kill=kill_by_audit(descent(batch_mean_clipped), DATA, NEIGHBOUR, CLAIM),
)
forgotten_clip = Mutant(
    name="descent-clip-forgotten",
    bug="clipping is an option that defaults to off",
    kill=kill_by_audit(descent(unclipped), DATA, NEIGHBOUR, CLAIM, exact_epsilon=epsilon_of(9 * MU)),
)
intercept = Mutant(
    name="descent-intercept-outside-the-clip",
    bug="the intercept's gradient is added after clipping",
    kill=kill_by_audit(descent(intercept_outside), DATA, NEIGHBOUR, CLAIM),
)
not_composed = Mutant(
    name="descent-noise-of-one-step",
    bug="noise calibrated for one step, not for ten composed",
    kill=kill_by_audit(
        descent(sigma=SIGMA / math.sqrt(STEPS)),
        DATA,
        NEIGHBOUR,
        CLAIM,
        exact_epsilon=epsilon_of(MU * math.sqrt(STEPS)),
        minimum=lambda alpha, power: fewest_on_gaussian_curve(MU * math.sqrt(STEPS), MU, alpha, power),
    ),
)
not_composed_last = Mutant(
    name="descent-noise-of-one-step-last-iterate",
    bug="the same, seen through the last iterate of plain sums (rate 0.2 on a linear loss)",
    kill=kill_by_audit(
        descent(lambda w, d: clipped(-d).mean() + 0 * w, sigma=SIGMA / math.sqrt(STEPS), releases="last"),
        DATA,
        NEIGHBOUR,
        CLAIM,
        exact_epsilon=epsilon_of(MU * math.sqrt(STEPS)),
        minimum=lambda alpha, power: fewest_on_gaussian_curve(MU * math.sqrt(STEPS), MU, alpha, power),
    ),
)
last_step_bare = Mutant(
    name="descent-last-step-bare",
    bug="the last step carries no noise: hidden in the last iterate, plain in the released gradients",
    kill=kill_by_audit(descent(last_noised=False), DATA, NEIGHBOUR, CLAIM, exact_epsilon=math.inf),
)
seed_reused = Mutant(
    name="descent-seed-reused-each-step",
    bug="the generator is made anew from one seed in every step: differences of steps are exact",
    kill=kill_by_attack(
        lambda c: replayed_noise(descent(lambda w, d: clipped(-d).mean() + 0 * w, seed="step"), DATA), "0.5-GDP"
    ),
)
seed_fixed = Mutant(
    name="descent-seed-fixed",
    bug="a default seed: two runs of the mechanism have the same noise",
    kill=kill_by_attack(lambda c: replayed_noise(descent(seed=7), DATA, seed=c.seed), "0.5-GDP"),
)
shared_coordinates = Mutant(
    name="release-noise-shared-by-coordinates",
    bug="one noise draw broadcast over both coordinates",
    kill=kill_by_attack(
        lambda c: replayed_noise(
            lambda data, rng, trials: np.array([data.mean(), data.max()]) + rng.normal(size=(trials, 1)),
            DATA,
            seed=c.seed,
        ),
        "0.5-GDP",
    ),
)

# Sampling: one record of weight one; a batch takes each record with probability q (Poisson), or the batches partition.
RATE, SUB_STEPS, SUB_SIGMA = 0.1, 10, 1.0


def subsampled_epsilon(rate, sigma, delta=1e-5, steps=1):
    """Exact epsilon of one Poisson-subsampled Gaussian step, add-remove, both directions (steps = 1 only)."""
    from scipy import optimize, stats

    def delta_of(eps, swap):
        x = np.linspace(-12 * sigma, 1 + 12 * sigma, 200_001)
        base = stats.norm.pdf(x, 0, sigma)
        mixed = (1 - rate) * base + rate * stats.norm.pdf(x, 1, sigma)
        p, q = (base, mixed) if swap else (mixed, base)
        return float(np.trapezoid(np.maximum(0.0, p - math.exp(eps) * q), x))

    if max(delta_of(0.0, False), delta_of(0.0, True)) <= delta:
        return 0.0
    return float(optimize.brentq(lambda e: max(delta_of(e, False), delta_of(e, True)) - delta, 0.0, 60.0))


def poisson_step(rate, sigma):
    return lambda data, rng, trials: (rng.random(trials) < rate) * data.sum() + rng.normal(scale=sigma, size=trials)


def subsampled_cells(rate, sigma):
    """Cells of one Poisson-subsampled Gaussian step without and with the record."""
    from scipy import stats

    x = np.linspace(-8 * sigma, 1 + 8 * sigma, 2001)
    without, with_it = (np.diff(np.r_[0, stats.norm.cdf(x, at, sigma), 1]) for at in (0.0, 1.0))
    return np.maximum(without, 1e-300), np.maximum((1 - rate) * without + rate * with_it, 1e-300)


def realised_cells():
    """Cells of a mean of 3 and of 2 records of 10, the noise of the sum divided along."""
    from scipy import stats

    x = np.linspace(-8, 8, 2001)
    laws = (np.diff(np.r_[0, stats.laplace.cdf(x, scale=1 / size), 1]) for size in (3, 2))
    return tuple(np.maximum(law, 1e-300) for law in laws)


def one_batch_of_a_partition(data, rng, trials):
    """Shuffled batches, all released: exactly one of the ten holds the record."""
    noisy = rng.normal(scale=0.25, size=(trials, 10))
    noisy[np.arange(trials), rng.integers(10, size=trials)] += data.sum()
    return noisy


def likelihood_of_shuffle(outputs):
    from scipy.special import logsumexp

    return -logsumexp((outputs - 0.5) / 0.0625, axis=1)


wrong_rate = Mutant(
    name="sampling-rate-off-by-ten",
    bug="accounted at q = 0.01, sampled at q = 0.1 (epochs counted as steps)",
    kill=kill_by_audit(
        poisson_step(0.1, 0.5),
        np.zeros(1),
        np.ones(1),
        dp.ApproxDP(subsampled_epsilon(0.01, 0.5, 1e-4), 1e-4),
        exact_epsilon=subsampled_epsilon(0.1, 0.5, 1e-4),
        minimum=lambda alpha, power: fewest_samples(
            *subsampled_cells(0.1, 0.5), subsampled_epsilon(0.01, 0.5, 1e-4), 1e-4, alpha, power
        ),
        smoke=20_000,
        standard=60_000,
    ),
)
shuffled_as_poisson = Mutant(
    name="shuffled-accounted-as-poisson",
    bug="batches partition a shuffled epoch, accounted as ten Poisson steps at q = 0.1",
    kill=kill_by_audit(
        one_batch_of_a_partition,
        np.zeros(1),
        np.ones(1),
        # Poisson batches leave the record out with probability 0.9^10, so total variation stays below 0.652.
        dp.ApproxDP(0.5, 0.66),
        score=likelihood_of_shuffle,
        smoke=20_000,
        standard=60_000,
    ),
)
cyclic_as_poisson = Mutant(
    name="cyclic-accounted-as-poisson",
    bug="the record's batch is known (cyclic order), accounted as Poisson sampling at q = 0.1",
    kill=kill_by_audit(
        poisson_step(1.0, SUB_SIGMA),
        np.zeros(1),
        np.ones(1),
        dp.ApproxDP(subsampled_epsilon(0.1, SUB_SIGMA, 1e-3), 1e-3),
        exact_epsilon=dp.GaussianDP(1.0).epsilon_at(1e-3),
    ),
)
phases_overlap = Mutant(
    name="phases-overlap",
    bug="phase batches overlap by one record where parallel composition is claimed",
    kill=kill_by_audit(
        lambda data, rng, trials: (
            np.stack([data[:6].sum(), data[5:].sum()]) + rng.normal(scale=1 / MU, size=(trials, 2))
        ),
        np.zeros(10),
        np.eye(10)[5],
        CLAIM,
        exact_epsilon=epsilon_of(MU * math.sqrt(2)),
        minimum=lambda alpha, power: fewest_on_gaussian_curve(MU * math.sqrt(2), MU, alpha, power),
        standard=60_000,
    ),
)
realised_size = Mutant(
    name="divided-by-realised-batch-size",
    bug="the sum is divided by the realised size of the batch, which the neighbour changes",
    kill=kill_by_audit(
        lambda data, rng, trials: (data.sum() + rng.laplace(size=trials)) / len(data),
        np.full(3, 10.0),
        np.full(2, 10.0),
        dp.PureDP(1.0),
        adjacency="add-remove",
        minimum=lambda alpha, power: fewest_samples(*realised_cells(), 1.0, 0.0, alpha, power),
        smoke=20_000,
    ),
)
best_of_twenty = Mutant(
    name="best-of-twenty-runs",
    bug="the best of 20 private runs by the private objective is released",
    kill=kill_by_audit(
        lambda data, rng, trials: _best(data.sum() + rng.laplace(size=(trials, 20)), data.sum()),
        np.zeros(1),
        np.ones(1),
        dp.PureDP(1.0),
    ),
)
data_dependent_stop = Mutant(
    name="stopping-on-the-bare-objective",
    bug="steps stop when the true objective is small; the number of noisy steps is the transcript",
    kill=kill_by_audit(
        lambda data, rng, trials: _stopping(data, rng, trials),
        np.zeros(1),
        np.ones(1),
        dp.PureDP(1.0),
    ),
)
step_size_from_data = Mutant(
    name="step-size-from-data",
    bug="the step size is one over the largest gradient of the data, and scales the noise with it",
    kill=kill_by_audit(
        lambda data, rng, trials: (
            (clipped(data).mean() + rng.normal(scale=SIGMA, size=trials)) / max(1.0, np.abs(data).max())
        ),
        np.zeros(N),
        DATA,
        CLAIM,
    ),
)


def _best(values, truth):
    return values[np.arange(len(values)), np.abs(values - truth).argmin(axis=1)]


def _stopping(data, rng, trials):
    w = rng.laplace(scale=2.0, size=(trials, 6)) + data.sum()
    close = np.abs(w - data.sum()) < 1.0
    first = np.where(close.any(axis=1), close.argmax(axis=1), 5)
    return w[np.arange(trials), first]


projection_missing = Mutant(
    name="projection-missing",
    bug="ten steps of rate 0.5 without the projection onto the unit interval: the iterates leave the domain",
    kill=kill_by_number(
        "sensitivity", "diameter 1 of the domain", lambda: abs(sum(0.5 * 9.0 * 0.5**t for t in range(10))), 1.0
    ),
)
smooth_only = Mutant(
    name="stability-step-size-too-large",
    bug="uniform stability 2 L^2 T eta / n claimed for eta = 3 > 2/beta: the replayed steps expand",
    kill=kill_by_number("replayed iterates", "stability 2 T eta / n = 6", lambda: _expanded(3.0), 6.0),
)


def _expanded(eta):
    """Distance after ten steps on |w - x|^2 / 2, one record of ten moved by 2, computed exactly."""
    w, v = 0.0, 0.0
    x, y = np.r_[np.zeros(9), 1.0], np.r_[np.zeros(9), -1.0]
    for _ in range(10):
        w, v = w - eta * float((w - x).mean()), v - eta * float((v - y).mean())
    return abs(w - v)
