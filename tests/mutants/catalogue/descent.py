"""Mutants of noisy gradient descent: T = 10 full-batch steps on records g_i in the unit ball, one step a coordinate.

The step is w <- w - mean clip(g_i(w)) + noise with g_i(w) = w - x_i (squared loss), so that a record enters every step.
The correct release of all increments is mu-GDP with mu = sqrt(T) (2C/n)/sigma.
"""

import math

import numpy as np
from scipy import optimize, stats

import dpcheck as dp
from dpcheck.auditing.attacks import replayed_noise
from dpcheck.mutants import Mutant
from dpcheck.testing import kill_by_attack, kill_by_audit, kill_by_number

from ._laws import between, gaussian_noise, laplace_noise, shifted, told_apart

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
    # Given the past, every step moves by nine times what it may.
    kill=kill_by_audit(descent(unclipped), DATA, NEIGHBOUR, CLAIM, **gaussian_noise(9 * MU, MU)),
)
intercept = Mutant(
    name="descent-intercept-outside-the-clip",
    bug="the intercept's gradient is added after clipping",
    # Given the past, every step moves by 0.2 within the clip and by 0.3 * 1.8 outside: 3.7 times what it may.
    kill=kill_by_audit(descent(intercept_outside), DATA, NEIGHBOUR, CLAIM, **gaussian_noise(3.7 * MU, MU)),
)
not_composed = Mutant(
    name="descent-noise-of-one-step",
    bug="noise calibrated for one step, not for ten composed",
    kill=kill_by_audit(
        descent(sigma=SIGMA / math.sqrt(STEPS)), DATA, NEIGHBOUR, CLAIM, **gaussian_noise(MU * math.sqrt(STEPS), MU)
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
        **gaussian_noise(MU * math.sqrt(STEPS), MU),
    ),
)
last_step_bare = Mutant(
    name="descent-last-step-bare",
    bug="the last step carries no noise: hidden in the last iterate, plain in the released gradients",
    kill=kill_by_audit(
        descent(last_noised=False), DATA, NEIGHBOUR, CLAIM, exact_epsilon=math.inf, minimum=told_apart(CLAIM)
    ),
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


def subsampled_epsilon(rate, sigma, delta):
    """Exact epsilon of one Poisson-subsampled Gaussian step, add-remove, both directions."""

    def where(ratio):
        """The output from which on it is `ratio` times as likely with the record as without."""
        odds = (ratio - 1 + rate) / rate
        return 0.5 + sigma**2 * math.log(odds) if odds > 0 else -math.inf

    def leak(epsilon):
        e = math.exp(epsilon)
        high, low = where(e), where(1 / e)
        base = stats.norm.sf(high, 0, sigma)
        there = (1 - rate) * base + rate * stats.norm.sf(high, 1, sigma) - e * base
        base = stats.norm.cdf(low, 0, sigma)
        back = base - e * ((1 - rate) * base + rate * stats.norm.cdf(low, 1, sigma))
        return max(there, back)

    return 0.0 if leak(0.0) <= delta else float(optimize.brentq(lambda e: leak(e) - delta, 0.0, 60.0, xtol=1e-12))


def poisson_step(rate, sigma):
    return lambda data, rng, trials: (rng.random(trials) < rate) * data.sum() + rng.normal(scale=sigma, size=trials)


def subsampled_laws(rate, sigma):
    """One Poisson-subsampled Gaussian step without and with the record."""

    def step(taken):
        return lambda x: (1 - taken) * stats.norm.cdf(x, 0, sigma) + taken * stats.norm.cdf(x, 1, sigma)

    return lambda: between(np.linspace(-8 * sigma, 1 + 8 * sigma, 2001), step(0.0), step(rate))


def realised_laws():
    """A mean of 3 and of 2 records of 10, the noise of the sum divided along."""
    return between(np.linspace(-8, 8, 2001), *(lambda x, n=n: stats.laplace.cdf(x, scale=1 / n) for n in (3, 2)))


def stopped_laws():
    """Of six noisy values about the truth the first within 1 of it, else the last: Laplace noise of scale 2."""
    far = math.exp(-0.5)

    def value(at):
        def cdf(x):
            x = np.asarray(x) - at
            whole, inside = stats.laplace.cdf(x, scale=2), stats.laplace.cdf(np.clip(x, -1, 1), scale=2) - far / 2
            return inside * (1 - far**6) / (1 - far) + (whole - inside) * far**5

        return cdf

    return between(np.linspace(-20, 21, 4101), value(0.0), value(1.0))


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
        laws=subsampled_laws(0.1, 0.5),
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
        laws=shifted(stats.norm, 1.0),
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
        **gaussian_noise(MU * math.sqrt(2), MU),
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
        laws=realised_laws,
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
        # The smallest of 20 exponential distances from the truth.
        **laplace_noise(20.0),
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
        laws=stopped_laws,
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
