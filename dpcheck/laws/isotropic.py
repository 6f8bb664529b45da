"""The exact privacy curve of isotropic Laplace noise in dimension d, as one integral along the gap.

Put the two centres at the foci of prolate spheroidal coordinates. With r, r' the distances to them and t the gap (all
in units of the scale), xi = (r + r') / t >= 1 and eta = (r - r') / t in [-1, 1], the privacy loss is r' - r = -t eta,
and the volume element is proportional to (xi^2 - eta^2) ((xi^2 - 1)(1 - eta^2))^((d - 3) / 2). The integral over xi is
a modified Bessel function of the second kind; what remains is an integral over eta = -cos(angle).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy

from dpcheck.interfaces import Array


def gap_profile(epsilon: float, t: float, d: int) -> float:
    """Hockey-stick divergence of order e^epsilon between isotropic Laplace laws of unit scale a distance t apart."""
    if epsilon >= t:
        return 0.0
    if epsilon <= -t:
        return -math.expm1(epsilon)
    if d == 1:
        return -math.expm1((epsilon - t) / 2)
    if (t - epsilon) / 2 > d + math.sqrt(80 * d) + 60:
        return 1.0  # the loss is at least t - 2r, and r ~ Gamma(d) stays below that but for 2 e^-40
    edge = math.acos(min(1.0, epsilon / t))  # the loss exceeds epsilon for angles below it
    log_weight = _log_weight(t, d)

    def excess(angle: Array) -> Array:
        loss = t * np.cos(angle)
        return log_weight(angle) + np.log(-np.expm1(np.minimum(epsilon - loss, -1e-300)))

    total = _log_integral(log_weight, 0.0, math.pi)
    return min(1.0, math.exp(_log_integral(excess, 0.0, edge) - total))


def _log_weight(t: float, d: int) -> Callable[[Array], Array]:
    """log of the density of the angle under one law, up to a constant."""
    z = t / 2
    # Ratio of the two xi-integrals, of (xi^2 - 1)^((d - 1) / 2) and (xi^2 - 1)^((d - 3) / 2) against e^(-z xi).
    log_ratio = math.log(d - 1) - math.log(z) + math.log(_bessel_ratio(d / 2, z))

    def log_weight(angle: Array) -> Array:
        log_sine = np.log(np.sin(angle))
        mixed = np.logaddexp(0.0, 2 * log_sine - log_ratio)
        return np.asarray((d - 2) * log_sine + mixed - 2 * z * np.sin(angle / 2) ** 2)

    return log_weight


def _bessel_ratio(nu: float, z: float) -> float:
    """K_nu(z) / K_(nu - 1)(z) for nu a multiple of 1/2, nu >= 1, by the stable upward recurrence."""
    order = 1.0 if nu == int(nu) else 1.5
    ratio = float(scipy.special.k1e(z) / scipy.special.k0e(z)) if order == 1.0 else 1 + 1 / z
    while order < nu:
        ratio = 2 * order / z + 1 / ratio
        order += 1
    return ratio


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


def _log_integral(log_f: Callable[[Array], Array], low: float, high: float) -> float:
    """log of the integral of a smooth unimodal e^log_f, on panels that double in width away from its mode."""
    optimum = scipy.optimize.minimize_scalar(
        lambda x: -float(log_f(np.asarray(x))),
        bounds=(low, high),
        method="bounded",
        options={"xatol": 1e-12 * (high - low)},
    )
    mode = float(optimum.x)
    steps = np.concatenate(([0.0], 2.0 ** np.arange(-44, 1)))
    edges = np.unique(np.concatenate([mode - (mode - low) * steps, mode + (high - mode) * steps]))
    half, middle = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
    values = log_f(middle[:, None] + half[:, None] * _NODES)
    return float(scipy.special.logsumexp(values, b=half[:, None] * _WEIGHTS))
