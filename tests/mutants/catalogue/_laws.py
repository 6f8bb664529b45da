"""Laws of seeded bugs on cells: what the fewest runs of any test follow from."""

import numpy as np
from scipy import stats

from dpcheck.auditing.limits import fewest_on_gaussian_curve, fewest_samples
from dpcheck.privacy import GaussianDP


def between(points, *laws):
    """Masses of laws, given as distribution functions, between growing points and beyond them."""
    return tuple(np.diff(np.r_[0.0, law(points), 1.0]) for law in laws)


def shifted(law, shift, reach=14.0, cells=1200):
    """A symmetric law of `scipy.stats` at 0 and at `shift`."""
    points = np.linspace(-reach, reach + shift, cells + 1)
    return lambda: between(points, law.cdf, lambda x: law.cdf(x - shift))


def laplace_noise(epsilon):
    """What `kill_by_audit` may know of a release whose pair is Laplace noise moved by `epsilon` scales."""
    return {"exact_epsilon": epsilon, "laws": shifted(stats.laplace, epsilon)}


def gaussian_noise(mu, claimed):
    """The same of Gaussian noise moved by `mu` deviations, against a claimed Gaussian curve; its epsilon at 1e-5."""
    return {
        "exact_epsilon": GaussianDP(mu).epsilon_at(1e-5),
        "minimum": lambda alpha, power: fewest_on_gaussian_curve(mu, claimed, alpha, power),
    }


def told_apart(claim):
    """Fewest runs against a claimed curve when no output is possible on both inputs.

    One bit says it all, and the nearest pair of the claim tells it with the chance that its total variation allows.
    """
    variation = claim.delta_at(0.0)
    return lambda alpha, power: fewest_samples([1.0, 0.0], [0.0, 1.0], 0.0, variation, alpha, power)
