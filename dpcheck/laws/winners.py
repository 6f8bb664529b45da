"""Who wins report-noisy-min: exact selection probabilities under unit Laplace noise, by quadrature in log space.

P(i wins) is the integral over x of f(x - s_i) times the product over j != i of S(x - s_j), with f the density and S the
survival function. The integrand is analytic between the sorted scores, a polynomial in e^x below the least of them, and
one exponential above the greatest.
"""

from __future__ import annotations

import math

import numpy as np
import scipy

from dpcheck.interfaces import Array

_FAR = 45.0  # e^-45 = 3e-20: what lies further off is lost in rounding
_BLOCK = 2**21  # numbers held at once
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


def log_survival(y: Array) -> Array:
    """log P(X > y) of a unit Laplace variable."""
    return np.where(y > 0, -y - math.log(2), np.log1p(-0.5 * np.exp(np.minimum(y, 0.0))))


def winner_probabilities(scores: Array) -> Array:
    """Log-probability that each candidate has the least score after unit Laplace noise: (trials, K) -> (trials, K)."""
    k = scores.shape[1]
    if k == 1:
        return np.zeros_like(scores)
    shifted = scores - scores.min(axis=1, keepdims=True)
    # How many panels the widest trial needs decides the memory of one trial.
    spread = float(np.minimum(np.sort(shifted, axis=1)[:, -1], 3 * _FAR).max())
    rows = max(1, int(_BLOCK / (16 * k * (k + 2 + spread / _width(k)))))
    return np.concatenate([_block(shifted[i : i + rows]) for i in range(0, len(shifted), rows)])


def _width(k: int) -> float:
    """Panels on which 16 points integrate polynomials of degree k in e^x to rounding."""
    return min(2.5, 10 / k)


def _block(s: Array) -> Array:
    k = s.shape[1]
    points, log_weights = _panels(s)
    # Below the least score, x = log u with u in (0, 1): a polynomial of degree k - 1 in u.
    nodes, weights = np.polynomial.legendre.leggauss(k // 2 + 1)
    u = (nodes + 1) / 2
    points = np.concatenate([np.broadcast_to(np.log(u), (len(s), len(u))), points], axis=1)
    tail_weights = np.broadcast_to(np.log(weights / 2 / u), (len(s), len(u)))
    log_weights = np.concatenate([tail_weights, log_weights], axis=1)

    gaps = points[:, :, None] - s[:, None, :]
    survival = log_survival(gaps)
    everyone = survival.sum(axis=2, keepdims=True)
    integrand = everyone - survival - np.abs(gaps) - math.log(2)
    inside = scipy.special.logsumexp(integrand + log_weights[:, :, None], axis=1)
    above = -k * math.log(2) - math.log(k) - (s.max(axis=1, keepdims=True) - s).sum(axis=1, keepdims=True)
    return np.asarray(np.logaddexp(inside, above))


def _panels(s: Array) -> tuple[Array, Array]:
    """Quadrature points and log-weights between the least score and the greatest that matters."""
    ordered = np.sort(s, axis=1)
    # Past the second-least score the integrand falls at least like e^-x; between the first two it may stay flat.
    ordered = np.minimum(ordered, ordered[:, 1:2] + _FAR)
    first, second = ordered[:, :1], ordered[:, 1:2]
    middle = (first + second) / 2
    near, far = np.minimum(first + _FAR, middle), np.maximum(second - _FAR, middle)
    edges = np.concatenate([first, near, far, ordered[:, 1:]], axis=1)
    width = _width(s.shape[1])
    points, log_weights = [], []
    for gap in range(edges.shape[1] - 1):
        low, high = edges[:, gap : gap + 1], edges[:, gap + 1 : gap + 2]
        pieces = 1 if gap == 1 else max(1, math.ceil(float((high - low).max()) / width))
        half = (high - low) / (2 * pieces)
        for piece in range(pieces):
            points.append(low + half * (2 * piece + 1 + _NODES))
            log_weights.append(np.log(np.maximum(half * _WEIGHTS, 1e-300)))
    return np.concatenate(points, axis=1), np.concatenate(log_weights, axis=1)
