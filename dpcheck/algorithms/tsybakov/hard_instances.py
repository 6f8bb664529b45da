"""Lower bounds: packings, the instances of Theorems 4 and 5, and the plug-in estimator."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from dpcheck.algorithms.tsybakov.clipped import TINY
from dpcheck.errors import InvalidInput
from dpcheck.geometry.norms import clip_norm
from dpcheck.interfaces import Array, Rng, procedure
from dpcheck.laws import Gaussian
from dpcheck.workloads.tilted_power import ProductTilt, SparseTilt, TiltedPower

LARGEST = 240  # the same: of patience alone
"""Dimension up to which 2^(d/20) vectors, 4096 at most, are looked for where no size is given."""
PATIENCE = 200  # the same: of patience alone
"""Vectors that are drawn for each that is wanted."""


@procedure("tsybakov/proc-gv-packing")
def sign_packing(d: int, rng: Rng, size: int | None = None) -> Array:
    """Sign vectors that differ pairwise in at least d/8 places, by greedy rejection: (size, d).

    Args:
        size: how many; ceil(2^(d/20)) by default, up to d = 240.

    Raises:
        InvalidInput: the search does not find that many, or would not end.
    """
    if d < 1:
        raise InvalidInput(f"a dimension must be >= 1, got {d}")
    if size is None and d > LARGEST:
        raise InvalidInput(f"2^(d/20) sign vectors are too many to look for at d = {d}; give size=")
    wanted = math.ceil(2 ** (d / 20)) if size is None else size
    apart, kept = math.ceil(d / 8), np.empty((0, d))
    for _ in range(PATIENCE * wanted):
        v = np.where(rng.random(d) < 0.5, 1.0, -1.0)
        if (kept != v).sum(axis=1).min(initial=d) >= apart:
            kept = np.vstack([kept, v])
            if len(kept) == wanted:
                return kept
    raise InvalidInput(f"found only {len(kept)} of {wanted} sign vectors {apart} apart in d = {d}")


@procedure("tsybakov/proc-lb4-data")
def private_instance(
    v: Array,
    chance: float,
    *,
    k: float,
    theta: float,
    r_k: float,
    ball: Literal["printed", "corrected"],
) -> SparseTilt:
    """Theorem 4's law for one sign vector v: x = chance^(-1/k) (r_k/(2 sqrt d)) v with that chance, else 0.

    Args:
        ball: the "printed" radius (chance^(-1/k) r_k/2)^(1/(theta-1)), or "corrected" to that of the minimiser.
    """
    d = len(v)
    if not (0 < chance <= 1 and k >= 2):
        raise InvalidInput(f"needs a chance in (0, 1] and k >= 2, got {chance}, {k}")
    reach = (1 / chance) ** (1 / (theta - 1)) if ball == "printed" else 1.0
    return SparseTilt(
        v=np.asarray(v) / math.sqrt(d), size=chance ** (-1 / k) * r_k / 2, chance=chance, theta=theta, reach=reach
    )


@procedure("tsybakov/proc-lb5-data")
def statistical_instance(v: Array, bias: float, *, theta: float, r_k: float) -> ProductTilt:
    """Theorem 5's law for one sign vector v: independent coordinates ±v_j r_k/(2 sqrt d) of that bias."""
    return ProductTilt(v=np.asarray(v, dtype=float), size=r_k / (2 * math.sqrt(len(v))), bias=bias, theta=theta)


@procedure("tsybakov/proc-zcdp-plugin")
def plug_in(work: TiltedPower, means: Array, n: int, level: float, rho: float, rng: Rng) -> Array:
    """ρ-zCDP: the clipped means (trials, d) plus N(0, (2C/n)²/(2ρ) I), mapped to the minimiser that they suggest.

    Args:
        means: of n records of norm at most `level` each; longer means are cut, which cannot happen then.
    """
    if not (n >= 1 and level > 0 and rho > 0):
        raise InvalidInput(f"needs n >= 1, level > 0 and rho > 0, got {n}, {level}, {rho}")
    m = Gaussian(2 * level / n / math.sqrt(2 * rho)).sample(clip_norm(means, level), rng) / work.weight
    length = np.linalg.norm(m, axis=-1, keepdims=True)
    return work.project(m * np.maximum(length, TINY) ** (-(work.theta - 2) / (work.theta - 1)))
