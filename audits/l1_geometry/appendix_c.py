"""Appendix C: the one-step inequality of mirror descent."""

from __future__ import annotations

import numpy as np
import scipy

from dpcheck.checks import Context, check
from dpcheck.geometry import Entropy
from dpcheck.harness import accuracy
from dpcheck.verdicts import Verdict


@check("l1_geometry/fact-one-step", kind="accuracy", expect="consistent")
def one_step_inequality(context: Context) -> Verdict:
    """Equation (2) for arbitrary g_k, objective <z, x> + lambda KL(x, uniform) on the simplex, pathwise."""
    rng, trials = context.rng(), context.scale(5000, 100_000)
    h, lam = Entropy(), rng.uniform(0.1, 2.0, trials)
    z, g = rng.standard_normal((trials, 4)), rng.standard_normal((trials, 4)) * rng.exponential(1.0, (trials, 1))
    x = rng.dirichlet(np.ones(4), trials)
    eta = rng.exponential(1.0, trials)
    best = scipy.special.softmax(-z / lam[:, None], axis=1)
    value = lambda w: (z * w).sum(axis=1) + lam * h.value(w)  # noqa: E731
    slope = z + lam[:, None] * h.gradient(x)
    after = h.step(x, g, eta[:, None])
    left = value(x) - value(best)
    right = (
        eta / 2 * np.abs(g).max(axis=1) ** 2
        + ((slope - g) * (x - best)).sum(axis=1)
        + (h.bregman(best, x) - h.bregman(best, after)) / eta
        - lam * h.bregman(best, x)
    )
    size = 1 + np.abs(left) + np.abs(right)
    return accuracy.never_violated(
        left / size, right / size + 1e-9, statement="equation (2)", failure_probability=context.failure_probability
    )
