"""Stages of one test, the later ones designed after looking at the earlier ones.

Each stage yields a p-value that is valid given all before it. Their inverse-normal combination with weights fixed
beforehand is one valid p-value, whatever the later stages were made to be (Bauer and Köhne 1994; Lehmacher and Wassmer
1999). With a look after each stage, the sums of the scores so far are at most a Gaussian random walk under the null,
whose chance to cross given boundaries is found by one-dimensional quadrature, look after look (Armitage, McPherson and
Rowe 1969); boundaries are chosen so that a given part of the level is spent by each look (Lan and DeMets 1983).
"""

from __future__ import annotations

import functools
import math

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpcheck.errors import InvalidInput

Array = NDArray[np.float64]
_SMALLEST, _LARGEST = 1e-300, 1 - 1e-12


def normal_score(p_values: ArrayLike) -> Array:
    """Standard-normal scores of p-values: stochastically at most N(0, 1) under the null."""
    return np.asarray(-scipy.special.ndtri(np.clip(np.asarray(p_values, dtype=float), _SMALLEST, _LARGEST)))


def combine_stages(p_values: ArrayLike, shares: ArrayLike) -> float:
    """One p-value from those of successive stages.

    Args:
        p_values: (stages,), each valid given the data of the stages before it.
        shares: (stages,) positive weights, fixed before the first stage; proportional to sample sizes is best.
    """
    p, w = np.asarray(p_values, dtype=float), np.asarray(shares, dtype=float)
    if p.ndim != 1 or p.shape != w.shape or len(p) == 0 or not (w > 0).all():
        raise InvalidInput("stages need one p-value and one positive share each")
    if len(p) == 1:
        return float(p[0])
    return float(scipy.special.ndtr(-(np.sqrt(w / w.sum()) @ normal_score(p))))


_NODES, _LOWEST = 160, -12.0


def critical_scores(sizes: ArrayLike, spent: ArrayLike) -> Array:
    """Boundaries of a test that looks after every stage.

    At look k the combined score of the stages so far, sum of sqrt(share) * normal score with shares in proportion to
    their sizes, rejects when it reaches boundary k. Under the null it does so at look k or before with probability at
    most `spent[k]`: each stage's score is at most N(0, 1) given the past, so the walk lies below a Gaussian one.

    Args:
        sizes: (looks,) growing: trials at each look, all stages up to it together.
        spent: (looks,) growing, in (0, 1): failure probability spent at this look and before.

    Returns:
        (looks,) boundaries; correct to about 1e-9.
    """
    n, levels = np.asarray(sizes, dtype=float), np.asarray(spent, dtype=float)
    if n.ndim != 1 or n.shape != levels.shape or len(n) == 0 or n[0] <= 0 or not (np.diff(n) > 0).all():
        raise InvalidInput("looks need growing sizes and a level spent for each")
    steps = np.diff(levels, prepend=0.0)
    if not ((steps > 0).all() and levels[-1] < 1):
        raise InvalidInput(f"levels spent must grow within (0, 1), got {levels.tolist()}")
    boundaries = [-float(scipy.special.ndtri(steps[0]))]
    # The law of the score on the event that nothing was rejected, at quadrature nodes below the boundary.
    score, weight = _nodes(boundaries[0])
    mass = weight * np.exp(-(score**2) / 2) / math.sqrt(2 * math.pi)
    for k in range(1, len(n)):
        keep = math.sqrt(n[k - 1] / n[k])
        spread = math.sqrt(1 - keep * keep)
        chance = functools.partial(_chance, mass, keep * score, spread)
        # Alone the look would need no more than this, and crosses no more often.
        low, high = -1.0, -float(scipy.special.ndtri(steps[k] * (1 - 1e-9))) + 1e-9
        step = math.log(steps[k])
        boundary = float(scipy.optimize.brentq(lambda c, f=chance, s=step: math.log(f(c)) - s, low, high, xtol=1e-11))
        boundaries.append(boundary + 1e-9)
        later, weight = _nodes(boundaries[-1])
        density = np.exp(-(((later[:, None] - keep * score) / spread) ** 2) / 2) / (spread * math.sqrt(2 * math.pi))
        score, mass = later, weight * (density @ mass)
    return np.array(boundaries)


def _nodes(top: float) -> tuple[Array, Array]:
    """Gauss-Legendre on [`_LOWEST`, top]: below it lies nothing that matters."""
    x, w = _legendre()
    half = (top - _LOWEST) / 2
    return _LOWEST + half * (x + 1), half * w


@functools.lru_cache(maxsize=1)
def _legendre() -> tuple[Array, Array]:
    x, w = np.polynomial.legendre.leggauss(_NODES)
    return np.asarray(x), np.asarray(w)


def _chance(mass: Array, mean: Array, spread: float, boundary: float) -> float:
    """That the score reaches the boundary at this look, and none before."""
    return float(mass @ scipy.special.ndtr((mean - boundary) / spread))
